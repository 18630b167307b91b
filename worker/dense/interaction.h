// Interaction: how DLRM combines the F vectors of a sample: t_0, the bottom MLP's output, and t_1,
// t_2, ..., the pooled embeddings of the features in order.
//
// Threads: one caller.
// To add one, write worker/dense/interactions/<name>.cc; it registers itself here.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

#include "common/registry.h"
#include "worker/dense/dense_parameters.h"
#include "worker/dense/matrix_product.h"

namespace rowhouse {

struct InteractionOptions {
  std::vector<uint32_t> widths;        // of t_0, t_1, ..., each >= 1
  bool itself = false;                 // dot: pairs (i, i) too
  uint32_t dcn_num_layers = 3;         // dcn: cross layers, >= 1
  uint32_t dcn_low_rank_dim = 512;     // dcn: >= 1
  MatrixProducts* products = nullptr;  // outlives the interaction; not needed for width()
  OptionValues own = {};               // of options that the interaction declares itself
};

class Interaction {
 public:
  virtual ~Interaction() = default;

  // Floats of one sample's result.
  virtual uint32_t width() const = 0;

  // Interactions with parameters add their blocks here, once; the owner allocates `parameters`,
  // which outlives them, before the first Forward. Backward overwrites their gradients.
  virtual void AddParameters(DenseParameters* /*parameters*/) {}

  // vectors[i]: samples x widths[i], t_i of every sample. z: samples x width, overwritten.
  // Requires samples >= 1, here and below.
  virtual void Forward(std::span<const float* const> vectors, size_t samples, float* z) = 0;

  // dz: samples x width, for the last Forward. Overwrites gradients[i], samples x widths[i].
  virtual void Backward(const float* dz, size_t samples, std::span<float* const> gradients) = 0;
};

// What an interaction says of itself, for code that knows it only by name.
struct InteractionDeclaration {
  // Vectors may differ in width; otherwise all are as wide as t_0.
  bool takes_any_widths = false;
  // Reads InteractionOptions::itself.
  bool pairs_itself = false;
  // Its work grows with the square of a sample's floats: calibration measures smaller sizes.
  bool multiplies_matrices = false;
  // Its work over that with default options, for the same vectors, which is what calibration
  // measures; null: options change nothing.
  double (*relative_work)(const InteractionOptions& options) = nullptr;
};

using InteractionRegistry = Registry<Interaction, InteractionOptions, InteractionDeclaration>;
inline InteractionRegistry& Interactions() {
  static InteractionRegistry registry("interaction");
  return registry;
}

// ---- Vectors side by side, for interactions that work on one long vector of each sample ---------

// Floats of all vectors together.
inline uint32_t StackedWidth(const std::vector<uint32_t>& widths) {
  return std::accumulate(widths.begin(), widths.end(), uint32_t{0});
}

// stacked: samples x StackedWidth, overwritten: [t_0 | t_1 | ...], with vectors[i] samples x
// widths[i].
inline void Stack(std::span<const float* const> vectors, const std::vector<uint32_t>& widths,
                  size_t samples, float* stacked) {
  for (size_t s = 0; s < samples; ++s) {
    for (size_t i = 0; i < widths.size(); ++i) {
      stacked = std::copy_n(vectors[i] + s * widths[i], widths[i], stacked);
    }
  }
}

// The way back.
inline void Unstack(const float* stacked, const std::vector<uint32_t>& widths, size_t samples,
                    std::span<float* const> vectors) {
  for (size_t s = 0; s < samples; ++s) {
    for (size_t i = 0; i < widths.size(); ++i) {
      std::copy_n(stacked, widths[i], vectors[i] + s * widths[i]);
      stacked += widths[i];
    }
  }
}

}  // namespace rowhouse
