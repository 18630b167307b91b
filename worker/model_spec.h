// ModelSpec: the shape of a DLRM network and its loss, by the names DLRM's users know (SPEC 10,
// 11).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/status.h"

namespace rowhouse {

struct ModelSpec {
  std::vector<uint32_t> bottom_mlp;  // widths, input first: {13, 512, 256, 64, 16}
  std::vector<uint32_t> top_mlp;     // widths without the input, which follows: {512, 256, 1}
  uint32_t features = 0;             // categorical features = pooled vectors
  uint32_t dim = 0;                  // width of each pooled vector = last bottom width
  std::string interaction = "dot";   // dot | cat
  bool interaction_itself = false;   // dot: pairs (i, i) too
  std::string loss = "mse";          // mse | bce | wbce
  std::vector<double> loss_weights = {1.0, 1.0};  // wbce: of class 0 and 1
  double loss_threshold = 0.0;                    // in (0, 1): p clamped to [t, 1 - t]

  // Width of the top MLP's input: dim + pairs for dot, (features + 1) * dim for cat.
  uint32_t interaction_width() const;
  // kUsage with DLRM's sanity checks in clear words (SPEC 11).
  Status Validate() const;
};

}  // namespace rowhouse
