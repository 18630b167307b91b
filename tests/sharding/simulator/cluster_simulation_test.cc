// Simulated runs of work whose times are set by hand.
#include <gtest/gtest.h>

#include "sharding/lab/simulator/simulator.h"
#include "tests/sharding/simulator/step_work_by_hand.h"

namespace rowhouse {
namespace {

SimulatorOptions Exact(uint64_t steps = 20) { return {.steps = steps, .jitter = 0}; }

TEST(ClusterSimulation, AWorkerAloneTakesItsPhasesOneAfterTheOther) {
  const SimulatedRun run = SimulatedRunOf(WorkByHand(1, 1), Exact());
  // Its update takes longer than that of the PS node, so it never waits for a step to be applied.
  EXPECT_NEAR(run.median_step_ms, 19, 1e-9);
  EXPECT_NEAR(run.mean_step_ms, 19, 1e-9);
  EXPECT_NEAR(run.samples_per_second, 100 / 0.019, 1e-6);
  EXPECT_NEAR(run.phases.data, 1, 1e-9);
  EXPECT_NEAR(run.phases.merge, 1, 1e-9);
  EXPECT_NEAR(run.phases.pull, 3, 1e-9);
  EXPECT_NEAR(run.phases.mlp, 5, 1e-9);
  EXPECT_NEAR(run.phases.pool_backward, 2, 1e-9);
  EXPECT_NEAR(run.phases.push, 2, 1e-9);
  EXPECT_NEAR(run.phases.allreduce, 0, 1e-9);
  EXPECT_NEAR(run.phases.total(), 19, 1e-9);
  EXPECT_NEAR(run.ps[0].busy_share, 3.5 / 19, 1e-9);
}

TEST(ClusterSimulation, WorkersThatAreAlikeWaitForEachOtherAtThePsNode) {
  StepWork work = WorkByHand(3, 1);
  work.phases.allreduce = 4;
  const SimulatedRun run = SimulatedRunOf(work, Exact());
  // The last of three pulls waits for two others. So its push comes when the others are done.
  EXPECT_NEAR(run.median_step_ms, 19 + 2 * 2 + 4, 1e-9);
  EXPECT_NEAR(run.phases.allreduce, 4 + (4 + 2 + 0) / 3.0, 1e-9);
  EXPECT_NEAR(run.ps[0].mean_wait_ms, (0 + 2 + 4) / 6.0, 1e-9);
  EXPECT_EQ(run.ps[0].longest_queue, 3);
}

TEST(ClusterSimulation, WhatWorkersSendPsNodesReceive) {
  for (const uint32_t workers : {1u, 2u, 7u}) {
    StepWork work = WorkByHand(workers, 3);
    work.ps[1].push_bytes = 5000;
    work.ps[2].rows_pulled = 17;
    const SimulatedRun run = SimulatedRunOf(work, {.steps = 10, .jitter = 0.3});
    double of_ps = 0, of_workers = 0, rows_of_ps = 0, rows_of_workers = 0;
    for (const SimulatedRank& node : run.ps) of_ps += node.bytes, rows_of_ps += node.load;
    for (const SimulatedRank& w : run.workers) of_workers += w.bytes, rows_of_workers += w.load;
    EXPECT_NEAR(of_ps, workers * (2 * 1440.0 + 720 + 5000), 1e-6);
    EXPECT_NEAR(of_workers, of_ps, 1e-6);
    EXPECT_NEAR(run.wire_bytes, of_ps, 1e-6);
    EXPECT_NEAR(rows_of_ps, workers * 37.0, 1e-6);
    EXPECT_NEAR(rows_of_workers, rows_of_ps, 1e-6);
  }
}

TEST(ClusterSimulation, EqualSeedsGiveEqualRuns) {
  const StepWork work = WorkByHand(5, 3);
  SimulatorOptions options{.steps = 50, .seed = 3, .jitter = 0.2};
  const SimulatedRun one = SimulatedRunOf(work, options), two = SimulatedRunOf(work, options);
  options.seed = 4;
  const SimulatedRun other = SimulatedRunOf(work, options);
  EXPECT_EQ(one.mean_step_ms, two.mean_step_ms);
  EXPECT_EQ(one.p95_step_ms, two.p95_step_ms);
  EXPECT_EQ(one.ps[1].mean_wait_ms, two.ps[1].mean_wait_ms);
  EXPECT_NE(one.mean_step_ms, other.mean_step_ms);
}

TEST(ClusterSimulation, JitterMakesStepsLongerBecauseTheSlowestWorkerDecides) {
  StepWork work = WorkByHand(16, 1);
  work.ps[0] = {};
  const SimulatedRun run = SimulatedRunOf(work, {.steps = 400, .jitter = 0.1});
  // Each worker's own phases take 16 ms; the compute phase of 10 ms varies most.
  EXPECT_GT(run.mean_step_ms, 16 + 1);
  EXPECT_LT(run.mean_step_ms, 16 + 4);
  EXPECT_GT(run.p95_step_ms, run.median_step_ms);
}

TEST(ClusterSimulation, NoPsNodeIsBusyForLongerThanTheRun) {
  StepWork work = WorkByHand(8, 1);
  work.ps[0].apply_ms = 100;  // The last one ends long after the last step.
  for (const double store_ms : {0.0, 100.0}) {
    work.ps[0].store_ms = work.ps[0].merge_ms = store_ms;
    const SimulatedRun run = SimulatedRunOf(work, Exact(3));
    EXPECT_GT(run.ps[0].busy_share, 0.5);
    EXPECT_LE(run.ps[0].busy_share, 1);
  }
}

TEST(ClusterSimulation, ThreadsBeyondTheCoresOfTheirHostTakeTurns) {
  StepWork work = WorkByHand(4, 1);
  work.ps[0] = {};
  DealRanks(1, &work);
  work.cores = 8;
  EXPECT_NEAR(SimulatedRunOf(work, Exact()).median_step_ms, 16, 1e-9);
  work.cores = 2;
  EXPECT_NEAR(SimulatedRunOf(work, Exact()).median_step_ms, 32, 1e-9);
}

TEST(ClusterSimulation, EventsAreOfRanksAndPhasesNotOfMessages) {
  const SimulatedRun few = SimulatedRunOf(WorkByHand(64, 1), Exact(5));
  const SimulatedRun many = SimulatedRunOf(WorkByHand(64, 64), Exact(5));
  EXPECT_EQ(few.events, many.events);
  EXPECT_LE(many.events, 64u * 5 * 10);
}

}  // namespace
}  // namespace rowhouse
