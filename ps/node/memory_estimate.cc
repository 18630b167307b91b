#include "ps/node/memory_estimate.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "common/counted.h"
#include "ps/cache/cache_places.h"
#include "ps/shard/memory_budget.h"
#include "ps/shard/shard_options.h"
#include "ps/store/store_key.h"
#include "sharding/plans/cache_division.h"
#include "sharding/plans/reuse_sampler.h"
#include "sharding/rows/optimizer.h"
#include "sharding/rows/record_weights.h"
#include "sharding/tables/table_sizes.h"

namespace rowhouse {
namespace {

constexpr double kMiB = 1 << 20;

// A node that serves a job without rows, and each shard beyond the first.
constexpr double kProcessBytes = 26 * kMiB;
constexpr double kShardBytes = 1 * kMiB;
// Share of the heap in use that is lost in gaps between larger blocks; more if several shards write
// at once.
constexpr double kHeapSlack = 0.1, kHeapSlackOfShards = 0.3;

// Files: beside a record the unshared part of its key, 8 bytes of RocksDB and lengths; a block of
// 4 kB has a trailer and an entry in the index.
constexpr double kRowOverhead = 15;
constexpr double kBlockBytes = 4096, kBlockOverhead = 72, kIndexEntryBytes = 16;
// In a memtable: a row's key, lengths and links.
constexpr double kMemtableRowOverhead = 40;
constexpr double kMemtables = 3;  // of a store (ps/store/rocksdb_options.cc)
// A node of a sorted map.
constexpr double kMapRowOverhead = 112;
// Evicted rows are written in any order. Beside them lie what compactions of one store write before
// their inputs are deleted, and older copies: half a copy for each time a row is written again, at
// most one copy of all rows. If only saves write rows, in any order, half of the former.
constexpr double kCompacting = 0.4, kOlderCopies = 0.5;

// Summing a pushed row takes this many bytes a worker (Touch in ps/shard/step_update.h).
constexpr double kTouchBytes = 24;
constexpr double kIdBytes = sizeof(uint64_t), kCountBytes = sizeof(uint32_t);

// Bytes of touched pages, if each unit of `bytes` was touched with this chance.
double Resident(double bytes, double unit_bytes, double chance, double page_bytes) {
  if (chance >= 1.0) return bytes;
  const double units = std::min(page_bytes, bytes) / unit_bytes;
  return -bytes * std::expm1(std::max(1.0, units) * std::log1p(-chance));
}

uint64_t StoresOf(const NodeSize& node) { return std::max<uint64_t>(1, node.shards.size()); }

double CacheOfShard(const NodeSize& node) {
  return static_cast<double>(CacheBytesOf(node)) / static_cast<double>(node.shards.size());
}

// The cache of one slice.
struct SliceCache {
  uint64_t slots = 0;
  bool is_direct = false;
  bool has_most = false;  // it cannot be given more
  double held_rows = 0;   // touched rows that fit
  double resident = 0;    // bytes of records
  double slot_bytes = 0;  // of tags, state and index
};

SliceCache CacheOf(const SliceSize& slice, uint64_t granted_bytes, const NodeSize& node) {
  const uint64_t most_rows = CachedRows(slice.rows, node.cache_ratio);
  const uint64_t capacity = std::min(granted_bytes / slice.record_bytes, most_rows);
  SliceCache cache;
  cache.has_most = capacity >= most_rows;
  cache.is_direct = capacity >= slice.rows;
  const CacheShape shape = cache.is_direct ? CacheShape{.sets = slice.rows, .ways = 1}
                                           : CacheShape::Of(capacity, node.cache_ways);
  cache.slots = shape.sets * shape.ways;
  const auto slots = static_cast<double>(cache.slots);
  cache.held_rows = std::min(slots, slice.touched_rows);
  const double bytes = slots * slice.record_bytes;
  const bool is_filled_in_order = !cache.is_direct && node.cache_ways == 1;
  constexpr double kHugePage = 2 * kMiB, kPage = 4096;
  cache.resident = is_filled_in_order
                       ? cache.held_rows * slice.record_bytes
                       : Resident(bytes, slice.record_bytes, cache.held_rows / slots,
                                  node.has_huge_pages && bytes >= kHugePage ? kHugePage : kPage);
  cache.slot_bytes = slots;
  if (!cache.is_direct) {
    cache.slot_bytes = slots * (CachePlaces(slice.rows, shape.sets).is_wide() ? 12 : 8);
    if (node.cache_ways == 1) {
      cache.slot_bytes += static_cast<double>(std::bit_ceil(2 * cache.slots) * sizeof(uint32_t));
    }
  }
  return cache;
}

std::vector<SliceCache> CachesOf(const std::vector<SliceSize>& shard, const NodeSize& node) {
  std::vector<CachedSlice> wanted;
  for (const SliceSize& slice : shard) {
    wanted.push_back({.table = slice.table,
                      .bytes = slice.rows * slice.record_bytes,
                      .table_share = slice.cache_share});
  }
  const double budget = CacheOfShard(node);
  const std::vector<uint64_t> shares = DivideCache(wanted, static_cast<uint64_t>(budget));
  std::vector<SliceCache> caches;
  for (size_t i = 0; i < shard.size(); ++i) caches.push_back(CacheOf(shard[i], shares[i], node));
  return caches;
}

// Samples of accesses, of tables that do not fit (ps/shard/cache_moves.h).
double SampleBytes(const std::vector<SliceSize>& shard, const std::vector<SliceCache>& caches,
                   const NodeSize& node) {
  std::vector<double> touched;
  bool all_fit = true;
  for (size_t i = 0; i < shard.size(); ++i) {
    if (!caches[i].is_direct) touched.push_back(shard[i].touched_rows);
    all_fit = all_fit && caches[i].has_most;
  }
  if (all_fit || touched.empty()) return 0;
  const double budget = CacheOfShard(node);
  const auto rows = static_cast<double>(ReuseSampler::RowsFor(
      static_cast<uint64_t>(budget / kSamplesOfCache / static_cast<double>(touched.size()))));
  double bytes = 0;
  for (const double of_table : touched) {
    bytes += ReuseSampler::kFixedBytes + std::min(rows, of_table) * ReuseSampler::kBytesARow;
  }
  return bytes;
}

double WrittenRowsBytes(const std::vector<SliceSize>& shard, const NodeSize& node) {
  std::vector<uint64_t> wanted;
  for (const SliceSize& slice : shard) wanted.push_back(slice.rows / 8 + 64);
  const double budget = CacheOfShard(node) / kWrittenRowsOfCache;
  const std::vector<uint64_t> shares = EqualShares(wanted, static_cast<uint64_t>(budget));
  double bytes = 0;
  for (size_t i = 0; i < shard.size(); ++i) {
    if (!shard[i].is_written) continue;
    const auto all = static_cast<double>(shares[i]);
    const double pages = std::max(1.0, all / 4096);
    bytes += -all * std::expm1(shard[i].touched_rows * std::log1p(-std::min(0.5, 1 / pages)));
  }
  return bytes;
}

uint64_t Whole(double bytes) { return static_cast<uint64_t>(std::llround(bytes)); }

// The larger of pulled rows with reads of those not cached, and of pushed rows with their sums.
double RequestBytesOf(const SliceSize& slice, const SliceCache& cache) {
  const double values = slice.columns * static_cast<double>(sizeof(float));
  const double read = cache.is_direct ? 0 : kIdBytes + slice.record_bytes;
  const double pulled = kIdBytes + kCountBytes + values + read;
  const double pushed = kIdBytes + kCountBytes + values + kTouchBytes;
  return slice.step_rows * std::max(pulled, pushed);
}

double FileBytes(double rows, uint32_t record_bytes) {
  return rows * (record_bytes * (1 + kBlockOverhead / kBlockBytes) + kRowOverhead);
}

// Of rows that training writes.
struct Stored {
  double rows = 0, bytes = 0;
};

Stored StoredBy(const NodeSize& node) {
  Stored all;
  for (const std::vector<SliceSize>& shard : node.shards) {
    for (const SliceSize& slice : shard) {
      if (!slice.is_written) continue;
      all.rows += slice.touched_rows;
      all.bytes += slice.touched_rows * slice.record_bytes;
    }
  }
  return all;
}

}  // namespace

uint64_t MemoryEstimate::total() const {
  return process + records + slots + written_rows + stored + blocks +
         std::max(requests, unwritten) + heap_slack;
}

MemoryEstimate EstimateMemory(const NodeSize& node) {
  const NodeBudgets budgets = BudgetsOf(node);
  MemoryEstimate estimate;
  double records = 0, slots = 0, written_rows = 0, requests = 0, evicted = 0, unwritten = 0;
  double direct_slots = 0, outside = 0, prefetched = 0;
  for (const std::vector<SliceSize>& shard : node.shards) {
    const std::vector<SliceCache> caches = CachesOf(shard, node);
    written_rows += WrittenRowsBytes(shard, node);
    slots += SampleBytes(shard, caches, node);
    for (size_t i = 0; i < shard.size(); ++i) {
      const SliceSize& slice = shard[i];
      const SliceCache& cache = caches[i];
      estimate.cache_rows += cache.slots;
      estimate.cache_bytes += cache.slots * slice.record_bytes;
      records += cache.resident;
      slots += cache.slot_bytes;
      requests += RequestBytesOf(slice, cache);
      const double copy = slice.is_written ? kIdBytes + slice.record_bytes : 0;
      unwritten += cache.held_rows * copy;
      outside += (slice.touched_rows - cache.held_rows) * copy;
      if (cache.is_direct) {
        direct_slots += cache.slot_bytes;
      } else {
        evicted += std::min(slice.step_rows, slice.touched_rows) * copy;
        prefetched += slice.step_rows * (kIdBytes + slice.record_bytes);
      }
    }
  }
  const auto [rows, bytes] = StoredBy(node);
  const double copies = bytes > 0 ? 1 + kIdBytes * rows / bytes : 1;
  const double most_unwritten = static_cast<double>(budgets.unwritten) * copies;
  requests += std::min(evicted, most_unwritten) +
              std::min(prefetched, static_cast<double>(budgets.prefetch));
  const auto shards = static_cast<double>(StoresOf(node));
  const double stored = node.has_files ? std::min(static_cast<double>(budgets.memtables),
                                                  bytes + rows * kMemtableRowOverhead)
                                       : bytes + rows * kMapRowOverhead;
  // Copies are freed as the store takes them. When a save begins, its memtables hold evicted rows:
  // all but half of the one that fills; of several shards all.
  const double full = shards > 1 ? stored : stored * (kMemtables - 0.5) / kMemtables;
  const double taken = stored - (node.has_files ? std::min(full, outside) : 0);
  unwritten = std::clamp(unwritten - taken, 0.0, most_unwritten);
  const double blocks = node.has_files ? std::min(static_cast<double>(budgets.blocks),
                                                  bytes / kBlockBytes * kIndexEntryBytes)
                                       : 0;
  estimate.process = Whole(kProcessBytes + (shards - 1) * kShardBytes);
  estimate.records = Whole(records);
  estimate.slots = Whole(slots);
  estimate.written_rows = Whole(written_rows);
  estimate.stored = Whole(stored);
  estimate.blocks = Whole(blocks);
  estimate.requests = Whole(requests);
  estimate.unwritten = Whole(unwritten);
  estimate.heap_slack = Whole(
      (shards > 1 ? kHeapSlackOfShards : kHeapSlack) *
      (direct_slots + (node.has_files ? stored : 0) + blocks + std::max(requests, unwritten)));
  return estimate;
}

uint64_t CacheBytesOf(const NodeSize& node) {
  if (node.memory_limit_bytes == 0) return node.cache_bytes;
  double beside =
      0;  // bytes of slots for each byte of a record, of the table with the largest ratio
  for (const std::vector<SliceSize>& shard : node.shards) {
    for (const SliceSize& slice : shard) {
      // As in ps/cache/slot_table.h, "Memory".
      const double slot =
          (slice.rows > uint64_t{1} << 32 ? 12 : 8) + (node.cache_ways == 1 ? 16 : 0);
      beside = std::max(beside, slot / slice.record_bytes);
    }
  }
  const MemoryBudget budget = DivideMemory(node.memory_limit_bytes, StoresOf(node)).value();
  return std::min(node.cache_bytes, budget.RecordBytes(beside));
}

NodeBudgets BudgetsOf(const NodeSize& node) {
  if (node.memory_limit_bytes == 0) {
    const StoreBytes store = StoreBytes::Beside(node.cache_bytes, StoresOf(node));
    const ShardOptions shard;
    return {.cache = node.cache_bytes,
            .memtables = store.memtables,
            .blocks = store.blocks,
            .unwritten = shard.max_unwritten_bytes * node.shards.size(),
            .prefetch = shard.max_prefetch_bytes * node.shards.size()};
  }
  const MemoryBudget budget = DivideMemory(node.memory_limit_bytes, StoresOf(node)).value();
  return {.cache = CacheBytesOf(node),
          .memtables = budget.memtable_bytes,
          .blocks = budget.block_cache_bytes,
          .unwritten = budget.unwritten_bytes,
          .prefetch = budget.prefetch_bytes,
          // CheckRequestsFit knows the rows of an average step.
          .requests = budget.request_bytes + budget.request_bytes / 4,
          .answers = budget.request_bytes / 2};
}

DiskEstimate EstimateDisk(const NodeSize& node) {
  DiskEstimate disk;
  if (!node.has_files) return disk;
  double compacted = 0, older = 0, most_unordered = 0;  // bytes of files
  double dirty = 0;                                     // bytes of rows in caches, at most
  for (const std::vector<SliceSize>& shard : node.shards) {
    const std::vector<SliceCache> caches = CachesOf(shard, node);
    double unordered = 0;
    for (size_t i = 0; i < shard.size(); ++i) {
      const SliceSize& slice = shard[i];
      if (!slice.is_written) continue;
      const double bytes = FileBytes(slice.touched_rows, slice.record_bytes);
      compacted += bytes;
      const double held = caches[i].held_rows;
      dirty += held * slice.record_bytes;
      if (node.max_dirty_steps > 0 || held < slice.touched_rows) {
        const double hits = node.max_dirty_steps > 0 ? 0 : held / slice.touched_rows;
        const double writes = slice.pulled_rows.value_or(HUGE_VAL) * (1 - hits);
        older += bytes * std::clamp(writes / slice.touched_rows - 1, 0.0, 1.0);
        unordered += bytes;
      } else if (!caches[i].is_direct || slice.is_scattered) {
        unordered += bytes / 2;
      }
    }
    most_unordered = std::max(most_unordered, unordered);
  }
  if (node.logs_pushes) {
    // Two laps of the sweeper, limited by steps or bytes, and what is pushed while the rows of the
    // second are synced, up to a lap more. Each is a segment, which ends within a block.
    constexpr double kLaps = 3;
    constexpr double kBlock = 4096;
    const double lap_bytes = static_cast<double>(ShardOptions().max_lap_log_bytes);
    double log = 0;
    for (const std::vector<SliceSize>& shard : node.shards) {
      double step = 0, run = 0;
      for (const SliceSize& slice : shard) {
        if (!slice.is_written) continue;
        const double row = sizeof(uint64_t) + static_cast<double>(slice.columns) * sizeof(float);
        step += slice.step_rows * row;
        run += slice.pulled_rows.value_or(HUGE_VAL) * row;
      }
      const double lap = std::min(static_cast<double>(node.max_dirty_steps) * step, lap_bytes);
      log += std::min(kLaps * lap, run) + kLaps * kBlock;
    }
    disk.log = Whole(log);
  }
  disk.records = Whole(StoredBy(node).bytes);
  disk.compacted = Whole(compacted);
  disk.peak = Whole(compacted + kCompacting * most_unordered + kOlderCopies * older);
  // Delta files: twice the dirty rows, and what the save that exceeds this adds.
  constexpr double kDeltas = 3;
  disk.checkpoints = node.checkpoints * (disk.peak + Whole(kDeltas * dirty));
  return disk;
}

uint64_t RequestBytes(const NodeSize& node) {
  double bytes = 0;
  for (const std::vector<SliceSize>& shard : node.shards) {
    const std::vector<SliceCache> caches = CachesOf(shard, node);
    for (size_t i = 0; i < shard.size(); ++i) bytes += RequestBytesOf(shard[i], caches[i]);
  }
  return Whole(bytes);
}

Status CheckRequestsFit(const NodeSize& node, uint32_t workers) {
  if (node.memory_limit_bytes == 0) return OkStatus();
  ASSIGN_OR_RETURN(const MemoryBudget budget,
                   DivideMemory(node.memory_limit_bytes, StoresOf(node)));
  const uint64_t bytes = RequestBytes(node);
  if (bytes <= budget.request_bytes) return OkStatus();
  double rows = 0;
  for (const std::vector<SliceSize>& shard : node.shards) {
    for (const SliceSize& slice : shard) rows += slice.step_rows;
  }
  constexpr uint64_t kMb = uint64_t{1} << 20;
  const uint64_t limits =
      node.memory_limit_bytes / budget.request_bytes;  // requests have a quarter
  return UsageError(
      "a step pulls and pushes about {:.0f} rows here, from {}, which take {:.1f} MiB while it is "
      "applied; of memory_limit_mb={} only {:.1f} MiB are for requests. Give --memory_limit_mb={} "
      "or more, a smaller --mini-batch-size, or more PS nodes (--ps)",
      rows, Counted(workers, "worker"), static_cast<double>(bytes) / kMiB,
      node.memory_limit_bytes / kMb, static_cast<double>(budget.request_bytes) / kMiB,
      (bytes * limits + kMb - 1) / kMb);
}

std::vector<std::vector<SliceSize>> SlicesOfNode(
    const std::vector<TableSpec>& tables, const Plan& plan, uint32_t node, uint32_t shards_per_node,
    const std::vector<double>& touched_rows, const std::vector<double>& step_rows,
    const std::vector<bool>& is_frozen, const std::vector<double>& pulled_rows) {
  std::vector<std::vector<SliceSize>> shards(shards_per_node);
  for (const TableSpec& table : tables) {
    const auto optimizer = Optimizers().Make(table.optimizer, table.optimizer_options).value();
    const size_t t = Raw(table.id);
    for (const Slice& slice : plan.slices(table.id)) {
      if (slice.shard == kOnWorkers || Raw(slice.shard) / shards_per_node != node) continue;
      const double part = static_cast<double>(slice.rows()) / static_cast<double>(table.rows);
      shards[Raw(slice.shard) % shards_per_node].push_back(
          {.rows = slice.rows(),
           .columns = slice.columns(),
           .record_bytes =
               static_cast<uint32_t>(LayoutOf(table, *optimizer, slice.columns()).bytes()),
           .touched_rows =
               touched_rows.empty() ? static_cast<double>(slice.rows()) : touched_rows[t] * part,
           .step_rows = step_rows.empty() ? 0 : step_rows[t] * part,
           .is_scattered = plan.order(table.id).is_scattered(),
           .is_written = is_frozen.empty() || !is_frozen[t],
           .pulled_rows = pulled_rows.empty() ? std::nullopt : std::optional(pulled_rows[t] * part),
           .table = table.id,
           .cache_share = plan.cache_share(table.id)});
    }
  }
  return shards;
}

}  // namespace rowhouse
