#include "sharding/lab/cost/gather_time.h"

#include <gtest/gtest.h>

#include "sharding/plans/plan_maker.h"

namespace rowhouse {
namespace {

// One table of a million rows, of which a step of one lookup a sample pulls some.
Workload WorkloadOf(uint64_t cache_bytes, uint64_t steps) {
  LogicalTable table;
  table.name = "t";
  table.rows = 1'000'000;
  table.dim = 16;
  Workload workload;
  workload.tables = EmbeddingTables::Make({table}).value();
  workload.step = {.samples = 2048, .workers = 1, .bag_lengths = {1.0}, .zipf_exponent = 1.05};
  workload.of_table = {IdDistribution::Zipf(1'000'000, 1.05)};
  workload.lookups = {1.0};
  workload.storage.cache_bytes = cache_bytes;
  workload.steps = steps;
  workload.steps_of_epoch = steps;
  return workload;
}

constexpr uint64_t kSmall = 8 << 20, kLarge = uint64_t{1} << 40;
constexpr double kPlaced = 100, kPlacedNew = 300, kCached = 200, kCachedNew = 700;  // ns a row

double MsOf(const Workload& workload, RowShares* shares, double* rows) {
  Machine machine;
  const auto add = [&](const char* name, double ns) {
    machine.kernels[name] =
        KernelTable::Make({{"rows", {1, 1e6}}, {"dim", {1, 1024}}}, {ns, ns, ns * 1e6, ns * 1e6},
                          std::vector<double>(4, 0.0))
            .value();
  };
  add("placed_pull", kPlaced);
  add("placed_pull_new", kPlacedNew);
  add("cached_pull", kCached);
  add("cached_pull_new", kCachedNew);
  const Plan plan = MakeRowWisePlan(workload.tables.physical, 1);
  const StepTraffic traffic = TrafficOfStep(workload, plan);
  const CacheShares caches = CacheSharesOf(workload, plan, traffic, 1);
  KernelTimes times(machine);
  *shares = caches.tables[0];
  *rows = traffic.tables[0].distinct_rows;
  return FurtherGatherMs(workload, plan, traffic, caches, &times)[0];
}

TEST(GatherTime, OfRowsWithPlacesIsThatOfNewOnes) {
  RowShares shares;
  double rows = 0;
  const double ms = MsOf(WorkloadOf(kLarge, 100), &shares, &rows);
  EXPECT_GT(shares.touched_midway, 0);
  EXPECT_NEAR(ms, 1e-6 * rows * shares.touched_midway * (kPlacedNew - kPlaced), 1e-6);
}

TEST(GatherTime, OfASmallerCacheIsThatOfFindingRowsAndOfNewOnes) {
  RowShares shares;
  double rows = 0;
  const double ms = MsOf(WorkloadOf(kSmall, 100), &shares, &rows);
  EXPECT_NEAR(
      ms,
      1e-6 * rows *
          (shares.cached * (kCached - kPlaced) + shares.touched_midway * (kCachedNew - kPlaced)),
      1e-6);
}

TEST(GatherTime, FallsAsRunsGetLonger) {
  RowShares shares;
  double rows = 0;
  EXPECT_LT(MsOf(WorkloadOf(kLarge, 10'000), &shares, &rows),
            0.5 * MsOf(WorkloadOf(kLarge, 100), &shares, &rows));
}

TEST(GatherTime, OfAMachineWithoutTheKernelsIsNothing) {
  const Workload workload = WorkloadOf(kSmall, 100);
  const Plan plan = MakeRowWisePlan(workload.tables.physical, 1);
  const StepTraffic traffic = TrafficOfStep(workload, plan);
  const Machine machine;
  KernelTimes times(machine);
  EXPECT_EQ(
      FurtherGatherMs(workload, plan, traffic, CacheSharesOf(workload, plan, traffic, 1), &times),
      std::vector<double>{0.0});
}

}  // namespace
}  // namespace rowhouse
