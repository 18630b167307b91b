// The promise, on the in-process cluster: the same losses and the same rows digest, bit for bit,
// whatever the number of shards, the cache, the size of parts and the order of deliveries.
#include <gtest/gtest.h>

#include <cmath>

#include "ps/cache/cache_policy.h"
#include "sharding/plans/access_counts.h"
#include "tests/testing/sim_training.h"
#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

constexpr int kSteps = 6;

// Multi-hot bags with repeated rows, one table smaller than the number of shards.
DatasetOptions DataOptions() { return SimData(5, {300, 40, 3, 1000}, 727, kSteps, 6); }

ModelSpec Model() { return SimModel({5, 16, 8}, {16, 1}); }

std::vector<LogicalTable> LogicalTables(const std::string& optimizer,
                                        const std::string& initialiser) {
  std::vector<LogicalTable> tables;
  uint64_t draw = 0;
  for (uint64_t rows : DataOptions().shape.table_rows) {
    LogicalTable table;
    table.name = "t" + std::to_string(tables.size());
    table.rows = rows;
    table.dim = 8;
    table.optimizer = optimizer;
    table.initialiser = initialiser;
    table.initialiser_options = {.seed = 727, .first_draw = draw};
    draw += rows * table.dim;
    tables.push_back(table);
  }
  return tables;
}

EmbeddingTables Tables(const std::string& optimizer, const std::string& initialiser) {
  return EmbeddingTables::Make(LogicalTables(optimizer, initialiser)).value();
}

SimOutcome TrainExactly(const SimOptions& options, const EmbeddingTables& tables) {
  return TrainOnSim(options, {.model = Model(), .tables = tables, .data = DataOptions()});
}

SimOutcome TrainExactly(SimOptions options, const std::string& optimizer,
                        const std::string& initialiser) {
  options.dense_optimizer = optimizer;
  return TrainExactly(options, Tables(optimizer, initialiser));
}

void ExpectTheSameModel(const SimOutcome& outcome, const SimOutcome& expected) {
  EXPECT_EQ(outcome.losses, expected.losses);
  EXPECT_EQ(outcome.digest, expected.digest);
  EXPECT_EQ(outcome.dense, expected.dense);
  EXPECT_EQ(outcome.stats.rows_updated, expected.stats.rows_updated);
}

class Exactness : public testing::TestWithParam<std::string> {};

TEST_P(Exactness, LossesAndRowsAreTheSameForEveryPlanCacheAndOrder) {
  for (const std::string initialiser : {"counter", "dlrm"}) {
    for (uint32_t workers : {1u, 3u}) {
      const SimOutcome expected = TrainExactly({.workers = workers}, GetParam(), initialiser);
      uint64_t seed = 0;
      for (uint32_t shards : {1u, 2u, 3u, 12u}) {
        for (double cache_ratio : {1.0, 0.01, 0.2}) {
          const SimOptions options{.seed = ++seed,
                                   .shards = shards,
                                   .workers = workers,
                                   .cache_ratio = cache_ratio,
                                   .cache_ways = seed % 2 == 0 ? 16u : 2u,
                                   .max_part_rows = seed % 3 == 0 ? 7u : 20000u};
          const SimOutcome outcome = TrainExactly(options, GetParam(), initialiser);
          SCOPED_TRACE(fmt::format("workers {} shards {} cache {} seed {}", workers, shards,
                                   cache_ratio, seed));
          ExpectTheSameModel(outcome, expected);
        }
      }
    }
  }
}

TEST_P(Exactness, NumbersOfWorkersAgreeTo1e5) {
  const SimOutcome one = TrainExactly({.workers = 1}, GetParam(), "counter");
  for (uint32_t workers : {2u, 3u, 4u}) {
    const SimOutcome many = TrainExactly({.shards = 2, .workers = workers}, GetParam(), "counter");
    for (int step = 0; step < kSteps; ++step) {
      EXPECT_NEAR(many.losses[step], one.losses[step], 1e-5) << "step " << step;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Optimizers, Exactness, testing::ValuesIn(Optimizers().Names()),
                         [](const auto& test) { return test.param; });

TEST(Exactness, TablesMayHaveOptimizersRatesAndOptionsOfTheirOwn) {
  std::vector<LogicalTable> tables = LogicalTables("adam", "counter");
  tables[0].optimizer_options = {.epsilon = 1e-3f, .weight_decay = 0.01f, .beta1 = 0.8f};
  tables[1].optimizer = "ftrl";
  tables[1].optimizer_options = {.l1 = 0.01f, .l2 = 0.1f};
  tables[2].optimizer = "momentum";
  tables[2].learning_rate_factor = 0.3;
  tables[3].optimizer = "rowwise_adagrad";
  tables[3].optimizer_options = {.learning_rate_decay = 0.1f, .weight_decay = 0.01f};
  const auto train = [&](uint32_t shards, double cache_ratio) {
    return TrainExactly(
        {.shards = shards, .workers = 3, .cache_ratio = cache_ratio, .dense_optimizer = "adamw"},
        EmbeddingTables::Make(tables).value());
  };
  const SimOutcome expected = train(1, 1.0);
  for (uint32_t shards : {1u, 2u, 3u}) {
    for (double cache_ratio : {0.01, 1.0}) {
      const SimOutcome outcome = train(shards, cache_ratio);
      EXPECT_EQ(outcome.losses, expected.losses) << shards << " shards, cache " << cache_ratio;
      EXPECT_EQ(outcome.digest, expected.digest) << shards << " shards, cache " << cache_ratio;
    }
  }
  tables[2].learning_rate_factor = 1.0;
  EXPECT_NE(train(1, 1.0).digest, expected.digest);
}

SimOutcome TrainOnPlan(const SimTask& task, double lookup_l2, uint64_t seed, uint32_t shards,
                       uint32_t workers, double cache_ratio) {
  return TrainOnSim({.seed = seed,
                     .shards = shards,
                     .workers = workers,
                     .cache_ratio = cache_ratio,
                     .dense_optimizer = "adagrad",
                     .lookup_l2 = lookup_l2},
                    task);
}

// On any plan and in any caches the same model for a number of workers, and for any number nearly
// the losses of one, which is returned.
SimOutcome ExpectTheSameOnAnyPlan(const SimTask& task, double lookup_l2, double tolerance) {
  SimOutcome one = TrainOnPlan(task, lookup_l2, 1, 1, 1, 1.0);
  for (const uint32_t workers : {1u, 3u}) {
    const SimOutcome expected = TrainOnPlan(task, lookup_l2, 1, 1, workers, 1.0);
    ExpectTheSameModel(TrainOnPlan(task, lookup_l2, 2, 3, workers, 0.01), expected);
    ExpectTheSameModel(TrainOnPlan(task, lookup_l2, 3, 12, workers, 0.2), expected);
    for (int step = 0; step < kSteps; ++step) {
      EXPECT_NEAR(expected.losses[step], one.losses[step], tolerance) << "step " << step;
    }
  }
  return one;
}

// Units are dropped by sample, and rows decay by lookup, wherever either is computed.
TEST(Exactness, RegularisedRunsTrainTheSameModel) {
  SimTask task = {.model = Model(), .tables = Tables("adagrad", "counter"), .data = DataOptions()};
  task.model.bottom_mlp = {5, 16, 12, 8};
  task.model.dropout_bot = 0.25;
  task.model.dropout_top = 0.5;
  task.model.loss_own = {{"label_smoothing", "0.1"}};
  const SimOutcome one = ExpectTheSameOnAnyPlan(task, /*lookup_l2=*/0.5, 1e-5);
  const auto differs_without = [&](const auto& change) {
    const SimTask before = task;
    change();
    EXPECT_NE(TrainOnPlan(task, 0.5, 1, 1, 1, 1.0).digest, one.digest);
    task = before;
  };
  differs_without([&] { task.model.dropout_bot = 0.0; });
  differs_without([&] { task.model.dropout_top = 0.0; });
  differs_without([&] { task.model.loss_own.clear(); });
}

// Statistics are those of a step's samples, wherever its rows are and whoever has the samples.
TEST(Exactness, NormalisedRunsTrainTheSameModel) {
  SimTask task = {.model = Model(), .tables = Tables("adagrad", "counter"), .data = DataOptions()};
  task.model.bottom_mlp = {5, 16, 12, 8};
  task.model.batch_norm = true;
  const SimOutcome one = ExpectTheSameOnAnyPlan(task, /*lookup_l2=*/0.0, 2e-4);
  task.model.batch_norm = false;
  EXPECT_NE(TrainOnPlan(task, 0.0, 1, 1, 1, 1.0).digest, one.digest);
}

// A policy decides which rows are in memory and nothing else, also where caches begin with the rows
// that are hot by a file of access counts.
TEST(Exactness, EveryCachePolicyTrainsTheSameModel) {
  const EmbeddingTables tables = Tables("adagrad", "counter");
  auto counts = std::make_shared<AccessCounts>();
  for (const TableSpec& table : tables.physical) {
    AccessCounter counter(table.name, table.rows);
    for (uint64_t i = 0; i < 500; ++i) counter.Add(i * i % table.rows);
    counts->tables.push_back(counter.Finish());
  }
  const SimOutcome expected = TrainExactly({.workers = 2, .dense_optimizer = "adagrad"}, tables);
  uint32_t seed = 0;
  for (const std::string& policy : CachePolicies().Names()) {
    for (const double cache_ratio : {0.01, 0.05, 0.3}) {
      for (const uint32_t ways : {1u, 2u, 16u}) {
        for (const bool is_warm : {false, true}) {
          const SimOutcome outcome =
              TrainExactly({.seed = ++seed,
                            .shards = 1 + seed % 3,
                            .workers = 2,
                            .cache_ratio = cache_ratio,
                            .cache_ways = ways,
                            .cache_policy = policy,
                            .cache_access_counts = is_warm ? counts : nullptr,
                            .dense_optimizer = "adagrad"},
                           tables);
          SCOPED_TRACE(fmt::format("{} cache {} ways {} warm {} seed {}", policy, cache_ratio, ways,
                                   is_warm, seed));
          ExpectTheSameModel(outcome, expected);
          EXPECT_GT(outcome.stats.rows_evicted, 0u);
        }
      }
    }
  }
}

TEST(Exactness, AWarmCacheHasItsFirstHitsBeforeItsFirstMisses) {
  const EmbeddingTables tables = Tables("sgd", "counter");
  auto counts = std::make_shared<AccessCounts>();
  for (const TableSpec& table : tables.physical) {
    AccessCounter counter(table.name, table.rows);
    for (uint64_t row = 0; row < table.rows; ++row) counter.Add(row, 1 + table.rows - row);
    counts->tables.push_back(counter.Finish());
  }
  const auto hits = [&](std::shared_ptr<const AccessCounts> access_counts) {
    return TrainExactly({.cache_ratio = 0.3, .cache_access_counts = std::move(access_counts)},
                        tables)
        .stats.pulled.from_memory;
  };
  EXPECT_GT(hits(counts), hits(nullptr));
}

// Settings of the storage tier without caches. Over some seeds every setting meets every other.
SimOptions TierOptions(uint64_t seed, uint32_t workers) {
  return {.seed = seed,
          .shards = static_cast<uint32_t>(1 + seed % 3),
          .workers = workers,
          .max_part_rows = seed % 3 == 0 ? 7u : 20000u,
          .max_unwritten_bytes = seed % 5 == 0 ? 1000u : 1u << 20,
          .max_dirty_steps = seed % 3,
          .logs_pushes = seed % 2 == 1,
          .faults = {.max_full_ms = seed % 4 == 3 ? 2000 : 0},
          .prefetch_steps = static_cast<uint32_t>(seed % 5)};
}

// The storage tier prefetches, sweeps and logs rows, and its stores run full, in any order of
// deliveries. That changes when rows move, and no number.
TEST(Exactness, PrefetchesSweepsLogsAndFullDisksChangeNoBit) {
  for (const std::string optimizer : {"sgd", "adagrad"}) {
    for (const uint32_t workers : {1u, 3u}) {
      const SimOutcome expected = TrainExactly({.workers = workers}, optimizer, "counter");
      ShardCounters sum;
      for (uint64_t seed = 1; seed <= 24; ++seed) {
        SCOPED_TRACE(fmt::format("{} workers {} seed {}", optimizer, workers, seed));
        SimOptions options = TierOptions(seed, workers);
        options.cache_ratio = seed % 4 == 0 ? 1.0 : 0.01 * static_cast<double>(seed);
        options.cache_ways = seed % 2 == 0 ? 16 : 2;
        const SimOutcome outcome = TrainExactly(options, optimizer, "counter");
        ExpectTheSameModel(outcome, expected);
        sum.rows_prefetched += outcome.stats.rows_prefetched;
        sum.rows_swept += outcome.stats.rows_swept;
        sum.log_bytes += outcome.stats.log_bytes;
      }
      EXPECT_GT(sum.rows_prefetched, 0u);
      EXPECT_GT(sum.rows_swept, 0u);
      EXPECT_GT(sum.log_bytes, 0u);
    }
  }
}

// The same, and bytes of caches move between tables and shards.
TEST(Exactness, CachesThatChangeTheirSizesChangeNoBit) {
  for (const uint32_t workers : {1u, 3u}) {
    const SimOutcome expected = TrainExactly({.workers = workers}, "adagrad", "counter");
    uint64_t moved = 0, prefetched = 0, swept = 0, overflowed = 0;
    for (uint64_t seed = 1; seed <= 48; ++seed) {
      SCOPED_TRACE(fmt::format("workers {} seed {}", workers, seed));
      const uint64_t cache_bytes = 4000 * (1 + seed % 5);
      SimOptions options = TierOptions(seed, workers);
      options.cache_bytes = cache_bytes;
      options.cache_move_steps = 1 + seed % 2;
      options.cache_ratio = seed % 7 == 0 ? 0.5 : 1.0;
      options.cache_ways = seed % 4 == 0 ? 1 : seed % 2 == 0 ? 16 : 2;
      const SimOutcome outcome = TrainExactly(options, "adagrad", "counter");
      ExpectTheSameModel(outcome, expected);
      EXPECT_LE(outcome.stats.cache_bytes, cache_bytes);
      moved += outcome.stats.cache_bytes_moved;
      prefetched += outcome.stats.rows_prefetched;
      swept += outcome.stats.rows_swept;
      overflowed += outcome.stats.rows_overflowed;
    }
    EXPECT_GT(moved, 0u);
    EXPECT_GT(prefetched, 0u);
    EXPECT_GT(swept, 0u);
    EXPECT_GT(overflowed, 0u);
  }
}

// Nor does it matter which table the plan gives the caches to.
TEST(Exactness, CacheSharesOfThePlanChangeNoBit) {
  const SimOutcome expected = TrainExactly({.workers = 2}, "adagrad", "counter");
  uint64_t read = 0;
  for (uint64_t seed = 1; seed <= 8; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    SimOptions options = TierOptions(seed, /*workers=*/2);
    options.cache_bytes = 4000;
    options.cache_move_steps = seed % 3;
    options.cache_shares.assign(DataOptions().shape.table_rows.size(), 0.01);
    options.cache_shares[seed % options.cache_shares.size()] = 0.9;
    if (seed % 2 == 0) options.cache_shares.back() = std::nullopt;
    const SimOutcome outcome = TrainExactly(options, "adagrad", "counter");
    ExpectTheSameModel(outcome, expected);
    read += outcome.stats.rows_evicted;
  }
  EXPECT_GT(read, 0u);
}

TEST(Exactness, TheLossGoesDown) {
  const SimOutcome outcome = TrainExactly({.workers = 2}, "adagrad", "counter");
  EXPECT_TRUE(std::isfinite(outcome.losses.back()));
  EXPECT_NE(outcome.losses.front(), outcome.losses.back());
}

TEST(Exactness, ATinyCacheOverflowsEvictsAndWritesBack) {
  const SimOutcome outcome =
      TrainExactly({.shards = 2, .workers = 2, .cache_ratio = 0.02}, "adagrad", "counter");
  EXPECT_GT(outcome.stats.rows_overflowed, 0u);
  EXPECT_GT(outcome.stats.rows_evicted, 0u);
  EXPECT_GT(outcome.stats.rows_written, 0u);
}

TEST(Exactness, ABoundOnUnwrittenBytesDelaysButChangesNothing) {
  const SimOutcome free = TrainExactly({.workers = 2, .cache_ratio = 0.05}, "adagrad", "counter");
  const SimOutcome bound = TrainExactly(
      {.workers = 2, .cache_ratio = 0.05, .max_unwritten_bytes = 200}, "adagrad", "counter");
  EXPECT_EQ(bound.digest, free.digest);
  EXPECT_EQ(bound.losses, free.losses);
}

}  // namespace
}  // namespace rowhouse
