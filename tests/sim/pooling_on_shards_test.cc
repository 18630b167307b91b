// Bags pooled on the shards: the same losses, rows and dense parameters, bit for bit, as with rows
// pulled and pooled by the workers.
#include <array>
#include <set>

#include "sharding/plans/strategy.h"
#include "tests/sim/kind_variants.h"
#include "tests/testing/access_counts.h"
#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

using Customise = std::function<void(LogicalTable&)>;

constexpr uint32_t kDim = 40;  // two cuts of 16 columns and one of 8

class PoolingOnShards : public testing::TestWithParam<std::string> {
 protected:
  static SimOptions OnShards(uint64_t seed, uint32_t shards) {
    SimOptions options{.seed = seed,
                       .shards = shards,
                       .workers = 3,
                       // Compare() takes two seeds for each task: all runs have each cache in turn.
                       .cache_ratio = std::array{1.0, 0.5, 0.05}[seed / 2 % 3],
                       .cache_ways = 2,
                       .max_part_rows = seed % 3 == 0 ? 11u : 20000u};
    options.plan.strategy = GetParam();
    options.plan.pool_on = "shards";
    options.plan.options.hot_rows = 5;
    return options;
  }

  static void ExpectSame(const SimOutcome& outcome, const SimOutcome& expected) {
    EXPECT_EQ(outcome.losses, expected.losses);
    EXPECT_EQ(outcome.digest, expected.digest);
    EXPECT_EQ(outcome.rows, expected.rows);
    EXPECT_EQ(outcome.dense, expected.dense);
  }

  static SimTask Task(const KindVariant& variant, const Customise& customise) {
    return TaskOf(variant, [&](LogicalTable& table) {
      table.dim = kDim;
      table.optimizer = "adagrad";
      customise(table);
    });
  }

  // Trains the task both ways and returns true. Where pooling on shards is not possible, expects
  // that the plan refuses it and returns false.
  bool Compare(const SimTask& task, const std::string& name) {
    SCOPED_TRACE(name);
    bool is_trained = false;
    for (const uint32_t shards : {1u, 3u}) {
      SimOptions options = OnShards(++seed_, shards);
      const AccessCounts accesses = CountsByRank(task.tables.physical);
      options.plan.accesses = &accesses;
      PlanOptions plan = options.plan;
      plan.shards = shards;
      const Status status = MakePlan(task.tables, plan).status();
      if (!status.ok()) {
        EXPECT_THAT(status.message(),
                    testing::HasSubstr(IsOnWorkers() ? "all tables have their rows on the workers"
                                                     : "cannot be pooled on the shards"));
        continue;
      }
      ExpectSame(TrainOnSim(options, task), TrainOnSim({.workers = 3}, task));
      is_trained = true;
    }
    return is_trained;
  }

  // Then there is nothing to pool on the shards.
  static bool IsOnWorkers() { return GetParam() == "replicated"; }

  uint64_t seed_ = 0;
};

TEST_P(PoolingOnShards, TrainsEveryKindToTheBitsOfWorkersThatPool) {
  std::set<std::string> trained;
  for (const KindVariant& variant : KindVariants()) {
    for (const std::string& pooling : variant.Poolings()) {
      for (const std::string sum : {"bag_order", "exact"}) {
        SimTask task = Task(variant, [&](LogicalTable& table) {
          table.pooling = pooling;
          table.pooling_sum = sum;
        });
        for (const std::string rows : {"f32", "bf16"}) {
          task.model.pull_precision = task.model.push_precision = rows;
          const std::string name = fmt::format("{} {} {} {}", variant.name, pooling, sum, rows);
          if (Compare(task, name)) trained.insert(variant.kind);
        }
      }
    }
  }
  if (IsOnWorkers()) {
    EXPECT_THAT(trained, testing::IsEmpty());
    return;
  }
  EXPECT_THAT(trained,
              testing::IsSupersetOf({"block", "grouped", "hashed", "mixed", "plain", "qr"}));
}

TEST_P(PoolingOnShards, TrainsTheTableOptionsToo) {
  const std::vector<std::pair<std::string, Customise>> variants = {
      {"bf16", [](LogicalTable& table) { table.precision = "bf16"; }},
      {"padding", [](LogicalTable& table) { table.padding_id = 3; }},
      {"frozen", [](LogicalTable& table) { table.freeze = table.name == "a"; }},
      {"adam", [](LogicalTable& table) { table.optimizer = "adam"; }},
  };
  for (const auto& [name, customise] : variants) {
    const SimTask task = Task({"plain", "plain", {}}, [&](LogicalTable& table) {
      table.pooling_sum = "exact";
      customise(table);
    });
    EXPECT_EQ(Compare(task, name), !IsOnWorkers());
  }
}

TEST_P(PoolingOnShards, TakesTheWeightsOfSamples) {
  SimTask task =
      Task({"plain", "plain", {}}, [](LogicalTable& table) { table.pooling_sum = "exact"; });
  task.source = "synthetic";
  task.data.flags["synthetic_bag_length"] = "5";
  task.data.flags["synthetic_bag_fixed"] = "false";
  task.data.flags["synthetic_weights"] = "true";
  EXPECT_EQ(Compare(task, "weights"), !IsOnWorkers());
}

INSTANTIATE_TEST_SUITE_P(All, PoolingOnShards, testing::ValuesIn(ShardingStrategies().Names()),
                         [](const auto& test) { return test.param; });

// Workers sum the gradients of a piece of their samples after those of the one before, feature by
// feature, and shards feature by feature over all of them: which differs for a table of several
// lookups alone. A run refuses these (launch/prediction/plan_of_run.cc).
TEST(PoolingOnShards, SumsAccumulatedGradientsInTheSameOrderButForSharedTables) {
  std::set<std::string> same, different;
  for (const KindVariant& variant : KindVariants()) {
    for (const std::string& pooling : variant.Poolings()) {
      SimTask task = TaskOf(variant, [&](LogicalTable& table) {
        table.optimizer = "adagrad";
        table.pooling = pooling;
        table.pooling_sum = "exact";
      });
      const PlanOptions plan{.shards = 2, .strategy = "row_wise", .pool_on = "shards"};
      if (!MakePlan(task.tables, plan).ok()) continue;
      SimOptions options{.shards = 2, .workers = 2, .accumulation = 3};
      const SimOutcome expected = TrainOnSim(options, task);
      options.plan = plan;
      const std::string name = variant.name + " " + pooling;
      std::vector<int> lookups(task.tables.physical.size());
      for (const FeatureTable& feature : task.tables.features) {
        for (const TableId part : feature.parts) ++lookups[Raw(part)];
        if (variant.name == "grouped") std::ranges::fill(lookups, 1);  // rows beside each other
      }
      const bool is_shared = std::ranges::max(lookups) > 1;
      const bool is_same = TrainOnSim(options, task).digest == expected.digest;
      EXPECT_TRUE(is_same || is_shared) << name;
      if (is_shared) (is_same ? same : different).insert(name);
    }
  }
  EXPECT_FALSE(different.empty()) << "what is refused for";
  EXPECT_THAT(same, testing::IsEmpty()) << "refused for nothing";
}

// What the run asks for is for tables that are on the shards.
TEST(PoolingOnShards, LeavesTablesOnTheWorkersToThem) {
  for (const std::string strategy : {"table_wise_lpt", "skew_aware"}) {
    const SimTask task = TaskOf({"plain", "plain", {}}, [](LogicalTable& table) {
      table.dim = kDim;
      table.pooling_sum = "exact";
      if (table.name == "a") table.strategy = "replicated";
    });
    const AccessCounts accesses = CountsByRank(task.tables.physical);
    const PlanOptions options{
        .shards = 3, .strategy = strategy, .pool_on = "shards", .accesses = &accesses};
    const Plan plan = MakePlan(task.tables, options).value();
    EXPECT_FALSE(plan.pools_on_shards(TableId{0}));
    EXPECT_TRUE(plan.pools_on_shards(TableId{1}));
    EXPECT_TRUE(plan.worker_rows(TableId{1}).empty()) << "hot rows stay where bags are pooled";
    SimOptions on_shards{.seed = 3, .shards = 3, .workers = 2};
    on_shards.plan = options;
    const SimOutcome outcome = TrainOnSim(on_shards, task),
                     expected = TrainOnSim({.workers = 2}, task);
    EXPECT_EQ(outcome.losses, expected.losses);
    EXPECT_EQ(outcome.digest, expected.digest);
    EXPECT_EQ(outcome.dense, expected.dense);
  }
}

// ---- What is refused ----------------------------------------------------------------------------

std::string Refusal(const KindVariant& variant, const std::string& strategy,
                    const Customise& customise) {
  const SimTask task = TaskOf(variant, customise);
  return MakePlan(task.tables, {.shards = 2, .strategy = strategy, .pool_on = "shards"})
      .status()
      .message();
}

TEST(PoolingOnShardsRefused, WhatWouldChangeBitsIsRefusedByName) {
  using testing::HasSubstr;
  const KindVariant plain{"plain", "plain", {}};
  const auto nothing = [](LogicalTable&) {};
  EXPECT_THAT(Refusal(plain, "row_wise", nothing),
              AllOf(HasSubstr("table \"a\": its bags cannot be pooled on the shards"),
                    HasSubstr("pooling_sum: exact"), HasSubstr("pool_on: workers")));
  EXPECT_EQ(Refusal(plain, "row_wise", [](LogicalTable& t) { t.pooling_sum = "exact"; }), "");
  EXPECT_EQ(Refusal(plain, "row_wise", [](LogicalTable& t) { t.pooling = "max"; }), "");
  EXPECT_EQ(Refusal(plain, "table_wise_lpt", nothing), "");
  EXPECT_EQ(Refusal(plain, "row_wise", [](LogicalTable& t) { t.pool_on = "workers"; }), "");
  EXPECT_THAT(Refusal({"qr", "qr", {}}, "table_wise_lpt", nothing),
              HasSubstr("combined before pooling"));
  EXPECT_THAT(Refusal({"grouped_qr", "grouped", {{"method", "qr"}}}, "table_wise_lpt", nothing),
              HasSubstr("combined before pooling"));
  EXPECT_EQ(Refusal({"grouped", "grouped", {}}, "table_wise_lpt", nothing), "");
  EXPECT_EQ(Refusal({"qr", "qr", {{"pool_first", "true"}}}, "table_wise_lpt", nothing), "");
  EXPECT_THAT(Refusal(plain, "table_wise_lpt", [](LogicalTable& t) { t.max_norm = 1.0; }),
              HasSubstr("max_norm"));
  EXPECT_THAT(
      Refusal(plain, "table_wise_lpt", [](LogicalTable& t) { t.scale_grad_by_freq = true; }),
      HasSubstr("scale_grad_by_freq"));
  EXPECT_THAT(
      Refusal(plain, "table_wise_lpt", [](LogicalTable& t) { t.weighted_pooling = "learned"; }),
      HasSubstr("weights of its ids are learned"));
  EXPECT_THAT(Refusal(plain, "replicated", nothing),
              HasSubstr("all tables have their rows on the workers"));
  EXPECT_THAT(Refusal(plain, "replicated", [](LogicalTable& t) { t.pool_on = "shards"; }),
              HasSubstr("table \"a\" has rows on the workers"));
}

}  // namespace
}  // namespace rowhouse
