// DLRM's model and tables for Criteo's Kaggle data (bench/dlrm_s_criteo_kaggle.sh of DLRM), on
// which several benches run. Threads: pure functions.
#pragma once

#include <cstdint>
#include <vector>

#include "worker/dense/dlrm_model.h"

namespace rowhouse {

inline constexpr uint32_t kKaggleDim = 16;

// Of the whole file.
inline std::vector<uint64_t> KaggleTableRows() {
  return {1460,  583,  10131227, 2202608, 305, 24,     12517,   633,   3,
          93145, 5683, 8351593,  3194,    27,  14992,  5461306, 10,    5652,
          2173,  4,    7046547,  18,      15,  286181, 105,     142572};
}

inline ModelSpec KaggleModel() {
  return {.bottom_mlp = {13, 512, 256, 64, kKaggleDim},
          .top_mlp = {512, 256, 1},
          .feature_widths = std::vector<uint32_t>(KaggleTableRows().size(), kKaggleDim),
          .loss = "bce"};
}

}  // namespace rowhouse
