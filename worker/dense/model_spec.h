// ModelSpec: the shape of a DLRM network and its loss, by the names of DLRM's flags.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/status.h"
#include "sharding/rows/record.h"
#include "worker/dense/interaction.h"

namespace rowhouse {

struct ModelSpec {
  std::vector<uint32_t> bottom_mlp;      // widths, input first: {13, 512, 256, 64, 16}
  std::vector<uint32_t> top_mlp;         // widths without the input, which follows: {512, 256, 1}
  std::vector<uint32_t> feature_widths;  // of each categorical feature's pooled vector, in order
  std::string interaction = "dot";       // a name of Interactions()
  bool interaction_itself = false;       // dot: pairs (i, i) too
  // A first-order weight of each dense number, and of each row
  // (sharding/tables/embedding_tables.h), is added to the logit.
  bool wide = false;
  uint32_t dcn_num_layers = 3;      // dcn: cross layers
  uint32_t dcn_low_rank_dim = 512;  // dcn: width between the two products of a layer
  OptionValues interaction_own;     // of options that the interaction declares itself
  // Operands of the layers' products: f32, bf16, or int8 (of the MLPs alone; int8_layer.h), which
  // only scores.
  std::string dense_precision = "f32";
  std::string pull_precision = "f32";             // f32 | bf16: see RowPrecision
  std::string push_precision = "f32";             // likewise
  std::string loss = "mse";                       // mse | bce | wbce
  std::vector<double> loss_weights = {1.0, 1.0};  // wbce: of class 0 and 1
  OptionValues loss_own;                          // of options that the loss declares itself
  double loss_threshold = 0.0;                    // in (0, 1): p clamped to [t, 1 - t]
  // In training, the share of the units of each hidden layer that is dropped (dropout.h): of all
  // layers of the MLP but its last. [0, 1).
  double dropout_bot = 0.0, dropout_top = 0.0;

  // Hidden layers of both MLPs, all but the last of each, are normalised over the samples of a step
  // (batch_norm.h).
  bool batch_norm = false;

  uint32_t features() const { return static_cast<uint32_t>(feature_widths.size()); }
  // The vectors that the model takes: of each feature, and then, if `wide`, the sum of each
  // feature's first-order weights, which is 1 wide.
  uint32_t pooled() const { return wide ? 2 * features() : features(); }
  uint32_t pooled_width(size_t k) const { return k < features() ? feature_widths[k] : 1; }

  ElementType precision() const {
    if (dense_precision == "int8") return ElementType::kS8;
    return dense_precision == "bf16" ? ElementType::kBf16 : ElementType::kF32;
  }
  RowPrecision row_precision() const;
  // The bottom MLP's output first, then the features. `products`: see InteractionOptions.
  InteractionOptions interaction_options(MatrixProducts* products = nullptr) const;
  // Width of the top MLP's input.
  uint32_t interaction_width() const;
  // kUsage with DLRM's sanity checks in clear words.
  Status Validate() const;
};

}  // namespace rowhouse
