// Predicts the peak memory of a PS node, item by item, and the bytes of its files, before anything
// is started. The factors were measured; docs/storage.md ("Memory") compares predictions with runs.
//
// Memory is resident memory, code and libraries included, as VmHWM counts it. Touched rows are
// assumed to be spread evenly over their table. Threads: pure functions.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "common/status.h"
#include "ps/shard/node_options.h"
#include "sharding/plans/plan.h"
#include "sharding/rows/table_spec.h"

namespace rowhouse {

// One slice on a shard. Numbers of rows are expectations.
struct SliceSize {
  uint64_t rows = 0;
  uint32_t columns = 0;
  uint32_t record_bytes = 0;
  double touched_rows = 0;    // distinct rows that training looks up
  double step_rows = 0;       // pulled and pushed in a step, summed over workers
  bool is_scattered = false;  // the table's row order is scattered
  bool is_written = true;     // false: the table is frozen; its rows are cached, never stored
  // Rows pulled over all steps and workers. nullopt: not known; then touched rows are assumed to be
  // pulled again and again.
  std::optional<double> pulled_rows = std::nullopt;
  TableId table{};
  std::optional<double> cache_share = std::nullopt;  // of the table on its shard (Plan)
};

struct NodeSize {
  std::vector<std::vector<SliceSize>> shards;
  // As NodeOptions has them.
  bool has_files = true;  // false: store=memory
  uint64_t cache_bytes = NodeOptions().cache_mb << 20;
  uint64_t memory_limit_bytes = 0;  // 0: none; else at least MemoryBudget::kMinBytes
  double cache_ratio = NodeOptions().cache_ratio;
  uint32_t cache_ways = NodeOptions().cache_ways;
  uint64_t max_dirty_steps = NodeOptions().max_dirty_steps;
  bool logs_pushes = false;    // --durability; then max_dirty_steps > 0
  uint32_t checkpoints = 0;    // kept of the run (--keep); 0: none is made
  bool has_huge_pages = true;  // the system gives them (ps/cache/page_memory.h)
};

struct MemoryEstimate {
  uint64_t process = 0;  // code, libraries, stacks, RocksDB without rows
  uint64_t records = 0;  // cached rows
  // Beside them: 8 to 12 bytes a slot, 1 in a direct array; the index; samples of accesses.
  uint64_t slots = 0;
  uint64_t written_rows = 0;  // which rows were ever written
  uint64_t stored = 0;        // memtables; of store=memory all rows
  uint64_t blocks = 0;        // indexes of files
  uint64_t requests = 0;    // of a step: pulls, pushes, evicted rows, rows prefetched for the next
  uint64_t unwritten = 0;   // copies of rows on their way to the store when a run is saved
  uint64_t heap_slack = 0;  // what the allocator cannot use again

  uint64_t cache_rows = 0;   // that the caches have slots for
  uint64_t cache_bytes = 0;  // of their records, touched or not

  // No step is applied during a save, so only the larger of `requests` and `unwritten` counts.
  uint64_t total() const;
};
MemoryEstimate EstimateMemory(const NodeSize& node);

// Bytes that the records of its caches may take: cache_bytes, or less if the memory limit requires.
uint64_t CacheBytesOf(const NodeSize& node);

// What the parts of a node may hold beside its requests and the process: bytes, over all its
// shards. The server gives them to its shards and stores, and EstimateMemory() counts with them.
struct NodeBudgets {
  uint64_t cache = 0;      // records in caches
  uint64_t memtables = 0;  // rows on their way to disk, in RocksDB
  uint64_t blocks = 0;     // of files that were read, with indexes and filters
  uint64_t unwritten = 0;  // copies of rows that wait for the store
  uint64_t prefetch = 0;   // rows that are read before a pull asks for them
  uint64_t requests = std::numeric_limits<uint64_t>::max();  // that wait or are answered (limit)
  uint64_t answers = std::numeric_limits<uint64_t>::max();   // that are not sent (limit)
};
// Requires a memory_limit_bytes that CheckRequestsFit() has accepted.
NodeBudgets BudgetsOf(const NodeSize& node);

struct DiskEstimate {
  uint64_t records = 0;    // of touched rows
  uint64_t compacted = 0;  // files that hold each of them once
  // The most that all files take at any time: with older copies of rows, and with the outputs of
  // compactions whose inputs are not deleted yet. Equals `compacted` if only a save writes rows,
  // because it writes them in their order.
  uint64_t peak = 0;
  // The push log, which is not in the figures above. An upper bound, unless the sync of a lap's
  // rows takes longer than a lap.
  uint64_t log = 0;
  // Files that only checkpoints still have, beside all of the above. An upper bound: each holds as
  // much as the store had, if all rows change between two of them, and delta files of rows that are
  // in caches.
  uint64_t checkpoints = 0;
};
// All 0 for store=memory.
DiskEstimate EstimateDisk(const NodeSize& node);

// Memory of a step's requests on the node: that of its pulls, with the rows that are read for them,
// or that of its pushes, with their sums, whichever is larger.
uint64_t RequestBytes(const NodeSize& node);

// kUsage, naming a limit that is enough, if a step's requests take more than memory_limit_bytes has
// for requests. `workers`: for the message.
Status CheckRequestsFit(const NodeSize& node, uint32_t workers);

// The slices of each shard of a PS node. By table, over all its slices: `touched_rows` (empty: all
// rows), `step_rows` (empty: none), `is_frozen` (empty: no table is), `pulled_rows` (empty: not
// known). Requires known optimizers.
std::vector<std::vector<SliceSize>> SlicesOfNode(
    const std::vector<TableSpec>& tables, const Plan& plan, uint32_t node, uint32_t shards_per_node,
    const std::vector<double>& touched_rows, const std::vector<double>& step_rows,
    const std::vector<bool>& is_frozen = {}, const std::vector<double>& pulled_rows = {});

}  // namespace rowhouse
