// Rows of bf16 and f16 on the in-process cluster: the same bits for every plan, on shards and on
// workers; and they learn.
#include <gtest/gtest.h>

#include <cmath>

#include "ps/cache/cache_policy.h"
#include "tests/testing/sim_training.h"
#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

constexpr int kPrecisionSteps = 6;

DatasetOptions PrecisionDataOptions() {
  return SimData(4, {300, 40, 3, 200}, 77, kPrecisionSteps, 6);
}

ModelSpec PrecisionModel() { return SimModel({4, 7}, {8, 1}); }

struct Case {
  std::string precision;
  std::string optimizer;
};

// Table 1 is f32, table 2 frozen; an odd dim, so that records have a gap.
std::vector<LogicalTable> PrecisionTables(const Case& c) {
  std::vector<LogicalTable> tables;
  for (const uint64_t rows : PrecisionDataOptions().shape.table_rows) {
    LogicalTable table;
    table.name = "t" + std::to_string(tables.size());
    table.rows = rows;
    table.dim = 7;
    table.optimizer = c.optimizer;
    if (tables.size() != 1) table.precision = c.precision;
    table.freeze = tables.size() == 2;
    tables.push_back(table);
  }
  return tables;
}

SimOutcome TrainPrecision(const SimOptions& options, const std::vector<LogicalTable>& tables) {
  return TrainOnSim(options, {.model = PrecisionModel(),
                              .tables = EmbeddingTables::Make(tables).value(),
                              .data = PrecisionDataOptions()});
}

class SimPrecision : public testing::TestWithParam<Case> {};

TEST_P(SimPrecision, LossesAndRowsAreTheSameForEveryPlanCacheAndOrder) {
  const std::vector<std::string> policies = CachePolicies().Names();
  uint64_t seed = 0;
  for (const uint32_t workers : {1u, 3u}) {
    const SimOutcome expected = TrainPrecision({.workers = workers}, PrecisionTables(GetParam()));
    EXPECT_NE(expected.digest,
              TrainPrecision({.workers = workers}, PrecisionTables({"f32", GetParam().optimizer}))
                  .digest);
    for (const uint32_t shards : {1u, 2u, 3u}) {
      for (const double cache_ratio : {1.0, 0.2, 0.01}) {
        const SimOptions options{.seed = ++seed,
                                 .shards = shards,
                                 .workers = workers,
                                 .cache_ratio = cache_ratio,
                                 .cache_ways = seed % 2 == 0 ? 16u : 2u,
                                 .cache_policy = policies[seed % policies.size()],
                                 .max_part_rows = seed % 3 == 0 ? 7u : 20000u};
        const SimOutcome outcome = TrainPrecision(options, PrecisionTables(GetParam()));
        SCOPED_TRACE(fmt::format("workers {} shards {} cache {}", workers, shards, cache_ratio));
        EXPECT_EQ(outcome.losses, expected.losses);
        EXPECT_EQ(outcome.digest, expected.digest);
        if (cache_ratio < 1.0) {
          EXPECT_GT(outcome.stats.rows_written, 0u);
        }
      }
    }
  }
}

TEST_P(SimPrecision, RowsOnWorkersAreThoseOfShards) {
  std::vector<LogicalTable> tables = PrecisionTables(GetParam());
  const auto with_remainder = [&tables](const std::string& place) {
    for (LogicalTable& table : tables) {
      table.kind = "qr";
      table.kind_options = {{"collisions", "sqrt"}, {"remainder", place}};
    }
    return tables;
  };
  for (const uint32_t workers : {1u, 3u}) {
    const SimOutcome on_shards =
        TrainPrecision({.shards = 2, .workers = workers}, with_remainder("shards"));
    const SimOutcome on_workers =
        TrainPrecision({.seed = 9, .workers = workers}, with_remainder("workers"));
    EXPECT_EQ(on_workers.losses, on_shards.losses);
    EXPECT_EQ(on_workers.digest, on_shards.digest);
    EXPECT_LT(on_workers.stats.pulled.total(), on_shards.stats.pulled.total());
  }
}

// A step of bf16 is 2^-8 of a weight, so the losses of f32 rows are near.
TEST_P(SimPrecision, TheLossesAreNearThoseOfF32) {
  const SimOutcome outcome = TrainPrecision({}, PrecisionTables(GetParam()));
  const SimOutcome wide = TrainPrecision({}, PrecisionTables({"f32", GetParam().optimizer}));
  for (int step = 0; step < kPrecisionSteps; ++step) {
    EXPECT_NEAR(outcome.losses[step], wide.losses[step], 2e-2) << "step " << step;
  }
}

INSTANTIATE_TEST_SUITE_P(Precisions, SimPrecision,
                         testing::Values(Case{"bf16", "sgd"}, Case{"bf16", "adagrad"},
                                         Case{"bf16", "lazy_adam"}, Case{"f16", "sgd"},
                                         Case{"f16", "adagrad"}, Case{"f16", "lazy_adam"}),
                         [](const auto& test) {
                           return test.param.precision + "_" + test.param.optimizer;
                         });

TEST(SimRounding, FollowsTheSeedOfTheTable) {
  std::vector<LogicalTable> tables = PrecisionTables({"bf16", "sgd"});
  for (LogicalTable& table : tables) {
    table.initialiser = "constant";
    table.initialiser_options.value = 0.1;
  }
  const std::string digest = TrainPrecision({}, tables).digest;
  EXPECT_EQ(TrainPrecision({}, tables).digest, digest);
  tables[0].initialiser_options.seed += 1;  // First values do not use it, rounding does.
  EXPECT_NE(TrainPrecision({}, tables).digest, digest);
}

}  // namespace
}  // namespace rowhouse
