// Options of tables of every kind besides pooling and optimizer: learned weights, padding, ids out
// of range, freezing, norms, division by lookups; and gradient accumulation. Tested: the same bits
// on every plan, the same training on any number of workers, and which rows exist.
#include <algorithm>
#include <set>

#include "sharding/tables/table_sizes.h"
#include "tests/sim/kind_variants.h"
#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

// One option, as a change of both tables.
struct TableOption {
  std::string name;
  void (*set)(LogicalTable& table);
};

const TableOption kNone = {"none", [](LogicalTable&) {}};
const TableOption kFrozen = {"freeze", [](LogicalTable& table) { table.freeze = true; }};
const TableOption kOptions[] = {
    {"learned_weights", [](LogicalTable& table) { table.weighted_pooling = "learned"; }},
    {"padding_id", [](LogicalTable& table) { table.padding_id = 17; }},
    {"padding_id_of_a_mean",
     [](LogicalTable& table) {
       table.padding_id = 17;
       table.pooling = "mean";
     }},
    {"bad_ids_modulo",
     [](LogicalTable& table) {
       table.rows = table.rows / 2 + 1;
       table.bad_ids = "modulo";
     }},
    {"bad_ids_padding",
     [](LogicalTable& table) {
       table.rows = table.rows / 2 + 1;
       table.bad_ids = "padding";
     }},
    kFrozen,
    {"freeze_of_one_table", [](LogicalTable& table) { table.freeze = table.name == "b"; }},
    {"max_norm", [](LogicalTable& table) { table.max_norm = 0.1; }},
    {"scale_grad_by_freq", [](LogicalTable& table) { table.scale_grad_by_freq = true; }},
    {"rate_of_its_own", [](LogicalTable& table) { table.learning_rate_factor = 0.25; }},
};

// Tables that share rows cannot disagree on whether these train.
bool CanBe(const TableOption& option, const KindVariant& variant) {
  const bool shares = variant.options.contains("share") || variant.name.starts_with("grouped");
  return option.name != "freeze_of_one_table" || !shares;
}

SimTask KindOptionTaskOf(const KindVariant& variant, const TableOption& option) {
  return rowhouse::TaskOf(variant, [&option](LogicalTable& table) {
    table.optimizer = "adagrad";
    option.set(table);
  });
}

class KindOptionsOf : public testing::TestWithParam<KindVariant> {
 protected:
  static SimOutcome Train(const SimOptions& options, const TableOption& option) {
    return TrainOnSim(options, KindOptionTaskOf(GetParam(), option));
  }
};

TEST_P(KindOptionsOf, AreBitIdenticalOnEveryPlanAndCache) {
  uint64_t seed = 0;
  for (const TableOption& option : kOptions) {
    if (!CanBe(option, GetParam())) continue;
    for (const uint32_t workers : {1u, 3u}) {
      const SimOutcome expected = Train({.workers = workers}, option);
      EXPECT_NE(expected.losses, Train({.workers = workers}, kNone).losses) << option.name;
      for (const uint32_t shards : {1u, 2u, 4u}) {
        const SimOutcome outcome = Train({.seed = ++seed,
                                          .shards = shards,
                                          .workers = workers,
                                          .cache_ratio = shards == 2 ? 1.0 : 0.01,
                                          .max_part_rows = seed % 2 == 0 ? 7u : 20000u},
                                         option);
        SCOPED_TRACE(fmt::format("{} shards {} workers {}", option.name, shards, workers));
        EXPECT_EQ(outcome.losses, expected.losses);
        EXPECT_EQ(outcome.digest, expected.digest);
        EXPECT_EQ(outcome.rows, expected.rows);
        EXPECT_EQ(outcome.dense, expected.dense);
      }
    }
  }
}

TEST_P(KindOptionsOf, NumbersOfWorkersAndPiecesAgreeTo1e5) {
  for (const TableOption& option : kOptions) {
    if (!CanBe(option, GetParam())) continue;
    const SimOutcome one = Train({}, option);
    for (const uint32_t workers : {1u, 2u, 4u}) {
      for (const uint32_t pieces : {1u, 3u}) {
        const SimOutcome other =
            Train({.shards = 2, .workers = workers, .accumulation = pieces}, option);
        SCOPED_TRACE(fmt::format("{} workers {} pieces {}", option.name, workers, pieces));
        EXPECT_EQ(other.rows, one.rows);
        for (size_t step = 0; step < kVariantSteps; ++step) {
          EXPECT_NEAR(other.losses[step], one.losses[step], 1e-5) << "step " << step;
        }
      }
    }
  }
}

TEST_P(KindOptionsOf, PiecesAreBitIdenticalOnEveryPlan) {
  for (const std::string& pooling : GetParam().Poolings()) {
    const SimTask task =
        rowhouse::TaskOf(GetParam(), [&pooling](LogicalTable& table) { table.pooling = pooling; });
    const SimOutcome expected = TrainOnSim({.workers = 2, .accumulation = 3}, task);
    const SimOutcome outcome = TrainOnSim(
        {.seed = 3, .shards = 3, .workers = 2, .cache_ratio = 0.01, .accumulation = 3}, task);
    EXPECT_EQ(outcome.losses, expected.losses) << pooling;
    EXPECT_EQ(outcome.digest, expected.digest) << pooling;
  }
}

TEST_P(KindOptionsOf, FrozenTablesHaveNoRowsAndKeepTheirProjections) {
  const SimOutcome frozen = Train({.shards = 2, .workers = 3}, kFrozen);
  EXPECT_EQ(frozen.rows, 0u);
  EXPECT_EQ(frozen.digest, RowsDigest().hex());
  EXPECT_EQ(frozen.stats.rows_pushed, 0u);
  // The dense part trains, the projections, which are its last blocks, do not.
  const SimTask task = KindOptionTaskOf(GetParam(), kFrozen);
  SimCluster fresh({.model_seed = static_cast<uint32_t>(task.data.seed)}, ModelOf(task),
                   task.tables);
  const std::vector<float> first = fresh.DenseParameters(0);
  const size_t projected = SizesOf(task.tables).projections / sizeof(float);
  const auto of_projections = static_cast<std::ptrdiff_t>(first.size() - projected);
  EXPECT_TRUE(std::equal(first.begin() + of_projections, first.end(),
                         frozen.dense.begin() + of_projections));
  EXPECT_FALSE(std::equal(first.begin(), first.begin() + of_projections, frozen.dense.begin()));
}

TEST_P(KindOptionsOf, FixedWeightsAreNone) {
  const SimOutcome fixed =
      Train({.workers = 2}, {"fixed", [](LogicalTable& t) { t.weighted_pooling = "fixed"; }});
  const SimOutcome none = Train({.workers = 2}, kNone);
  EXPECT_EQ(fixed.losses, none.losses);
  EXPECT_EQ(fixed.digest, none.digest);
}

INSTANTIATE_TEST_SUITE_P(Variants, KindOptionsOf, testing::ValuesIn(KindVariants()),
                         [](const auto& test) { return test.param.name; });

// ---- Rows that exist, of plain tables -----------------------------------------------------------

const KindVariant kPlain = {"plain", "plain", {}};

// Ids that the run looks up in each table, as the data bring them.
std::vector<std::set<uint64_t>> IdsOfTheRun() {
  const DatasetOptions options = VariantData(kPlain);
  const std::unique_ptr<Dataset> data = Datasets().Make("random", options).value();
  Batch batch;
  CHECK(data->ReadTrain(0, 0, data->train_samples(), &batch).ok());
  std::vector<std::set<uint64_t>> ids;
  for (const Bags& bags : batch.features) ids.emplace_back(bags.ids.begin(), bags.ids.end());
  return ids;
}

SimOutcome TrainPlain(void (*set)(LogicalTable& table)) {
  return TrainOnSim({.shards = 3, .workers = 2, .cache_ratio = 0.01},
                    KindOptionTaskOf(kPlain, TableOption{"", set}));
}

TEST(KindOptions, RowsExistOnceTheyWereLookedUp) {
  const std::vector<std::set<uint64_t>> ids = IdsOfTheRun();
  EXPECT_EQ(TrainPlain(kNone.set).rows, ids[0].size() + ids[1].size());
  EXPECT_EQ(TrainPlain([](LogicalTable& t) { t.freeze = t.name == "b"; }).rows, ids[0].size());
  EXPECT_EQ(TrainPlain([](LogicalTable& t) { t.weighted_pooling = "learned"; }).rows,
            2 * (ids[0].size() + ids[1].size()));
}

TEST(KindOptions, ThePaddingRowNeverExists) {
  const std::vector<std::set<uint64_t>> ids = IdsOfTheRun();
  ASSERT_TRUE(ids[0].contains(17) && ids[1].contains(17));
  EXPECT_EQ(TrainPlain([](LogicalTable& t) { t.padding_id = 17; }).rows,
            ids[0].size() + ids[1].size() - 2);
}

TEST(KindOptions, IdsOutOfRangeAreTakenModuloOrAsPadding) {
  const std::vector<std::set<uint64_t>> ids = IdsOfTheRun();
  std::set<uint64_t> taken, small;
  for (const uint64_t id : ids[0]) {
    taken.insert(id % 61);
    if (id < 61) small.insert(id);
  }
  const uint64_t of_second = ids[1].size();
  EXPECT_EQ(TrainPlain([](LogicalTable& t) {
              if (t.name == "a") t.rows = 61;
              t.bad_ids = "modulo";
            }).rows,
            taken.size() + of_second);
  EXPECT_EQ(TrainPlain([](LogicalTable& t) {
              if (t.name == "a") t.rows = 61;
              t.bad_ids = "padding";
            }).rows,
            small.size() + of_second);
}

}  // namespace
}  // namespace rowhouse
