#include "sharding/planner/next_best.h"

#include "sharding/planner/planner.h"
#include "tests/sharding/planner/made_workload.h"
#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

using testing::HasSubstr;

TEST(NextBest, SaysWhatTheStepWouldTake) {
  const NextBest next = {.how = "whole on a shard", .ms = 6.6};
  EXPECT_EQ(NextBestText(next, 6.0),
            "the next best, whole on a shard, takes 6.60 ms a step, 10.0 % longer");
  EXPECT_EQ(NextBestText(next, 6.6),
            "the next best, whole on a shard, takes 6.60 ms a step, as long");
  // A plan that was made more even may be a little slower.
  EXPECT_EQ(NextBestText(next, 6.63),
            "the next best, whole on a shard, takes 6.60 ms a step, 0.5 % less");
  EXPECT_EQ(
      NextBestText({.how = "on the workers", .ms = 6.6, .leaves_out_shares = true}, 6.6),
      "the next best, on the workers, takes 6.60 ms a step, as long, both with caches divided "
      "equally");
}

// The fastest step with the table in one of `places`; caches are divided equally.
double LeastMs(const Workload& workload, const ClusterShape& cluster, const PlannedRun& planned,
               TableId table, const std::vector<TableParts>& places) {
  double least = std::numeric_limits<double>::infinity();
  for (const TableParts& place : places) {
    PlanParts parts(planned.plan);
    parts.tables()[Raw(table)] = place;
    for (TableParts& one : parts.tables()) one.placement.cache_share.reset();
    const Plan plan = parts.ToPlan(workload.tables, cluster.ps).value();
    least = std::min(least, PredictStep(workload, plan, cluster, Machine::Typical()).value().ms);
  }
  return least;
}

TEST(NextBest, OfTablesThatCachesDoNotHoldIsComparedWithoutCacheShares) {
  // Long bags, which only the options keep shards from pooling: nothing but the step says why.
  Workload workload = MadeWorkload({{.rows = 1'000'000, .dim = 64, .bag = 50, .zipf = 1.05},
                                    {.rows = 1'000'000, .dim = 64, .bag = 50}},
                                   2048);
  workload.storage = {.store = "rocksdb", .cache_bytes = uint64_t{16} << 20};
  const ClusterShape cluster = MadeCluster(2);
  const PlannedRun planned = PlanFor(workload, cluster, Machine::Typical(),
                                     {.may_pool_on_shards = false, .may_replicate = false})
                                 .value();
  for (const TableSpec& table : workload.tables.physical) {
    ASSERT_TRUE(planned.plan.cache_share(table.id).has_value());
    const std::map<std::string, std::vector<TableParts>> places = {
        {"whole on a shard", {PartsWhole(table, ShardId{0}), PartsWhole(table, ShardId{1})}},
        {"divided by rows", {PartsByRows(table, 2)}},
        {"divided by columns", {PartsByColumns(table, 2, Raw(table.id))}}};
    const std::string& why = planned.tables[Raw(table.id)].why;
    const size_t begin = why.find("the next best, ");
    ASSERT_NE(begin, std::string::npos) << why;
    const std::string how = why.substr(begin + 15, why.find(", takes", begin) - begin - 15);
    ASSERT_TRUE(places.contains(how)) << why;
    const double ms = LeastMs(workload, cluster, planned, table.id, places.at(how));
    EXPECT_THAT(why, HasSubstr(fmt::format("takes {:.2f} ms a step, ", ms)));
    EXPECT_THAT(why, HasSubstr(", both with caches divided equally"));
  }
}

}  // namespace
}  // namespace rowhouse
