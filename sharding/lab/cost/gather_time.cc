#include "sharding/lab/cost/gather_time.h"

#include <algorithm>

namespace rowhouse {
namespace {

// Rows of one shard that are gathered alike.
struct Rows {
  double rows = 0, floats = 0;

  void Add(double more, double dim) {
    rows += more;
    floats += more * dim;
  }
};

struct RowsOfShard {
  Rows placed_new, cached, cached_new;
};

double MoreMs(const char* kernel, const Rows& rows, KernelTimes* times) {
  if (rows.rows <= 0) return 0;
  const double dim = rows.floats / rows.rows;
  return std::max(0.0,
                  times->Ms(kernel, {rows.rows, dim}) - times->Ms("placed_pull", {rows.rows, dim}));
}

bool HavePlaces(const Plan& plan, const TableSpec& table, double cached_rows) {
  if (plan.is_on_workers(table.id)) return true;
  double rows = 0;
  for (const Slice& slice : plan.slices(table.id)) rows += static_cast<double>(slice.rows());
  const double on_workers =
      static_cast<double>(plan.worker_rows(table.id).size()) / static_cast<double>(table.rows);
  return cached_rows >= rows * (1 - on_workers) - 0.5;
}

}  // namespace

std::vector<double> FurtherGatherMs(const Workload& workload, const Plan& plan,
                                    const StepTraffic& traffic, const CacheShares& caches,
                                    KernelTimes* times) {
  std::vector<double> ms(plan.shards());
  for (const char* kernel : {"placed_pull", "placed_pull_new", "cached_pull", "cached_pull_new"}) {
    if (!times->machine().HasKernel(kernel)) return ms;
  }
  std::vector<bool> have_places;  // of each table
  for (const TableSpec& table : workload.tables.physical) {
    have_places.push_back(HavePlaces(plan, table, caches.cached_rows[Raw(table.id)]));
  }
  std::vector<RowsOfShard> gathered(plan.shards());
  for (const PulledRows& pulled : traffic.pulled) {
    const size_t table = Raw(pulled.table);
    RowsOfShard& of_shard = gathered[Raw(pulled.shard)];
    const RowShares& shares = caches.tables[table];
    const double here = pulled.rows * workload.step.workers;
    const double fresh = here * shares.touched_midway;
    (have_places[table] ? of_shard.placed_new : of_shard.cached_new).Add(fresh, pulled.columns);
    if (!have_places[table]) of_shard.cached.Add(here * shares.cached, pulled.columns);
  }
  for (size_t s = 0; s < gathered.size(); ++s) {
    ms[s] = MoreMs("placed_pull_new", gathered[s].placed_new, times) +
            MoreMs("cached_pull", gathered[s].cached, times) +
            MoreMs("cached_pull_new", gathered[s].cached_new, times);
  }
  return ms;
}

}  // namespace rowhouse
