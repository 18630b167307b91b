#include "sharding/lab/traffic/cache_shares.h"

#include "sharding/plans/plan_maker.h"
#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

// One table of Zipf ids, a twentieth of which the cache holds.
Workload SmallCache(uint32_t workers) {
  LogicalTable table;
  table.name = "t";
  table.rows = 100'000;
  table.dim = 16;
  Workload workload;
  workload.tables = EmbeddingTables::Make({table}).value();
  workload.step = {.samples = 2000, .workers = workers};
  workload.step.bag_lengths = {4};
  workload.lookups = {4};
  workload.of_table = {IdDistribution::Zipf(1e5, 1.05)};
  workload.storage = {.cache_bytes = 5000 * 80, .keeps = {.by_count = 0}};
  return workload;
}

double RowsReadInAStep(const Workload& workload) {
  const Plan plan = MakeRowWisePlan(workload.tables.physical, 1);
  const StepTraffic traffic = TrafficOfStep(workload, plan);
  const CacheShares shares = CacheSharesOf(workload, plan, traffic, 1);
  return shares.tables[0].stored * traffic.tables[0].distinct_rows * workload.step.workers;
}

TEST(CacheShares, ARowThatSeveralWorkersPullIsReadOnce) {
  const double of_one = RowsReadInAStep(SmallCache(1));
  EXPECT_GT(of_one, 500);
  for (const uint32_t workers : {2u, 8u}) {
    // The rows of workers before it in the step leave a worker less of the cache.
    const double in_turns = RowsReadInAStep(SmallCache(workers));
    EXPECT_GT(in_turns, of_one);
    EXPECT_LT(in_turns, 1.3 * of_one);
  }
}

}  // namespace
}  // namespace rowhouse
