// A run simulated on clusters of several sizes: which plan each point has, and how cores of a host
// are divided.
#include "launch/lab/scaling.h"

#include <gtest/gtest.h>

#include <cmath>

#include "launch/prediction/plan_of_run.h"
#include "launch/settings/yaml_config.h"
#include "sharding/lab/traffic/step_traffic.h"
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

TEST(SweepHosts, DividesCoresAmongWorkersSoThatAStepIsShortest) {
  LabRun run = RunOfScalingSweep("");
  run.cluster.cores_per_host = 8;
  const ScalingOptions options{
      .hosts = {1, 4}, .networks_gbits = {25}, .simulator = {.steps = 5, .jitter = 0}};
  const std::vector<ScalingPoint> points = SweepHosts(run, options).value();
  ASSERT_EQ(points.size(), 2u);
  for (size_t i = 0; i < points.size(); ++i) {
    const ScalingPoint& point = points[i];
    SCOPED_TRACE(point.hosts);
    EXPECT_EQ(point.hosts, options.hosts[i]);
    EXPECT_EQ(point.run.ps.size(), point.hosts);
    EXPECT_EQ(point.workers * point.threads, 8 * point.hosts);
    for (uint32_t of_host = 1; of_host <= 8; of_host *= 2) {
      ClusterShape cluster = run.cluster;
      cluster.hosts = cluster.ps = point.hosts;
      cluster.workers = of_host * point.hosts;
      cluster.threads = 8 / of_host;
      cluster.network_gbits = 25;
      cluster.round_trip_us = options.round_trip_us;
      const Plan plan = PlanOf(run.settings, cluster.ps, 1, nullptr).value();
      Workload workload = run.workload;
      SetStep(point.samples, cluster.workers, &workload);
      const SimulatedRun other =
          Simulate(workload, plan, cluster, run.machine.machine, options.simulator).value();
      EXPECT_LE(point.run.mean_step_ms, other.mean_step_ms) << of_host;
      if (cluster.workers == point.workers) {
        EXPECT_EQ(point.run.mean_step_ms, other.mean_step_ms);
      }
    }
  }
  EXPECT_LT(points[1].run.mean_step_ms, points[0].run.mean_step_ms);
}

TEST(SweepHosts, HasNoMoreWorkersThanSamples) {
  LabRun run = RunOfScalingSweep("");
  run.cluster.cores_per_host = 8;
  run.workload.step.samples = 6;
  const std::vector<ScalingPoint> points =
      SweepHosts(run, {.hosts = {4, 16}, .networks_gbits = {25}, .simulator = {.steps = 2}})
          .value();
  ASSERT_EQ(points.size(), 1u);
  EXPECT_EQ(points[0].workers, 4u);
}

}  // namespace
}  // namespace rowhouse
