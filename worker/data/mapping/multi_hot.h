// The synthetic multi-hot bags of MLPerf's DLRM-DCNv2: an id becomes the bag of itself and size - 1
// ids that are made up for it once, the same wherever it occurs, by numpy's generator from seed 0,
// column after column, row after row:
//   uniform  randint(0, rows)
//   pareto   int32(pareto(0.25)) modulo rows; numbers of 2^31 and more count as -2^31
// Bit for bit those of facebookresearch/dlrm, torchrec_dlrm/multi_hot.py (tests/vectors/
// multi_hot.json), for the same rows, sizes and ids. A missing token is expanded as the token that
// it counts as; a bag without an id stays empty.
//
// Threads: pure functions; MultiHotTables const.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "common/declared_option.h"
#include "common/host_limits.h"
#include "common/status.h"
#include "worker/data/batch.h"
#include "worker/data/schema.h"

namespace rowhouse {

inline constexpr uint32_t kMultiHotSeed = 0;
inline constexpr uint64_t kMaxMultiHotSize = 1024;

// multi_hot_sizes and multi_hot_distribution_type, of sources that take them.
std::vector<DeclaredOption> MultiHotOptions();

// What `own` says of them; off without sizes. kUsage for no list of sizes from 1 to
// kMaxMultiHotSize, and for a distribution without sizes.
Result<MultiHot> MultiHotIn(const OptionValues& own);

// kUsage for schema.multi_hot of another number of columns, an unknown distribution, and columns
// that cannot be expanded: hashed ones, those with weights, and tables of 2^31 rows and more.
Status CheckMultiHot(const Schema& schema);

// Of the tables of a schema that CheckMultiHot accepts, 0 if it is off. Columns whose rows are not
// known yet (0) count nothing.
uint64_t MultiHotBytes(const Schema& schema);

// kUsage if they do not fit nine tenths of `memory_bytes`.
Status CheckMultiHotMemory(const Schema& schema, uint64_t memory_bytes = MemoryOfHost());

class MultiHotTables {
 public:
  // Takes some 30 ns an id, on one thread. Requires a schema that both checks accept and whose rows
  // are known.
  explicit MultiHotTables(const Schema& schema);

  // Expands each id of bags of categorical column `column`, which have no weights. Requires ids
  // below the rows of its table.
  void Expand(size_t column, Bags* bags) const;

 private:
  struct Table {
    uint64_t made_up = 0;            // ids of a row
    std::vector<uint32_t> ids = {};  // rows x made_up, row-major
  };
  std::vector<Table> tables_;  // of each categorical column
};

}  // namespace rowhouse
