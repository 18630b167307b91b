#include "sharding/lab/cost/step_cost.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>

#include "sharding/lab/traffic/cache_shares.h"
#include "sharding/lab/traffic/step_traffic.h"
#include "sharding/plans/plan_maker.h"

namespace rowhouse {
namespace {

LogicalTable TableOf(const std::string& name, uint64_t rows, uint32_t dim) {
  LogicalTable table;
  table.name = name;
  table.rows = rows;
  table.dim = dim;
  return table;
}

Workload StepCostWorkloadOf(size_t tables, uint64_t rows, uint32_t dim, uint64_t samples,
                            uint32_t workers) {
  std::vector<LogicalTable> logical;
  for (size_t t = 0; t < tables; ++t) {
    logical.push_back(TableOf("t" + std::to_string(t), rows, dim));
  }
  Workload workload;
  workload.tables = EmbeddingTables::Make(logical).value();
  workload.step = {.samples = samples,
                   .workers = workers,
                   .bag_lengths = std::vector<double>(tables, 1.0),
                   .zipf_exponent = 1.05};
  workload.of_table.assign(tables, IdDistribution::Zipf(static_cast<double>(rows), 1.05));
  workload.lookups.assign(tables, 1.0);
  workload.dense = {.bottom = {13, 64, dim},
                    .top = {dim, 64, 1},
                    .interaction = "dot",
                    .vectors = static_cast<uint32_t>(tables) + 1,
                    .width = dim,
                    .optimizer = "sgd",
                    .parameters = 10'000};
  workload.storage.cache_bytes = uint64_t{1} << 40;
  workload.data_source = "synthetic";
  return workload;
}

Plan RowWise(const Workload& workload, uint32_t shards) {
  return MakeRowWisePlan(workload.tables.physical, shards);
}

ClusterShape Cluster(uint32_t ps, uint32_t workers) {
  ClusterShape cluster;
  cluster.ps = ps;
  cluster.workers = workers;
  return cluster;
}

TEST(StepCost, RowsAndBytesOfNodesAddUpToThoseOfWorkers) {
  const Workload workload = StepCostWorkloadOf(8, 100'000, 32, 2048, 2);
  const StepCost cost =
      PredictStep(workload, RowWise(workload, 3), Cluster(3, 2), Machine::Typical()).value();
  ASSERT_EQ(cost.ps.size(), 3u);
  double in = 0, rows = 0;
  for (const RankCost& node : cost.ps) {
    in += node.bytes_in;
    rows += node.rows_pulled;
  }
  EXPECT_NEAR(in, 2 * cost.workers[0].bytes_out, 1);
  EXPECT_NEAR(rows, 2 * cost.workers[0].rows_pulled, 1e-3);
  EXPECT_NEAR(rows, 2 * 8 * workload.of_table[0].DistinctRows(1024), 1e-3);
  EXPECT_NEAR(cost.ms, cost.phases.total(), 1e-9);
  EXPECT_EQ(cost.hit_rate, 1);
}

TEST(StepCost, RowsInBf16TakeHalfTheBytesAndLessTime) {
  Workload workload = StepCostWorkloadOf(8, 100'000, 128, 2048, 2);
  const auto predict = [&] {
    return PredictStep(workload, RowWise(workload, 3), Cluster(3, 2), Machine::Typical()).value();
  };
  const StepCost f32 = predict();
  workload.step.row_precision.pull = Precision::kBf16;
  const StepCost pulled = predict();
  EXPECT_LT(pulled.phases.pull, f32.phases.pull);
  EXPECT_EQ(pulled.phases.push, f32.phases.push);
  workload.step.row_precision.push = Precision::kBf16;
  const StepCost both = predict();
  EXPECT_LT(both.phases.push, f32.phases.push);
  const double values = 2 * 8 * workload.of_table[0].DistinctRows(1024) * 128;
  EXPECT_NEAR(f32.wire_bytes - pulled.wire_bytes, values * 2, 0.001 * values);
  EXPECT_NEAR(pulled.wire_bytes - both.wire_bytes, values * 2, 0.001 * values);
}

TEST(StepCost, LayersInBf16AreThoseOfTheirOwnKernels) {
  Workload workload = StepCostWorkloadOf(4, 1000, 64, 65536, 1);
  Machine machine = Machine::Typical();
  const auto predict = [&] {
    return PredictStep(workload, RowWise(workload, 1), Cluster(1, 1), machine);
  };
  const StepCost f32 = predict().value();
  workload.dense.is_bf16 = true;
  const StepCost bf16 = predict().value();
  EXPECT_LT(bf16.phases.mlp, f32.phases.mlp);
  const auto others = [](const StepCost& cost) {
    return cost.ms + cost.beside_pull_ms + cost.beside_push_ms - cost.phases.mlp;
  };
  EXPECT_NEAR(others(bf16), others(f32), 1e-9);
  machine.kernels.erase("fully_connected_bf16_backward");
  EXPECT_EQ(predict().status().code(), StatusCode::kUsage) << "not guessed";
}

TEST(StepCost, TheBottomMlpIsComputedBesideMessagesWhereACoreIsLeft) {
  Workload workload = StepCostWorkloadOf(4, 1'000'000, 64, 2048, 1);
  workload.dense.bottom = {64, 64};
  workload.dense.top = {64, 1};
  Machine machine = Machine::Typical();
  const auto cost_of = [&](uint32_t cores) {
    machine.cores = cores;
    return PredictStep(workload, RowWise(workload, 1), Cluster(1, 1), machine).value();
  };
  const StepCost roomy = cost_of(2), crowded = cost_of(1);
  EXPECT_GT(roomy.beside_pull_ms, 0);
  EXPECT_GT(roomy.beside_push_ms, roomy.beside_pull_ms) << "backward takes longer";
  EXPECT_LE(roomy.beside_pull_ms + roomy.beside_push_ms, roomy.phases.mlp);
  EXPECT_EQ(crowded.beside_pull_ms, 0);
  EXPECT_EQ(crowded.beside_push_ms, 0);
}

TEST(StepCost, MoreNodesTakeNoLongerToAnswer) {
  const Workload workload = StepCostWorkloadOf(4, 1'000'000, 64, 65536, 1);
  const Machine machine = Machine::Typical();
  const StepCost one = PredictStep(workload, RowWise(workload, 1), Cluster(1, 1), machine).value();
  const StepCost four = PredictStep(workload, RowWise(workload, 4), Cluster(4, 1), machine).value();
  EXPECT_LT(four.phases.pull + four.beside_pull_ms, one.phases.pull + one.beside_pull_ms);
  EXPECT_EQ(four.phases.compute(), one.phases.compute());
}

TEST(StepCost, NamesTheKernelsThatACalibrationLacks) {
  const Workload workload = StepCostWorkloadOf(2, 1000, 16, 128, 1);
  Machine machine = Machine::Typical();
  machine.kernels.erase("merge");
  const Result<StepCost> cost = PredictStep(workload, RowWise(workload, 1), Cluster(1, 1), machine);
  ASSERT_FALSE(cost.ok());
  EXPECT_EQ(cost.status().code(), StatusCode::kUsage);
  EXPECT_NE(cost.status().message().find("kernel merge"), std::string::npos);
}

TEST(StepCost, CachesThatAreTooSmallReadTheStore) {
  Workload workload = StepCostWorkloadOf(2, 1'000'000, 64, 4096, 1);
  workload.storage.cache_bytes = 20 << 20;
  const StepCost cost =
      PredictStep(workload, RowWise(workload, 1), Cluster(1, 1), Machine::Typical()).value();
  EXPECT_LT(cost.hit_rate, 0.9);
  EXPECT_GT(cost.hit_rate, 0.1);
}

TEST(CacheShares, ACacheHasAsManySlotsAsRecordsFitItsBytes) {
  Workload workload = StepCostWorkloadOf(2, 1'000'000, 64, 4096, 1);
  workload.storage.cache_bytes = 20 << 20;
  const Plan plan =
      RowWise(workload, 1).WithCacheShares(workload.tables.physical, {0.75, 0.25}).value();
  const CacheShares shares = CacheSharesOf(workload, plan, TrafficOfStep(workload, plan), 1);
  const double record = shares.record_bytes[0];
  EXPECT_EQ(shares.cached_rows[0], std::floor((15 << 20) / record));
  EXPECT_EQ(shares.cached_rows[1], std::floor((5 << 20) / record));
  EXPECT_EQ(shares.cached_bytes[1], shares.cached_rows[1] * record);
}

TEST(StepCost, CachesBeginAsThePlanSharesThem) {
  Workload workload = StepCostWorkloadOf(2, 1'000'000, 64, 4096, 1);
  workload.storage.cache_bytes = 20 << 20;
  const Plan plan = RowWise(workload, 2);
  const auto hits = [&](std::vector<std::optional<double>> shares) {
    const Plan shared = plan.WithCacheShares(workload.tables.physical, shares).value();
    const StepCost cost = PredictStep(workload, shared, Cluster(2, 1), Machine::Typical()).value();
    return std::pair(cost.tables[0].hit_rate, cost.tables[1].hit_rate);
  };
  const auto [equal, same] = hits({std::nullopt, std::nullopt});
  EXPECT_EQ(equal, same);
  EXPECT_EQ(hits({0.5, 0.5}), std::pair(equal, equal));
  const auto [more, less] = hits({0.9, 0.1});
  EXPECT_GT(more, equal + 0.02);
  EXPECT_LT(less, equal - 0.02);
}

TEST(StepCost, CachesThatHoldAllRowsNeverReadOrWriteTheStore) {
  Workload workload = StepCostWorkloadOf(3, 100'000, 64, 4096, 1);
  workload.steps = 50;
  workload.storage.prefetch_steps = 8;
  const Plan plan = RowWise(workload, 2);
  const auto predict = [&](const Workload& of) {
    return PredictStep(of, plan, Cluster(2, 1), Machine::Typical()).value();
  };
  Workload in_memory = workload;
  in_memory.storage.has_files = false;
  EXPECT_EQ(predict(workload).ms, predict(in_memory).ms);
  EXPECT_EQ(predict(workload).wire_bytes, predict(in_memory).wire_bytes);
  // The trace of a shorter run has more first accesses.
  Workload traced = workload;
  traced.lru_miss_ratio.assign(3, [](double) { return 0.8; });
  EXPECT_EQ(predict(traced).ms, predict(workload).ms);
  EXPECT_EQ(predict(traced).hit_rate, predict(workload).hit_rate);
}

// Every feature has bags of ten ids, which shards pool.
Plan PoolBagsOnShards(uint32_t shards, Workload* workload) {
  const size_t tables = workload->tables.physical.size();
  workload->step.bag_lengths.assign(tables, 10.0);
  workload->lookups.assign(tables, 10.0);
  std::vector<TablePlacement> placements;
  std::vector<Slice> slices;
  for (const TableSpec& table : workload->tables.physical) {
    slices.push_back(WholeTable(table, ShardId{Raw(table.id) % shards}));
    placements.push_back({.table = table.id, .pools_on_shards = true});
  }
  return Plan::Make(workload->tables.physical, shards, slices, placements).value();
}

TEST(StepCost, AWorkerWaitsForUpdatesOnlyWhereShardsHaveAllCores) {
  Workload workload = StepCostWorkloadOf(4, 1'000'000, 32, 2048, 1);
  const Plan plan = PoolBagsOnShards(2, &workload);
  Machine machine = Machine::Typical();
  machine.cores = 2;
  const StepCost crowded = PredictStep(workload, plan, Cluster(2, 1), machine).value();
  EXPECT_GT(crowded.ps[0].apply_ms, 0.1);
  EXPECT_NEAR(crowded.crowded_ms, std::max(crowded.ps[0].apply_ms, crowded.ps[1].apply_ms), 1e-9);
  machine.cores = 3;
  const StepCost roomy = PredictStep(workload, plan, Cluster(2, 1), machine).value();
  EXPECT_EQ(roomy.crowded_ms, 0);
  EXPECT_LT(roomy.phases.push, crowded.phases.push);
}

TEST(StepCost, GradientsOfBagsAreMovedAsRowsAre) {
  Workload workload = StepCostWorkloadOf(4, 1'000'000, 32, 2048, 1);
  const Plan plan = PoolBagsOnShards(1, &workload);
  const auto predict = [&](double factor) {
    Machine machine = Machine::Typical();
    machine.constants["in_step_push"] = {.value = factor, .unit = "times", .spread = 0};
    machine.constants["in_step_pull"] = {.value = factor, .unit = "times", .spread = 0};
    return PredictStep(workload, plan, Cluster(1, 1), machine).value().phases;
  };
  const StepPhases once = predict(1), twice = predict(2);
  EXPECT_GT(twice.push, 1.3 * once.push);
  EXPECT_EQ(twice.pull, once.pull) << "pooling is work";
}

TEST(StepCost, RowsTakeLongerBetweenHostsWhereTcpDoes) {
  const Workload workload = StepCostWorkloadOf(8, 100'000, 32, 2048, 1);
  const Plan plan = RowWise(workload, 1);
  const Machine unix_sockets = Machine::Typical();
  Machine tcp = unix_sockets;
  for (const std::string stem : {"pull", "push"}) {
    const KernelTable& measured = tcp.kernels.at(stem);
    std::vector<double> twice = measured.ns();
    for (double& ns : twice) ns *= 2;
    tcp.kernels[stem + "_tcp"] =
        KernelTable::Make(measured.axes(), std::move(twice), measured.spread()).value();
  }
  ClusterShape cluster = Cluster(1, 1);
  const auto pulls = [&](const Machine& machine) {
    return PredictStep(workload, plan, cluster, machine).value().phases.pull;
  };
  EXPECT_EQ(pulls(tcp), pulls(unix_sockets));  // one host
  cluster.hosts = 2;
  EXPECT_GT(pulls(tcp), 1.5 * pulls(unix_sockets));
}

TEST(StepCost, BagsWhoseRowsComeAgainArePooledSooner) {
  Workload workload = StepCostWorkloadOf(4, 1'000'000, 32, 2048, 1);
  const Plan plan = PoolBagsOnShards(1, &workload);
  const auto pull_ms = [&](double exponent) {
    workload.of_table.assign(4, IdDistribution::Zipf(1e6, exponent));
    return PredictStep(workload, plan, Cluster(1, 1), Machine::Typical()).value().phases.pull;
  };
  EXPECT_LT(pull_ms(1.2), 0.8 * pull_ms(0.0));
}

TEST(StepCost, AStoreThatReadsAheadKeepsItsNodeBusy) {
  Workload workload = StepCostWorkloadOf(2, 1'000'000, 64, 4096, 2);
  workload.storage.has_files = true;
  workload.storage.cache_bytes = 10 << 20;
  workload.storage.has_rows = true;
  workload.storage.prefetch_steps = 2;
  const StepCost cost =
      PredictStep(workload, RowWise(workload, 2), Cluster(2, 2), Machine::Typical()).value();
  const RankCost& node = cost.ps[0];
  EXPECT_GT(node.store_ms, 0.1);
  EXPECT_NEAR(node.busy_ms, node.pull_ms + node.push_ms + node.apply_ms + node.store_ms, 1e-9);
}

TEST(StepCost, NewRowsOfACacheThatIsSmallerThanItsSliceAreGatheredLonger) {
  Workload workload = StepCostWorkloadOf(1, 1'000'000, 16, 2048, 1);
  workload.steps = workload.steps_of_epoch = 100;
  const auto pull_ms = [&](uint64_t cache_bytes, bool is_measured) {
    Machine machine = Machine::Typical();
    for (const auto& [kernel, ns] : {std::pair{"placed_pull", 100.0}, {"cached_pull_new", 700.0}}) {
      if (!is_measured) continue;
      machine.kernels[kernel] =
          KernelTable::Make({{"rows", {1, 1e6}}, {"dim", {1, 1024}}}, {ns, ns, ns * 1e6, ns * 1e6},
                            std::vector<double>(4, 0.0))
              .value();
    }
    workload.storage.cache_bytes = cache_bytes;
    return PredictStep(workload, RowWise(workload, 1), Cluster(1, 1), machine).value().phases.pull;
  };
  EXPECT_GT(pull_ms(8 << 20, true), pull_ms(8 << 20, false));
  EXPECT_EQ(pull_ms(uint64_t{1} << 40, true), pull_ms(uint64_t{1} << 40, false))
      << "its rows have places of their own";
}

TEST(StepCost, RowsThatAreNearlyAllOnTheWorkersLeaveShardsNoLessThanNothing) {
  for (const uint64_t rows : {2u, 3u, 7u, 50u, 333u}) {
    const Workload workload = StepCostWorkloadOf(3, rows, 32, 4096, 2);
    std::vector<TablePlacement> placements;
    std::vector<Slice> slices;
    for (const TableSpec& table : workload.tables.physical) {
      slices.push_back(WholeTable(table, ShardId{0}));
      placements.push_back({.table = table.id, .order = {}, .worker_rows = {}});
      for (uint64_t row = 0; row < rows; ++row) placements.back().worker_rows.push_back(RowId{row});
    }
    const Plan plan = Plan::Make(workload.tables.physical, 1, slices, placements).value();
    const StepCost cost = PredictStep(workload, plan, Cluster(1, 2), Machine::Typical()).value();
    EXPECT_GE(cost.ps[0].accesses, 0) << rows;
    EXPECT_GE(cost.ps[0].rows_pulled, 0) << rows;
    EXPECT_GE(cost.phases.pull, 0) << rows;
  }
}

Plan OnWorkers(const Workload& workload) {
  std::vector<Slice> slices;
  for (const TableSpec& table : workload.tables.physical) {
    slices.push_back(WholeTable(table, kOnWorkers));
  }
  return Plan::Make(workload.tables.physical, 1, slices).value();
}

TEST(StepCost, AWorkerKeepsRecordsAndEveryCopyOfTheirGradients) {
  Workload workload = StepCostWorkloadOf(2, 50'000, 32, 1024, 1);
  workload.dense.parameters = 0;
  for (TableSpec& table : workload.tables.physical) table.optimizer = "adagrad";
  const StepCost cost =
      PredictStep(workload, OnWorkers(workload), Cluster(1, 1), Machine::Typical()).value();
  // Weights, state and a trailer of 16 bytes; 33 floats of gradients where they are summed, sent,
  // received and gathered. Two flags are summed as well.
  EXPECT_EQ(cost.workers[0].memory_bytes,
            2 * 50'000 * ((32 + 32) * 4 + 16 + 4 * 33 * 4) + 4 * 2 * 4);
  // Parameters and two moments, beside the copies of gradients.
  workload.dense.parameters = 1000;
  workload.dense.state_floats = 2;
  const double more = PredictStep(workload, OnWorkers(workload), Cluster(1, 1), Machine::Typical())
                          .value()
                          .workers[0]
                          .memory_bytes -
                      cost.workers[0].memory_bytes;
  EXPECT_EQ(more, 1000 * (1 + 2 + 4) * 4);
}

TEST(StepCost, ATableHasItsShareOfTheUpdateOfRowsOnTheWorkers) {
  Workload workload = StepCostWorkloadOf(2, 1000, 32, 1024, 2);
  workload.tables =
      EmbeddingTables::Make({TableOf("small", 1000, 32), TableOf("large", 400'000, 32)}).value();
  const StepCost cost =
      PredictStep(workload, OnWorkers(workload), Cluster(1, 2), Machine::Typical()).value();
  const double sums = cost.phases.allreduce + cost.phases.dense_update;
  EXPECT_GT(cost.tables[1].ms, 0.9 * sums);
  EXPECT_LT(cost.tables[0].ms, cost.tables[1].ms / 3);
  EXPECT_LT(cost.tables[0].ms + cost.tables[1].ms, cost.ms);
}

TEST(StepCost, WorkersThatShareCoresWaitForEachOther) {
  const Workload workload = StepCostWorkloadOf(3, 10'000, 16, 2048, 2);
  Machine machine = Machine::Typical();
  const Plan plan = RowWise(workload, 1);
  machine.constants["in_step_jitter"] = {.value = 0.1};
  EXPECT_EQ(PredictStep(workload, plan, Cluster(1, 2), machine).value().wait_ms, 0);
  machine.cores = 2;
  EXPECT_GT(PredictStep(workload, plan, Cluster(1, 2), machine).value().wait_ms, 0);
}

}  // namespace
}  // namespace rowhouse
