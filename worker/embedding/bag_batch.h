// BagBatch: the bags of one part of one feature that shards pool (Plan::pools_on_shards), with
// their vectors (after the pull) and their gradients (before the push). No row of theirs crosses
// the wire.
#pragma once

#include <cstdint>
#include <vector>

#include "common/kernels/embedding_bag.h"
#include "common/types.h"

namespace rowhouse {

struct BagBatch {
  TableId table{};
  uint32_t dim = 0;
  uint64_t table_rows = 0;
  Pooling pooling = Pooling::kSum;  // mean: its sum is pooled
  bool exact = false;
  bool trains = true;             // false: a frozen table, to which nothing is pushed
  std::vector<uint32_t> offsets;  // bags + 1; bag b is rows[offsets[b] .. offsets[b + 1])
  std::vector<uint64_t> rows;     // physical, one a lookup
  std::vector<float> weights;     // one a lookup, or none; sum only
  std::vector<float> pooled;      // bags x dim, filled by the pull
  std::vector<uint32_t> winners;  // of max: bags x dim, places in `rows`, or kNoWinner
  std::vector<float> gradients;   // bags x dim, of each lookup, but for its weight

  size_t bags() const { return offsets.size() - 1; }
};

}  // namespace rowhouse
