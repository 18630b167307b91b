// What plain, block and quotient-remainder tables cost a worker: the measurement of the
// CachedEmbedding notebook (hpcaitech): one-hot bags and bags of 100, sum and max, forward,
// backward, bytes.
//
// Its times are not comparable: it did not wait for its GPU to end. Threads: one caller.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "common/status.h"

namespace rowhouse {

struct KindSizes {
  uint64_t rows = 0;  // ids of the table
  uint32_t dim = 0;
  uint32_t block_dim = 0;  // of block tables; qr tables have sqrt(rows) remainders
};

struct KindBags {
  std::string name;
  size_t bags = 0, length = 0;
};

struct KindTimes {
  double rows_ms = 0;      // ids to distinct rows, and copies of these from memory of this process
  double forward_ms = 0;   // rows to vectors
  double backward_ms = 0;  // gradients of vectors to gradients of rows and projection

  double total() const { return rows_ms + forward_ms + backward_ms; }
};

struct KindFigure {
  std::string kind, pooling, bags;
  KindTimes times;           // of the round whose total is the median
  double spread = 0;         // (largest - smallest) / median of the totals
  double of_plain_time = 1;  // total over that of the plain table, same bags
  uint64_t table_bytes = 0;  // projection included
  double of_plain_bytes = 1;
  uint64_t pulled_bytes = 0;  // of rows, a batch; as many are pushed
};

// Of kinds plain, block and qr in this order, for pooling sum and then max, for all of `shapes`.
// The kinds are measured round by round, so that a slow minute slows all of them.
Result<std::vector<KindFigure>> MeasureKinds(const KindSizes& sizes,
                                             const std::vector<KindBags>& shapes, int rounds);

}  // namespace rowhouse
