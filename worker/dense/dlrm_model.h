// DlrmModel: the dense part of DLRM (Naumov et al., 2019): bottom MLP, interaction, top MLP, loss.
// Matrix products on oneDNN; parameters and gradients lie in DenseParameters.
//
// Threads:   one caller; MLPs and interaction use the OpenMP threads the process was given
//            (--threads).
// Exactness: the same inputs and thread count give the same bits. oneDNN makes gradients only;
//            parameters are the owner's to change. The wide part is summed in f32, per sample:
//            dense numbers in order, then features in order.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "common/phase_log.h"
#include "worker/dense/batch_norm.h"
#include "worker/dense/dense_parameters.h"
#include "worker/dense/dropout.h"
#include "worker/dense/model_spec.h"

namespace rowhouse {

class DlrmModel {
 public:
  // Adds the blocks of the bottom, then the top MLP, per layer W (out x in) then b (out), by
  // torch's names ("bot_l.0.weight", "bot_l.0.bias", "bot_l.2.weight", ...: odd numbers are
  // activations), then those of the interaction, then "wide.weight" (1 x dense numbers) if the
  // model is wide, then those of batch normalisation ("bot_bn.0.weight", ...: by layer of the MLP).
  // `parameters` outlives the model and is allocated before the first Forward.
  // Requires spec.Validate() to be OK.
  DlrmModel(const ModelSpec& spec, DenseParameters* parameters);
  ~DlrmModel();

  // How one layer's parameters lie in the flat arrays, for initialisation and inspection.
  struct LayerView {
    uint32_t in = 0, out = 0;
    size_t weights = 0, bias = 0;  // offsets
  };
  const std::vector<LayerView>& layers() const;  // bottom first
  size_t bottom_layers() const;

  // Where Forward, LossSum and Backward end their phases; a null log: nowhere. If the log keeps
  // spans, each layer and the interaction have kinds of their own, for each direction.
  struct Phases {
    PhaseLog* log = nullptr;
    PhaseLog::Phase mlp = 0, interaction = 0;
  };
  void CountPhasesIn(const Phases& phases);

  // Memory of what Forward and Backward keep.
  size_t activation_bytes() const;

  // Later passes are of training: they drop units (ModelSpec::dropout_bot, dropout_top), of samples
  // draws->first and on, and normalise by the statistics of the step. nullopt, as at first:
  // neither.
  void DropUnitsBy(const std::optional<DropoutDraws>& draws);

  // Batch normalisation in training. How sums over workers are made; null for one worker.
  void SumOverWorkersBy(SumOverWorkers sum);
  // Floats of each of these sums, in the order in which a pass forward and backward makes them. It
  // makes all of them without samples, too.
  std::vector<size_t> SumsOfAStep() const;
  // After the pass: new running statistics.
  void MoveStatistics();

  // dense: samples x bottom_mlp[0]; it stays where it is until after Backward. pooled[k]: samples x
  // spec.pooled_width(k), for k < spec.pooled(). Returns samples probabilities; the span is good
  // until the next Forward.
  // samples == 0 is allowed.
  std::span<const float> Forward(std::span<const float> dense, size_t samples,
                                 std::span<const std::vector<float>> pooled);
  // The same in two: what needs no rows, and the rest.
  void ForwardBottom(std::span<const float> dense, size_t samples);
  std::span<const float> ForwardRest(std::span<const std::vector<float>> pooled);

  // Sum (not mean) of the losses of the last Forward's samples, each times its weight, in sample
  // order, in double. weights: one a sample, or none, which is 1 for all.
  double LossSum(std::span<const float> labels, std::span<const float> weights = {}) const;

  // Overwrites the gradients of the model's blocks and, per feature, pooled_gradients[k], shaped as
  // pooled[k]. They are of the weighted loss divided by `global_samples`, the samples of the step
  // over all workers. Like torch's BCELoss with weights, this divides by the number of samples and
  // not by the sum of their weights.
  void Backward(std::span<const float> labels, uint64_t global_samples,
                std::vector<std::vector<float>>* pooled_gradients) {
    Backward(labels, {}, global_samples, pooled_gradients);
  }
  void Backward(std::span<const float> labels, std::span<const float> weights,
                uint64_t global_samples, std::vector<std::vector<float>>* pooled_gradients) {
    BackwardTop(labels, weights, global_samples, pooled_gradients);
    BackwardBottom();
  }
  // The same in two: all but the gradients of the bottom MLP, and those.
  void BackwardTop(std::span<const float> labels, std::span<const float> weights,
                   uint64_t global_samples, std::vector<std::vector<float>>* pooled_gradients);
  void BackwardBottom();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace rowhouse
