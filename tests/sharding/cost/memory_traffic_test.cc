// Bytes of rows in lines, worked by hand.
#include "sharding/lab/cost/memory_traffic.h"

#include "sharding/plans/plan_maker.h"
#include "sharding/plans/strategy.h"
#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

// One table of 1,000 rows, two ids a sample; every step has all of its rows.
Workload OneTable(const std::string& optimizer, uint32_t dim) {
  LogicalTable table;
  table.name = "a";
  table.rows = 1000;
  table.dim = dim;
  table.optimizer = optimizer;
  Workload workload{.tables = EmbeddingTables::Make({table}).value()};
  workload.step = {.samples = 100'000, .workers = 1, .bag_lengths = {2}};
  workload.of_table = {IdDistribution::Uniform(1000)};
  workload.lookups = {2};
  return workload;
}

Plan OnOneShard(const Workload& workload) { return MakeRowWisePlan(workload.tables.physical, 1); }

Plan With(const Workload& workload, const TablePlacement& placement) {
  const auto& tables = workload.tables.physical;
  return Plan::Make(tables, 1, {WholeTable(tables[0], ShardId{0})}, {placement}).value();
}

TEST(MemoryTrafficTest, RowsAreWholeLines) {
  // 20 floats are 80 bytes: 2 lines; with 16 bytes of trailer, 96 bytes, still 2.
  const Workload workload = OneTable("sgd", 20);
  const MemoryTraffic traffic = MemoryTrafficOf(workload, OnOneShard(workload), {});
  EXPECT_NEAR(traffic.pull, 1000 * 128, 1);
  EXPECT_NEAR(traffic.update, 1000 * 2 * 128, 1);
  // Forward: the rows, and for each bag a line of ids and two of sums. Backward: gradients of rows,
  // read and written.
  EXPECT_NEAR(traffic.pool, 1000 * 128 + 100'000 * (64 + 128) + 1000 * 2 * 128, 1);
}

TEST(MemoryTrafficTest, OptimizerStateIsReadAndWrittenToo) {
  const Workload workload = OneTable("adagrad", 20);
  // 80 + 80 + 16 bytes are 3 lines.
  EXPECT_NEAR(MemoryTrafficOf(workload, OnOneShard(workload), {}).update, 1000 * 2 * 192, 1);
}

TEST(MemoryTrafficTest, NarrowerWeightsMoveFewerLines) {
  Workload workload = OneTable("sgd", 32);
  const double wide = MemoryTrafficOf(workload, OnOneShard(workload), {}).pull;
  workload.tables.physical[0].precision = "bf16";
  EXPECT_NEAR(MemoryTrafficOf(workload, OnOneShard(workload), {}).pull, wide / 2, 1);
}

TEST(MemoryTrafficTest, ShardsPoolRowsAsTheyAreStored) {
  Workload workload = OneTable("sgd", 32);
  const Plan plan = With(workload, {.table = TableId{0}, .pools_on_shards = true});
  const double wide = MemoryTrafficOf(workload, plan, {}).pool;
  workload.tables.physical[0].precision = "bf16";
  // One line a row less, forward; gradients are f32.
  EXPECT_NEAR(MemoryTrafficOf(workload, plan, {}).pool, wide - 1000 * 64, 1);
}

TEST(MemoryTrafficTest, SingleRowsOnTheWorkersAreUpdatedAndPooledThere) {
  Workload workload = OneTable("adagrad", 20);
  workload.step.workers = 2;
  std::vector<RowId> rows;
  for (uint64_t row = 0; row < 100; ++row) rows.push_back(RowId{row});
  const Plan plan = With(workload, {.table = TableId{0}, .worker_rows = rows});
  const MemoryTraffic all = MemoryTrafficOf(workload, OnOneShard(workload), {});
  const MemoryTraffic traffic = MemoryTrafficOf(workload, plan, {});
  EXPECT_NEAR(traffic.pull, 2 * 900 * 128, 1);
  // 80 bytes of weights and 80 of state, of each worker.
  EXPECT_NEAR(traffic.update, 900 * 2 * 192 + 2 * 100 * 2 * (128 + 128), 1);
  EXPECT_NEAR(traffic.pool, all.pool, 1);
}

TEST(MemoryTrafficTest, GradientsOfAllRowsOnTheWorkersAreSummedInEveryStep) {
  // 10 samples look up 20 of 1,000 rows at most.
  Workload workload = OneTable("adagrad", 20);
  workload.step = {.samples = 10, .workers = 2, .bag_lengths = {2}};
  const auto& tables = workload.tables.physical;
  const Plan plan = Plan::Make(tables, 1, {WholeTable(tables[0], kOnWorkers)}).value();
  const MemoryTraffic traffic = MemoryTrafficOf(workload, plan, {});
  EXPECT_EQ(traffic.pull, 0);
  // Of each worker: 20 floats and the number of lookups, written as zeros, then copied 4 times.
  EXPECT_NEAR(traffic.sum, 2 * 1000 * 21 * 4 * (1 + 4 * 2), 1);
  EXPECT_LT(traffic.update, 2 * 20 * 2 * (128 + 128) + 1);
  EXPECT_EQ(MemoryTrafficOf(workload, OnOneShard(workload), {}).sum, 0);
}

TEST(MemoryTrafficTest, TheBusiestHostHasMostOfIt) {
  const MemoryTraffic traffic = {.of_shard = {5, 5, 1, 1}, .of_worker = 8};
  ClusterShape cluster{.ps = 2, .shards_per_ps = 2, .workers = 3, .hosts = 1};
  EXPECT_EQ(BytesOfBusiestHost(traffic, cluster), 12 + 3 * 8);
  cluster.hosts = 2;  // PS node 0 and workers 0 and 2; PS node 1 and worker 1
  EXPECT_EQ(BytesOfBusiestHost(traffic, cluster), 10 + 2 * 8);
  cluster.hosts = 100;
  EXPECT_EQ(BytesOfBusiestHost(traffic, cluster), 10);
}

TEST(MemoryTrafficTest, WhatRanksMoveIsAllOfIt) {
  Workload workload = OneTable("adagrad", 20);
  workload.step.workers = 2;
  for (const bool pools_on_shards : {false, true}) {
    const MemoryTraffic traffic = MemoryTrafficOf(
        workload, With(workload, {.table = TableId{0}, .pools_on_shards = pools_on_shards}), {});
    EXPECT_NEAR(traffic.of_shard[0] + 2 * traffic.of_worker, traffic.total(), 1);
    EXPECT_EQ(traffic.of_worker > 0, !pools_on_shards);
  }
}

TEST(MemoryTrafficTest, ConstantsOfTheMachineCount) {
  Machine machine;
  machine.constants["dram_gbs"] = {.value = 11, .unit = "GB/s"};
  machine.llc_bytes = 1 << 20;
  const CpuMemory memory = CpuMemoryOf(machine), as_built_in = CpuMemoryOf(Machine());
  EXPECT_EQ(memory.dram_gbs, 11);
  EXPECT_EQ(memory.llc_bytes, 1 << 20);
  EXPECT_EQ(as_built_in.dram_gbs, CpuMemory{}.dram_gbs);
}

}  // namespace
}  // namespace rowhouse
