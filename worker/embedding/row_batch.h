// RowBatch: the distinct rows of one physical table that a step reads and updates, with their
// values (after the pull) and their summed gradients (before the push).
#pragma once

#include <cstdint>
#include <vector>

#include "common/types.h"

namespace rowhouse {

struct RowBatch {
  TableId table{};
  uint32_t dim = 0;
  bool trains = true;            // false: a frozen table; its rows are not pushed
  std::vector<RowId> rows;       // unique, ascending
  std::vector<uint32_t> counts;  // lookups of each row in this batch, at least 1
  std::vector<float> values;     // rows x dim, filled by the pull
  std::vector<float> gradients;  // rows x dim, filled by the backward pass
};

}  // namespace rowhouse
