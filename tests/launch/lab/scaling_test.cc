// A run simulated on clusters of several sizes: which plan each point has.
#include "launch/lab/scaling.h"

#include <gtest/gtest.h>

#include <cmath>

#include "launch/settings/yaml_config.h"
#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

using testing::HasSubstr;

LabRun RunOfScalingSweep(const std::string& plan) {
  LabRun run;
  const Status read = ReadYamlText(
      "model: {arch_mlp_bot: 13-32, arch_mlp_top: 16-1, arch_sparse_feature_size: 32}\n"
      "tables: {defaults: {pooling_sum: exact}, rows: [1000, 50000, 90000]}\n"
      "data: {data_generation: synthetic, data_size: 100000, synthetic_bag_length: 20}\n"
      "training: {mini_batch_size: 4096}\n"
      "storage: {store: memory}\n",
      "test.yaml", &run.settings);
  CHECK(read.ok()) << read.message();
  run.settings.sharding.plan = plan;
  run.settings.Complete();
  run.workload = WorkloadOf(run.settings, /*workers=*/1, nullptr).value();
  run.cluster = ClusterOf(run.settings, /*ps=*/1, /*shards_per_ps=*/1, /*workers=*/1);
  run.machine.machine = Machine::Typical();
  return run;
}

Result<std::vector<ScalingPoint>> Sweep(const std::string& plan) {
  return SweepScaling(RunOfScalingSweep(plan), {.ps = {1, 4},
                                                .workers = {1, 8},
                                                .networks_gbits = {25},
                                                .samples_per_worker = 512,
                                                .simulator = {.steps = 5, .jitter = 0}});
}

TEST(SweepScaling, HasAPointForEachClusterWeakAndStrong) {
  const std::vector<ScalingPoint> points = Sweep("").value();
  ASSERT_EQ(points.size(), 8u);
  EXPECT_TRUE(points[0].is_weak);
  EXPECT_EQ(points[1].workers, 8u);
  EXPECT_EQ(points[1].samples, 8 * 512u);
  EXPECT_FALSE(points[4].is_weak);
  EXPECT_EQ(points[4].samples, 4096u);
  EXPECT_EQ(points[7].run.ps.size(), 4u);
  EXPECT_EQ(points[7].run.workers.size(), 8u);
}

TEST(SweepScaling, PlansEachPointForItsOwnCluster) {
  const std::vector<ScalingPoint> by_rows = Sweep("").value(), planned = Sweep("auto").value();
  ASSERT_EQ(planned.size(), by_rows.size());
  for (size_t i = 0; i < planned.size(); ++i) {
    SCOPED_TRACE(i);
    EXPECT_EQ(planned[i].run.ps.size(), by_rows[i].run.ps.size());
    EXPECT_LE(planned[i].predicted.ms, by_rows[i].predicted.ms * 1.01);
    EXPECT_TRUE(std::isfinite(planned[i].run.median_step_ms));
  }
}

TEST(SweepScaling, APlanOfOneNumberOfNodesIsRefused) {
  const Status status = Sweep("plan.json").status();
  EXPECT_EQ(status.exit_code(), 2);
  EXPECT_THAT(status.message(), HasSubstr("--plan=plan.json: a plan is of one number of PS nodes"));
}

TEST(SweepScaling, OtherStepsThanTheTracesTakeHitRatesFromItsIds) {
  LabRun run = RunOfScalingSweep("");
  run.settings.storage.store = "rocksdb";
  run.workload.storage.has_files = true;
  run.workload.storage.cache_bytes = 8 << 20;
  const ScalingOptions options{.ps = {1},
                               .workers = {2},
                               .networks_gbits = {25},
                               .samples_per_worker = 512,
                               .simulator = {.steps = 2, .jitter = 0}};
  const std::vector<ScalingPoint> of_law = SweepScaling(run, options).value();
  // A trace by which every row misses.
  run.workload.lru_miss_ratio.assign(3, [](double) { return 1.0; });
  const std::vector<ScalingPoint> traced = SweepScaling(run, options).value();
  EXPECT_EQ(traced[0].predicted.hit_rate, of_law[0].predicted.hit_rate);
  EXPECT_LT(traced[1].predicted.hit_rate, of_law[1].predicted.hit_rate);
}

}  // namespace
}  // namespace rowhouse
