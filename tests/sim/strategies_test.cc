// The promise for every sharding strategy: the same losses, rows and dense parameters, bit for bit,
// as on one shard, for every table kind and pooling.
#include "ps/cache/cache_policy.h"
#include "sharding/plans/strategy.h"
#include "tests/sim/kind_variants.h"
#include "tests/testing/access_counts.h"
#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

constexpr uint32_t kStrategiesDim = 40;  // two cuts of 16 columns and one of 8

class Strategies : public testing::TestWithParam<std::string> {
 protected:
  // On `options` as they are, but sharded by the strategy.
  static SimOutcome TrainSharded(SimOptions options, const SimTask& task) {
    const AccessCounts accesses = CountsByRank(task.tables.physical);
    options.plan.strategy = GetParam();
    options.plan.accesses = &accesses;
    options.plan.options.hot_rows = 5;
    return TrainOnSim(options, task);
  }

  static void ExpectSame(const SimOutcome& outcome, const SimOutcome& expected) {
    EXPECT_EQ(outcome.losses, expected.losses);
    EXPECT_EQ(outcome.digest, expected.digest);
    EXPECT_EQ(outcome.rows, expected.rows);
    EXPECT_EQ(outcome.dense, expected.dense);
  }
};

TEST_P(Strategies, TrainEveryKindToTheBitsOfOneShard) {
  const std::vector<std::string> policies = CachePolicies().Names();
  uint64_t seed = 0;
  for (const KindVariant& variant : KindVariants()) {
    for (const std::string& pooling : variant.Poolings()) {
      for (const std::string optimizer : {"sgd", "adagrad", "adam"}) {
        const SimTask task = TaskOf(variant, [&](LogicalTable& table) {
          table.dim = kStrategiesDim;
          table.pooling = pooling;
          table.optimizer = optimizer;
        });
        const SimOutcome expected = TrainOnSim({.workers = 3}, task);
        EXPECT_GT(expected.rows, 0u);
        for (const uint32_t shards : {1u, 2u, 4u}) {
          SCOPED_TRACE(fmt::format("{} {} {} shards {}", variant.name, pooling, optimizer, shards));
          ++seed;
          ExpectSame(TrainSharded({.seed = seed,
                                   .shards = shards,
                                   .workers = 3,
                                   .cache_ratio = seed % 2 == 0 ? 1.0 : 0.05,
                                   .cache_ways = seed % 3 == 0 ? 16u : 2u,
                                   .cache_policy = policies[seed % policies.size()],
                                   .max_part_rows = seed % 3 == 0 ? 7u : 20000u},
                                  task),
                     expected);
        }
      }
    }
  }
}

// A row is rounded when it is looked up, wherever it lies, and a worker's gradient of it before
// those of workers are summed.
TEST_P(Strategies, TrainRowsInBf16ToTheBitsOfOneShard) {
  const std::pair<const char*, const char*> precisions[] = {
      {"bf16", "bf16"}, {"bf16", "f32"}, {"f32", "bf16"}};
  uint64_t seed = 0;
  for (const KindVariant& variant : KindVariants()) {
    for (const std::string& pooling : variant.Poolings()) {
      SimTask task = TaskOf(variant, [&](LogicalTable& table) {
        table.dim = kStrategiesDim;
        table.pooling = pooling;
        table.optimizer = "adagrad";
      });
      const SimOutcome f32 = TrainOnSim({.workers = 3}, task);
      for (const auto& [pull, push] : precisions) {
        SCOPED_TRACE(fmt::format("{} {} pull {} push {}", variant.name, pooling, pull, push));
        task.model.pull_precision = pull;
        task.model.push_precision = push;
        const SimOutcome expected = TrainOnSim({.workers = 3}, task);
        EXPECT_NE(expected.digest, f32.digest);
        for (size_t step = 0; step < f32.losses.size(); ++step) {
          EXPECT_NEAR(expected.losses[step], f32.losses[step], 0.01);
        }
        ++seed;
        ExpectSame(TrainSharded({.seed = seed,
                                 .shards = 1 + static_cast<uint32_t>(seed % 4),
                                 .workers = 3,
                                 .cache_ratio = seed % 2 == 0 ? 1.0 : 0.05,
                                 .cache_ways = 2,
                                 .max_part_rows = seed % 3 == 0 ? 7u : 20000u},
                                task),
                   expected);
      }
    }
  }
}

// What touches single columns or rows: halves with stochastic rounding, numpy's draws, counts.
TEST_P(Strategies, TrainTheTableOptionsToTheBitsOfOneShard) {
  using Customise = std::function<void(LogicalTable&)>;
  const std::vector<std::pair<std::string, Customise>> variants = {
      {"bf16", [](LogicalTable& table) { table.precision = "bf16"; }},
      {"f16", [](LogicalTable& table) { table.precision = "f16"; }},
      {"dlrm", [](LogicalTable& table) { table.initialiser = "dlrm"; }},
      {"momentum", [](LogicalTable& table) { table.optimizer = "momentum"; }},
      {"counts", [](LogicalTable& table) { table.scale_grad_by_freq = true; }},
      {"learned", [](LogicalTable& table) { table.weighted_pooling = "learned"; }},
      {"frozen", [](LogicalTable& table) { table.freeze = true; }},
  };
  for (const auto& [name, customise] : variants) {
    SimTask task = TaskOf({"plain", "plain", {}}, [&](LogicalTable& table) {
      table.dim = kStrategiesDim;
      customise(table);
    });
    for (const std::string rows : {"f32", "bf16"}) {
      SCOPED_TRACE(fmt::format("{}, rows travel as {}", name, rows));
      task.model.pull_precision = task.model.push_precision = rows;
      ExpectSame(TrainSharded({.seed = 3, .shards = 3, .workers = 2, .cache_ratio = 0.1}, task),
                 TrainOnSim({.workers = 2}, task));
    }
  }
}

TEST_P(Strategies, TrainFewerRowsThanShards) {
  SimTask task = TaskOf({"plain", "plain", {}}, [](LogicalTable& table) {
    table.dim = kStrategiesDim;
    table.rows = table.name == "a" ? 5 : 3;
  });
  task.data.shape.table_rows = {5, 3};
  ExpectSame(TrainSharded({.seed = 5, .shards = 11, .workers = 2}, task),
             TrainOnSim({.workers = 2}, task));
}

INSTANTIATE_TEST_SUITE_P(All, Strategies, testing::ValuesIn(ShardingStrategies().Names()),
                         [](const auto& test) { return test.param; });

TEST(Strategies, MayDifferFromTableToTable) {
  std::vector<std::string> names = {"column_wise", "row_wise_hashed"};
  const auto customise = [&](LogicalTable& table) {
    table.dim = kStrategiesDim;
    table.strategy = table.name == "a" ? names[0] : names[1];
  };
  const KindVariant qr{"qr", "qr", {}};
  const SimOutcome expected = TrainOnSim({}, TaskOf(qr, customise));
  for (const auto& pair : std::vector<std::vector<std::string>>{
           {"grid", "replicated"}, {"table_wise_lpt", "grid"}, {"fair", "column_wise"}}) {
    names = pair;
    const SimOutcome outcome = TrainOnSim({.shards = 3}, TaskOf(qr, customise));
    EXPECT_EQ(outcome.losses, expected.losses);
    EXPECT_EQ(outcome.digest, expected.digest);
  }
}

}  // namespace
}  // namespace rowhouse
