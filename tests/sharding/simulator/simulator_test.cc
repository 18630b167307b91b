#include "sharding/lab/simulator/simulator.h"

#include <cmath>

#include "sharding/lab/simulator/step_work.h"
#include "sharding/plans/plan_maker.h"
#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

using testing::HasSubstr;

constexpr size_t kTables = 8;

Workload WorkloadFor(uint64_t samples) {
  std::vector<LogicalTable> logical;
  for (size_t t = 0; t < kTables; ++t) {
    LogicalTable table;
    table.name = "t" + std::to_string(t);
    table.rows = 100'000;
    table.dim = 32;
    logical.push_back(table);
  }
  Workload workload;
  workload.tables = EmbeddingTables::Make(logical).value();
  workload.step = {.samples = samples,
                   .workers = 1,
                   .bag_lengths = std::vector<double>(kTables, 1.0),
                   .zipf_exponent = 1.05};
  workload.of_table.assign(kTables, IdDistribution::Zipf(100'000, 1.05));
  workload.lookups.assign(kTables, 1.0);
  workload.dense = {.bottom = {13, 64, 32},
                    .top = {68, 64, 1},
                    .interaction = "dot",
                    .vectors = kTables + 1,
                    .width = 32,
                    .optimizer = "sgd",
                    .parameters = 10'000};
  workload.storage = {.has_files = false, .cache_bytes = uint64_t{1} << 40};
  workload.data_source = "synthetic";
  return workload;
}

ClusterShape Cluster(uint32_t ps, uint32_t workers) {
  return {.ps = ps,
          .workers = workers,
          .hosts = ps + workers,
          .network_gbits = 25,
          .round_trip_us = 20};
}

Plan PlanFor(const Workload& workload, uint32_t ps) {
  return MakeRowWisePlan(workload.tables.physical, ps);
}

// Whole tables in turn, whose bags shards pool.
Plan PooledPlanFor(const Workload& workload, uint32_t ps) {
  std::vector<Slice> slices;
  std::vector<TablePlacement> placements;
  for (const TableSpec& table : workload.tables.physical) {
    slices.push_back(WholeTable(table, ShardId{Raw(table.id) % ps}));
    placements.push_back({.table = table.id, .pools_on_shards = true});
  }
  return Plan::Make(workload.tables.physical, ps, std::move(slices), std::move(placements)).value();
}

TEST(Simulate, OneWorkerWithoutJitterTakesWhatIsPredicted) {
  const Workload workload = WorkloadFor(2048);
  for (const uint32_t ps : {1u, 2u, 5u}) {
    const Plan plan = PlanFor(workload, ps);
    const StepCost predicted =
        PredictStep(workload, plan, Cluster(ps, 1), Machine::Typical()).value();
    const SimulatedRun run =
        Simulate(workload, plan, Cluster(ps, 1), Machine::Typical(), {.steps = 20, .jitter = 0})
            .value();
    EXPECT_NEAR(run.median_step_ms, predicted.ms, 0.02 * predicted.ms) << ps << " PS nodes";
    EXPECT_NEAR(run.phases.pull, predicted.phases.pull, 0.02 * predicted.ms);
    EXPECT_NEAR(run.phases.compute(), predicted.phases.compute(), 1e-9);
  }
}

TEST(Simulate, AStoreDelaysStepsAsLongAsItIsPredictedTo) {
  Workload workload = WorkloadFor(2048);
  workload.storage = {.cache_bytes = 4 << 20, .has_rows = true};
  const Plan plan = PlanFor(workload, 1);
  Machine machine = Machine::Typical();
  machine.constants["in_step_store_in_pulls"].value = 0.25;
  machine.constants["in_step_store_beside"].value = 1.5;  // as runs have it
  for (const uint32_t prefetch_steps : {0u, 2u}) {
    workload.storage.prefetch_steps = prefetch_steps;
    const StepWork work = StepWorkOf(workload, plan, Cluster(1, 1), machine).value();
    EXPECT_GT(work.ps[0].merge_ms, 1);
    EXPECT_EQ(work.ps[0].store_ms > 0, prefetch_steps > 0) << "pulls read what is not read ahead";
    for (const uint32_t workers : {1u, 2u}) {
      workload.step.workers = workers;
      const StepCost predicted = PredictStep(workload, plan, Cluster(1, workers), machine).value();
      if (prefetch_steps > 0) {
        ASSERT_GT(predicted.ps[0].ahead_ms, predicted.ms - predicted.phases.pull) << "too easy";
      }
      const SimulatedRun run =
          Simulate(workload, plan, Cluster(1, workers), machine, {.steps = 20, .jitter = 0})
              .value();
      EXPECT_NEAR(run.median_step_ms, predicted.ms, 0.1 * predicted.ms)
          << workers << " workers, " << prefetch_steps << " steps ahead";
      EXPECT_LT(run.ps[0].busy_share, 1);
    }
  }
}

TEST(Simulate, PoolingTakesCoresAsLongAsItIsPredictedTo) {
  Workload workload = WorkloadFor(2048);
  workload.step.bag_lengths.assign(kTables, 20.0);
  workload.lookups.assign(kTables, 20.0);
  const Plan plan = PooledPlanFor(workload, 2);
  ClusterShape cluster = Cluster(2, 2);
  cluster.hosts = 1;
  cluster.cores_per_host = 4;
  const SimulatedRun run =
      Simulate(workload, plan, cluster, Machine::Typical(), {.steps = 20, .jitter = 0}).value();
  workload.step.workers = 2;
  const StepCost predicted = PredictStep(workload, plan, cluster, Machine::Typical()).value();
  // But for pushes, which the prediction has wait for a part of the cores.
  EXPECT_NEAR(run.median_step_ms - run.phases.push, predicted.ms - predicted.phases.push,
              0.1 * predicted.ms);
  // Workers compute while shards pool for others: nothing is in their way.
  EXPECT_NEAR(run.phases.compute(), predicted.phases.compute(), 0.01 * predicted.ms);
}

TEST(Simulate, LoadAndBytesAreThePredictedOnes) {
  Workload workload = WorkloadFor(4096);
  const Plan plan = PlanFor(workload, 3);
  const SimulatedRun run =
      Simulate(workload, plan, Cluster(3, 4), Machine::Typical(), {.steps = 5}).value();
  workload.step.workers = 4;
  const StepCost predicted = PredictStep(workload, plan, Cluster(3, 4), Machine::Typical()).value();
  ASSERT_EQ(run.ps.size(), 3u);
  ASSERT_EQ(run.workers.size(), 4u);
  EXPECT_NEAR(run.wire_bytes, predicted.wire_bytes, 1e-6 * predicted.wire_bytes);
  for (size_t p = 0; p < 3; ++p) {
    EXPECT_NEAR(run.ps[p].load, predicted.ps[p].rows_pulled, 1e-6 * run.ps[p].load);
    EXPECT_NEAR(run.ps[p].bytes, predicted.ps[p].bytes_in + predicted.ps[p].bytes_out, 1);
  }
}

TEST(Simulate, WorkersAreLimitedByFewPsNodesAndNotByMany) {
  const Workload workload = WorkloadFor(2048 * 64);
  const auto ms = [&](uint32_t ps) {
    return Simulate(workload, PlanFor(workload, ps), Cluster(ps, 64), Machine::Typical(),
                    {.steps = 5})
        .value();
  };
  const SimulatedRun one = ms(1), many = ms(64);
  EXPECT_GT(one.median_step_ms, 4 * many.median_step_ms);
  EXPECT_GT(one.ps[0].busy_share, 0.8);
  EXPECT_LT(many.ps[0].busy_share, 0.8);
  EXPECT_GT(one.ps[0].longest_queue, 10);
}

TEST(Simulate, RefusesClustersAndOptionsThatCannotBe) {
  const Workload workload = WorkloadFor(64);
  const auto refused = [&](const ClusterShape& cluster, const SimulatorOptions& options) {
    const Status status =
        Simulate(workload, PlanFor(workload, 1), cluster, Machine::Typical(), options).status();
    EXPECT_EQ(status.code(), StatusCode::kUsage);
    return status.message();
  };
  EXPECT_THAT(refused(Cluster(1, 4096), {}), HasSubstr("at most 4096 ranks"));
  EXPECT_THAT(refused(Cluster(1, 1), {.steps = 0}), HasSubstr("0 steps"));
  EXPECT_THAT(refused(Cluster(1, 1), {.jitter = -1}), HasSubstr("jitter of -1"));
  EXPECT_THAT(refused(Cluster(1, 1), {.jitter = std::nan("")}), HasSubstr("jitter"));
}

}  // namespace
}  // namespace rowhouse
