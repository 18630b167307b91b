#include "sharding/lab/traffic/cache_shares.h"

#include <algorithm>
#include <cmath>

#include "sharding/plans/cache_division.h"
#include "sharding/rows/optimizer.h"
#include "sharding/rows/record_weights.h"
#include "sharding/tables/table_sizes.h"

namespace rowhouse {
namespace {

// Beside a record: its tag and state, or its state alone in a cache of all rows.
constexpr double kBytesPerSlot = 8, kBytesPerDirectSlot = 1;

constexpr double kMaxBytes = 0x1p62;  // of a slice, so that sums of a few do not overflow

class Shares {
  struct LocalSlice {
    uint64_t rows = 0;
    double record_bytes = 0;
    double on_shards = 1;  // the part of its rows that is not on the workers
  };

 public:
  Shares(const Workload& workload, const Plan& plan, const StepTraffic& traffic)
      : workload_(workload),
        plan_(plan),
        traffic_(traffic),
        of_shard_(plan.shards()),
        slices_(plan.shards()) {
    const size_t tables = workload.tables.physical.size();
    result_.tables.resize(tables);
    result_.cached_rows.resize(tables);
    result_.cached_bytes.resize(tables);
    result_.record_bytes.resize(tables);
    result_.memory_bytes.resize(plan.shards());
    result_.shard_bytes.resize(plan.shards());
  }

  CacheShares Of(uint32_t shards_per_ps) && {
    CollectSlices();
    const uint64_t budget = workload_.storage.cache_bytes / shards_per_ps;
    for (size_t s = 0; s < of_shard_.size(); ++s) AddShard(s, DivideCache(of_shard_[s], budget));
    for (const TableSpec& table : workload_.tables.physical) {
      result_.tables[Raw(table.id)] =
          RowSharesOf(workload_, plan_, traffic_, table.id, result_.cached_rows[Raw(table.id)]);
    }
    return std::move(result_);
  }

 private:
  void CollectSlices() {
    for (const TableSpec& table : workload_.tables.physical) {
      const auto optimizer = Optimizers().Make(table.optimizer, table.optimizer_options).value();
      result_.record_bytes[Raw(table.id)] =
          static_cast<double>(LayoutOf(table, *optimizer).bytes());
      if (plan_.is_on_workers(table.id)) continue;
      const double on_shards = 1 - static_cast<double>(plan_.worker_rows(table.id).size()) /
                                       static_cast<double>(table.rows);
      for (const Slice& slice : plan_.slices(table.id)) {
        const uint64_t record = LayoutOf(table, *optimizer, slice.columns()).bytes();
        const double bytes = static_cast<double>(slice.rows()) * static_cast<double>(record);
        of_shard_[Raw(slice.shard)].push_back(
            {.table = table.id,
             .bytes = static_cast<uint64_t>(std::min(bytes, kMaxBytes)),
             .table_share = plan_.cache_share(table.id)});
        slices_[Raw(slice.shard)].push_back({.rows = slice.rows(),
                                             .record_bytes = static_cast<double>(record),
                                             .on_shards = on_shards});
      }
    }
  }

  // As the shard sizes its caches (ps/shard/local_tables.cc).
  void AddShard(size_t shard, const std::vector<uint64_t>& bytes) {
    for (size_t i = 0; i < bytes.size(); ++i) {
      const LocalSlice& slice = slices_[shard][i];
      const auto rows = static_cast<double>(slice.rows);
      const double slots =
          std::min(std::floor(static_cast<double>(bytes[i]) / slice.record_bytes),
                   static_cast<double>(CachedRows(slice.rows, workload_.storage.cache_ratio)));
      const size_t table = Raw(of_shard_[shard][i].table);
      result_.cached_rows[table] += std::min(slots, rows * slice.on_shards);
      result_.cached_bytes[table] += slots * slice.record_bytes;
      result_.memory_bytes[shard] +=
          slots * (slice.record_bytes + (slots < rows ? kBytesPerSlot : kBytesPerDirectSlot));
      result_.shard_bytes[shard] += rows * slice.on_shards * slice.record_bytes;
    }
  }

  const Workload& workload_;
  const Plan& plan_;
  const StepTraffic& traffic_;
  std::vector<std::vector<CachedSlice>> of_shard_;
  std::vector<std::vector<LocalSlice>> slices_;  // of each shard, the same ones
  CacheShares result_;
};

// A trace knows what LRU misses; how much better another policy is, the distribution says.
void TakeTraced(const Workload& workload, TableId table, const IdDistribution& ids, double lookups,
                double slots, RowShares* shares) {
  // Nothing is ever evicted. A trace that is shorter than the run has more first accesses a step
  // than the run, which are no reads.
  if (!workload.storage.has_rows && shares->stored * lookups < 0.5) return;
  const double lru = 1 - ids.HitRate(slots, lookups, Retention{.by_count = 0});
  const double other = 1 - ids.HitRate(slots, lookups, workload.storage.keeps);
  const double traced = workload.lru_miss_ratio[Raw(table)](slots);
  // First touches miss in every cache, under every policy.
  const double missed =
      std::max(std::min(traced, shares->touched), traced * (lru > 0 ? other / lru : 1.0));
  shares->cached = std::clamp(1 - missed, 0.0, 1.0);
  shares->touched = std::min(shares->touched, 1 - shares->cached);
  shares->stored = std::max(0.0, 1 - shares->cached - shares->touched);
}

}  // namespace

RowShares RowSharesOf(const Workload& workload, const Plan& plan, const StepTraffic& traffic,
                      TableId table, double cached_rows) {
  const TableRowsOfStep& rows = traffic.tables[Raw(table)];
  if (plan.is_on_workers(table) || rows.distinct_rows <= 0) return {.cached = 1};
  IdDistribution scratch;
  double on_shards = 1;
  const IdDistribution& ids = DistributionOnShards(workload, plan, table, &scratch, &on_shards);
  const StorageShape& storage = workload.storage;
  // A row that several workers pull in a step is read once.
  const double workers = workload.step.workers;
  const double lookups = rows.lookups * workers * on_shards;
  const double cuts = std::max(rows.cuts, 1e-9);
  RowShares shares = ids.SharesOfRun(
      cached_rows / cuts, lookups,
      {.keeps = storage.keeps,
       .steps = static_cast<double>(workload.steps),
       .different_steps = static_cast<double>(std::min(workload.steps, workload.steps_of_epoch)),
       .messages = workers,
       .knows_frequencies = storage.knows_frequencies});
  if (storage.has_rows) {
    shares.stored += shares.touched;
    shares.touched = 0;
  }
  if (Raw(table) < workload.lru_miss_ratio.size() &&
      workload.lru_miss_ratio[Raw(table)] != nullptr) {
    TakeTraced(workload, table, ids, lookups, cached_rows / cuts, &shares);
  }
  const double once = ids.DistinctRows(lookups) / (workers * rows.distinct_rows);
  shares.stored *= once;
  shares.touched *= once;
  shares.cached = std::max(0.0, 1 - shares.touched - shares.stored);
  return shares;
}

uint64_t CacheWithin(const Workload& workload, uint64_t memory_bytes) {
  double least_part = 1;  // of a slot that is its record
  for (const TableSpec& table : workload.tables.physical) {
    const auto optimizer = Optimizers().Make(table.optimizer, table.optimizer_options).value();
    const auto record = static_cast<double>(LayoutOf(table, *optimizer).bytes());
    least_part = std::min(least_part, record / (record + kBytesPerSlot));
  }
  const auto bytes = static_cast<uint64_t>(static_cast<double>(memory_bytes) * least_part);
  return std::max<uint64_t>(1, bytes >> 20) << 20;
}

CacheShares CacheSharesOf(const Workload& workload, const Plan& plan, const StepTraffic& traffic,
                          uint32_t shards_per_ps) {
  return Shares(workload, plan, traffic).Of(shards_per_ps);
}

}  // namespace rowhouse
