// DlrmModel: the dense part of DLRM (Naumov et al., 2019; SPEC 10): bottom MLP, interaction, top
// MLP, loss. Matrix products on oneDNN; parameters and gradients are two flat f32 arrays, so that
// exchange and optimizer see one vector.
//
// Threads:   one caller; oneDNN uses the OpenMP threads the process was given (--threads).
// Exactness: the same inputs and thread count give the same bits. Parameters change only through
//            parameters(); oneDNN makes gradients only.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "worker/model_spec.h"

namespace rowhouse {

class DlrmModel {
 public:
  explicit DlrmModel(const ModelSpec& spec);  // Requires spec.Validate() to be OK.
  ~DlrmModel();

  // Bottom then top MLP, per layer W (out x in, row-major) then b (out). Same order in both.
  std::span<float> parameters();
  std::span<const float> gradients() const;
  std::span<float> gradients();

  // How one layer's parameters lie in the flat arrays, for initialisation and inspection.
  struct LayerView {
    uint32_t in = 0, out = 0;
    size_t weights = 0, bias = 0;  // offsets
  };
  const std::vector<LayerView>& layers() const;  // bottom first
  size_t bottom_layers() const;

  // dense: samples x bottom_mlp[0]. pooled[k]: samples x dim. Returns samples probabilities; the
  // span is good until the next Forward. samples == 0 is allowed.
  std::span<const float> Forward(std::span<const float> dense, size_t samples,
                                 std::span<const std::vector<float>> pooled);

  // Sum (not mean) of the losses of the last Forward's samples, in sample order, in double.
  double LossSum(std::span<const float> labels) const;

  // Writes gradients() and, per feature, pooled_gradients[k] (samples x dim), for the loss divided
  // by `global_samples`, the samples of the step over all workers.
  void Backward(std::span<const float> labels, uint64_t global_samples,
                std::vector<std::vector<float>>* pooled_gradients);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace rowhouse
