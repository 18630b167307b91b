// Interaction: how DLRM combines the bottom MLP's output and the pooled embeddings of a sample
// (SPEC 10), F vectors: t_0 the bottom output, t_1.. the features in order.
//
//   dot: [t_0 | <t_i, t_j> for i = 0..F-1, j = 0..i-1 (or ..i with `itself`)]
//   cat: [t_0 | t_1 | ...], of any widths
//
// Threads:   one caller.
// Exactness: dot is a batched product (matrix_product.h); measured at batch 128 on one core it
//            takes 29 us (27 vectors of 16) and 21 us (9 of 64) where our best loop takes 42 and
//            28, and 31 and 11 us backward where ours takes 51 and 19.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "common/registry.h"
#include "worker/matrix_product.h"

namespace rowhouse {

struct InteractionOptions {
  std::vector<uint32_t> widths;        // of t_0, t_1, ..., each >= 1
  bool itself = false;                 // dot: pairs (i, i) too
  MatrixProducts* products = nullptr;  // outlives the interaction; not needed for width()
};

class Interaction {
 public:
  virtual ~Interaction() = default;

  // Floats of one sample's result.
  virtual uint32_t width() const = 0;

  // Whether vectors may differ in width; otherwise all are as wide as t_0.
  virtual bool takes_any_widths() const { return false; }

  // vectors[i]: samples x widths[i], t_i of every sample. z: samples x width, overwritten.
  // Requires samples >= 1, here and below.
  virtual void Forward(std::span<const float* const> vectors, size_t samples, float* z) = 0;

  // dz: samples x width, for the last Forward. Overwrites gradients[i], samples x widths[i].
  virtual void Backward(const float* dz, size_t samples, std::span<float* const> gradients) = 0;
};

Registry<Interaction, InteractionOptions>& Interactions();

}  // namespace rowhouse
