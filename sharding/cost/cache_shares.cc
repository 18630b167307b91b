#include "sharding/cost/cache_shares.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "sharding/rows/optimizer.h"
#include "sharding/rows/record_weights.h"

namespace rowhouse {
namespace {

// Beside a record: its tag and state, or its state alone in a cache of all rows.
constexpr double kBytesPerSlot = 8, kBytesPerDirectSlot = 1;

struct LocalSlice {
  size_t table = 0;
  double rows = 0, record_bytes = 0;
  double wanted = 0;  // bytes
};

// The bytes of each slice: equal shares of the budget; what one does not want goes to the others.
std::vector<double> Divide(const std::vector<LocalSlice>& slices, double budget) {
  std::vector<size_t> order(slices.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::sort(order, [&](size_t a, size_t b) { return slices[a].wanted < slices[b].wanted; });
  std::vector<double> bytes(slices.size());
  size_t left = order.size();
  for (const size_t i : order) {
    bytes[i] = std::min(slices[i].wanted, budget / static_cast<double>(left--));
    budget -= bytes[i];
  }
  return bytes;
}

class Shares {
 public:
  Shares(const Workload& workload, const Plan& plan, const StepTraffic& traffic)
      : workload_(workload), plan_(plan), traffic_(traffic), of_shard_(plan.shards()) {
    const size_t tables = workload.tables.physical.size();
    result_.tables.resize(tables);
    result_.cached_rows.resize(tables);
    result_.record_bytes.resize(tables);
    result_.memory_bytes.resize(plan.shards());
    result_.shard_bytes.resize(plan.shards());
  }

  CacheShares Of(uint32_t shards_per_ps) && {
    CollectSlices();
    const double budget = static_cast<double>(workload_.storage.cache_bytes) / shards_per_ps;
    for (size_t s = 0; s < of_shard_.size(); ++s) {
      const std::vector<double> bytes = Divide(of_shard_[s], budget);
      for (size_t i = 0; i < bytes.size(); ++i) {
        const LocalSlice& slice = of_shard_[s][i];
        const double slots = std::min(
            slice.rows, bytes[i] >= slice.wanted ? slice.rows * workload_.storage.cache_ratio
                                                 : bytes[i] / (slice.record_bytes + kBytesPerSlot));
        result_.cached_rows[slice.table] += slots;
        result_.memory_bytes[s] += bytes[i];
        result_.shard_bytes[s] += slice.rows * slice.record_bytes;
      }
    }
    for (const TableSpec& table : workload_.tables.physical) ShareTable(table);
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
        LocalSlice local{.table = Raw(table.id),
                         .rows = static_cast<double>(slice.rows()) * on_shards,
                         .record_bytes = static_cast<double>(
                             LayoutOf(table, *optimizer, slice.columns()).bytes())};
        local.wanted =
            local.rows * workload_.storage.cache_ratio * (local.record_bytes + kBytesPerDirectSlot);
        of_shard_[Raw(slice.shard)].push_back(local);
      }
    }
  }

  void ShareTable(const TableSpec& table) {
    RowShares& shares = result_.tables[Raw(table.id)];
    shares.cached = 1;
    const TableRowsOfStep& rows = traffic_.tables[Raw(table.id)];
    if (plan_.is_on_workers(table.id) || rows.distinct_rows <= 0) return;
    IdDistribution scratch;
    double on_shards = 1;
    const IdDistribution& ids =
        DistributionOnShards(workload_, plan_, table.id, &scratch, &on_shards);
    // A row that several workers pull in a step is read once.
    const double workers = workload_.step.workers;
    const double lookups = rows.lookups * workers * on_shards;
    const double cuts = std::max(rows.cuts, 1e-9);
    shares = ids.SharesOfRun(result_.cached_rows[Raw(table.id)] / cuts, lookups,
                             {.policy = workload_.storage.policy,
                              .steps = static_cast<double>(workload_.steps),
                              .different_steps = static_cast<double>(
                                  std::min(workload_.steps, workload_.steps_of_epoch)),
                              .steps_ahead = static_cast<double>(workload_.storage.prefetch_steps),
                              .knows_frequencies = workload_.storage.knows_frequencies});
    if (workload_.storage.has_rows) {
      shares.stored += shares.touched;
      shares.touched = 0;
    }
    if (Raw(table.id) < workload_.lru_miss_ratio.size() &&
        workload_.lru_miss_ratio[Raw(table.id)] != nullptr) {
      TakeTraced(table, ids, lookups, &shares);
    }
    const double once = ids.DistinctRows(lookups) / (workers * rows.distinct_rows);
    shares.touched *= once;
    shares.cached = std::max(0.0, 1 - shares.touched - shares.stored);
  }

  // A trace knows what LRU misses; how much better another policy is, the distribution says.
  void TakeTraced(const TableSpec& table, const IdDistribution& ids, double lookups,
                  RowShares* shares) const {
    const double slots = result_.cached_rows[Raw(table.id)];
    // Nothing is ever evicted. A trace that is shorter than the run has more first accesses a step
    // than the run, which are no reads.
    if (!workload_.storage.has_rows && shares->stored * lookups < 0.5) return;
    const double lru = 1 - ids.HitRate(slots, lookups, "lru");
    const double other = 1 - ids.HitRate(slots, lookups, workload_.storage.policy);
    const double traced = workload_.lru_miss_ratio[Raw(table.id)](slots);
    // First touches miss in every cache, under every policy.
    const double missed =
        std::max(std::min(traced, shares->touched), traced * (lru > 0 ? other / lru : 1.0));
    shares->cached = std::clamp(1 - missed, 0.0, 1.0);
    shares->touched = std::min(shares->touched, 1 - shares->cached);
    shares->stored = std::max(0.0, 1 - shares->cached - shares->touched);
  }

  const Workload& workload_;
  const Plan& plan_;
  const StepTraffic& traffic_;
  std::vector<std::vector<LocalSlice>> of_shard_;
  CacheShares result_;
};

}  // namespace

CacheShares CacheSharesOf(const Workload& workload, const Plan& plan, const StepTraffic& traffic,
                          uint32_t shards_per_ps) {
  return Shares(workload, plan, traffic).Of(shards_per_ps);
}

}  // namespace rowhouse
