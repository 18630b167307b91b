// What a step reads and updates of one physical table: distinct rows, and bags that shards pool.
// Threads: plain data.
#pragma once

#include <cstdint>
#include <vector>

#include "common/kernels/embedding_bag.h"
#include "common/types.h"

namespace rowhouse {

// The distinct rows, with their values (after the pull) and their summed gradients (before the
// push).
struct RowBatch {
  TableId table{};
  uint32_t dim = 0;
  bool trains = true;            // false: a frozen table; its rows are not pushed
  std::vector<RowId> rows;       // unique, ascending
  std::vector<uint32_t> counts;  // lookups of each row in this batch, at least 1
  std::vector<float> values;     // rows x dim, filled by the pull
  std::vector<float> gradients;  // rows x dim, filled by the backward pass
};

// The bags of one feature in one physical table that shards pool (Plan::pools_on_shards),
// with their pooled vectors (after the pull) and gradients (before the push). Their rows do not
// cross the wire.
struct BagBatch {
  TableId table{};
  uint32_t dim = 0;
  uint64_t table_rows = 0;
  Pooling pooling = Pooling::kSum;  // of a mean, shards pool the sum and the worker divides
  bool exact = false;               // the table has pooling_sum "exact"
  bool trains = true;               // false: a frozen table; its bags are not pushed
  std::vector<uint32_t> offsets;    // bags + 1; bag b is rows[offsets[b] .. offsets[b + 1])
  std::vector<uint64_t> rows;       // physical row of each lookup
  std::vector<float> weights;       // of each lookup, or empty; with pooling sum only
  std::vector<float> pooled;        // bags x dim, filled by the pull
  std::vector<uint32_t> winners;    // pooling max: bags x dim, places in `rows`, or kNoWinner
  std::vector<float> gradients;     // bags x dim: of each lookup of the bag, before its weight

  size_t bags() const { return offsets.size() - 1; }
};

}  // namespace rowhouse
