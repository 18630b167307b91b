// What every sharding strategy promises, and how good each is at what it is for.
#include "sharding/plans/strategy.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "common/random.h"
#include "sharding/plans/plan_maker.h"
#include "tests/testing/access_counts.h"
#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

using testing::HasSubstr;

EmbeddingTables StrategyModel(const std::vector<uint64_t>& rows, uint32_t dim) {
  std::vector<LogicalTable> tables;
  for (const uint64_t n : rows) {
    LogicalTable table;
    table.name = "t" + std::to_string(tables.size());
    table.rows = n;
    table.dim = dim;
    tables.push_back(table);
  }
  return EmbeddingTables::Make(tables).value();
}

// ---- All of them --------------------------------------------------------------------------------

class StrategyContract : public testing::TestWithParam<std::string> {};

// The owner of each column of a row.
std::vector<ShardId> StrategyOwnersOf(const Plan& plan, const TableSpec& table, RowId row) {
  const std::vector<RowId>& on_workers = plan.worker_rows(table.id);
  std::vector<ShardId> owners(table.dim, kOnWorkers);
  if (std::ranges::binary_search(on_workers, row)) return owners;
  std::vector<int> times(table.dim);
  const uint64_t position = plan.order(table.id).PositionOf(row);
  for (const Slice& slice : plan.slices(table.id)) {
    if (position < slice.row_begin || position >= slice.row_end) continue;
    for (uint32_t c = slice.column_begin; c < slice.column_end; ++c) {
      owners[c] = slice.shard;
      ++times[c];
    }
  }
  for (const int n : times) CHECK_EQ(n, 1) << table.name << " row " << Raw(row);
  return owners;
}

// Plan::Make refuses what is no partition; here every row is looked up one by one, and what a shard
// holds of a slice is numbered without gaps.
TEST_P(StrategyContract, EveryWeightHasOneOwnerAndLocalPlacesAreDense) {
  rc::check([&] {
    const auto rows = *rc::gen::nonEmpty(
        rc::gen::container<std::vector<uint64_t>>(rc::gen::inRange<uint64_t>(1, 60)));
    const auto dim = *rc::gen::inRange<uint32_t>(1, 70);
    const auto shards = *rc::gen::inRange<uint32_t>(1, 9);
    const EmbeddingTables model = StrategyModel(rows, dim);
    const AccessCounts accesses = CountsByRank(model.physical);
    const Result<Plan> plan = MakePlan(
        model, {.shards = shards, .strategy = GetParam(), .capacities = {}, .accesses = &accesses});
    RC_ASSERT(plan.ok());
    for (const TableSpec& table : model.physical) {
      std::map<std::tuple<uint32_t, uint64_t, uint32_t>, std::set<uint64_t>> local;
      for (uint64_t row = 0; row < table.rows; ++row) {
        StrategyOwnersOf(plan.value(), table, RowId{row});
        const uint64_t position = plan.value().order(table.id).PositionOf(RowId{row});
        for (const Slice& slice : plan.value().slices(table.id)) {
          if (position < slice.row_begin || position >= slice.row_end) continue;
          local[{Raw(slice.shard), slice.row_begin, slice.column_begin}].insert(position -
                                                                                slice.row_begin);
        }
      }
      for (const Slice& slice : plan.value().slices(table.id)) {
        const auto& places = local[{Raw(slice.shard), slice.row_begin, slice.column_begin}];
        RC_ASSERT(places.size() == slice.rows());
        RC_ASSERT(*places.rbegin() == slice.rows() - 1);
      }
    }
  });
}

TEST_P(StrategyContract, APlanSurvivesJsonAndIsTheSameTwice) {
  const EmbeddingTables model = StrategyModel({100, 7, 3000}, 48);
  const AccessCounts accesses = CountsByRank(model.physical);
  PlanOptions options;
  options.shards = 3;
  options.strategy = GetParam();
  options.accesses = &accesses;
  const Plan plan = MakePlan(model, options).value();
  EXPECT_EQ(MakePlan(model, options).value().digest(), plan.digest());
  const Result<Plan> read = Plan::FromJson(plan.ToJson(), model.physical);
  ASSERT_OK(read);
  EXPECT_EQ(read.value().digest(), plan.digest());
}

INSTANTIATE_TEST_SUITE_P(All, StrategyContract, testing::ValuesIn(ShardingStrategies().Names()),
                         [](const auto& test) { return test.param; });

TEST(Strategy, TheKnownOnesAreThere) {
  EXPECT_THAT(
      ShardingStrategies().Names(),
      testing::IsSupersetOf({"column_wise", "dim_greedy", "fair", "grid", "lookup_greedy",
                             "replicated", "row_wise", "row_wise_hashed", "size_lookup_greedy",
                             "skew_aware", "table_wise_greedy", "table_wise_lpt",
                             "table_wise_round_robin", "table_wise_shuffle"}));
}

TEST(Strategy, ATableMayNameItsOwn) {
  EmbeddingTables model = StrategyModel({100, 100}, 32);
  model.strategies = {"replicated", ""};
  const Plan plan =
      MakePlan(model, {.shards = 2, .strategy = "column_wise", .capacities = {}}).value();
  EXPECT_TRUE(plan.is_on_workers(TableId{0}));
  EXPECT_EQ(plan.slices(TableId{1}).size(), 2u);
  model.strategies = {"rowwise", ""};
  const Status status = MakePlan(model, {.shards = 2, .capacities = {}}).status();
  EXPECT_EQ(status.code(), StatusCode::kUsage);
  EXPECT_THAT(status.message(), HasSubstr("table \"t0\": unknown sharding strategy \"rowwise\""));
}

// ---- Loads --------------------------------------------------------------------------------------

std::vector<uint64_t> BytesOfShards(const Plan& plan, const EmbeddingTables& model) {
  std::vector<uint64_t> bytes(plan.shards());
  for (const TableSpec& table : model.physical) {
    for (const Slice& slice : plan.slices(table.id)) {
      if (slice.shard == kOnWorkers) continue;
      bytes[Raw(slice.shard)] += slice.rows() * RecordBytes(table) * slice.columns() / table.dim;
    }
  }
  return bytes;
}

uint64_t LargestOf(const std::vector<uint64_t>& values) {
  return *std::ranges::max_element(values);
}

// The least possible largest load, by trying every assignment.
uint64_t Optimum(const std::vector<uint64_t>& sizes, uint32_t shards) {
  uint64_t assignments = 1, best = UINT64_MAX;
  for (size_t i = 0; i < sizes.size(); ++i) assignments *= shards;
  for (uint64_t a = 0; a < assignments; ++a) {
    std::vector<uint64_t> load(shards);
    uint64_t digits = a;
    for (const uint64_t size : sizes) {
      load[digits % shards] += size;
      digits /= shards;
    }
    best = std::min(best, LargestOf(load));
  }
  return best;
}

RC_GTEST_PROP(TableWiseLpt, IsWithinFourThirdsOfTheOptimum, ()) {
  const auto shards = *rc::gen::inRange<uint32_t>(1, 4);
  const auto rows = *rc::gen::resize(8, rc::gen::nonEmpty(rc::gen::container<std::vector<uint64_t>>(
                                            rc::gen::inRange<uint64_t>(1, 1000))));
  RC_PRE(rows.size() <= 9);
  const EmbeddingTables model = StrategyModel(rows, 4);
  std::vector<uint64_t> sizes;
  for (const TableSpec& table : model.physical) sizes.push_back(TableBytesOf(table));
  const Plan plan =
      MakePlan(model, {.shards = shards, .strategy = "table_wise_lpt", .capacities = {}}).value();
  RC_ASSERT(3 * LargestOf(BytesOfShards(plan, model)) <= 4 * Optimum(sizes, shards));
}

TEST(TableWiseLpt, FillsWhatOthersLeaveFree) {
  EmbeddingTables model = StrategyModel({1000, 10, 10}, 4);
  model.strategies = {"table_wise_round_robin", "table_wise_lpt", "table_wise_lpt"};
  const Plan plan = MakePlan(model, {.shards = 2, .capacities = {}}).value();
  EXPECT_EQ(plan.slices(TableId{0}).front().shard, ShardId{0});
  EXPECT_EQ(plan.slices(TableId{1}).front().shard, ShardId{1});
  EXPECT_EQ(plan.slices(TableId{2}).front().shard, ShardId{1});
}

// Rows and columns 1000 x 32, 100 x 32, 10000 x 16, 10 x 8; lookups of a sample 1, 1, 10, 100.
std::vector<uint32_t> OwnersBy(const std::string& strategy, std::vector<double> lookups,
                               const AccessCounts* accesses = nullptr) {
  std::vector<LogicalTable> tables(4);
  const std::vector<std::pair<uint64_t, uint32_t>> shapes = {
      {1000, 32}, {100, 32}, {10'000, 16}, {10, 8}};
  for (size_t t = 0; t < tables.size(); ++t) {
    tables[t].name = "t" + std::to_string(t);
    std::tie(tables[t].rows, tables[t].dim) = shapes[t];
  }
  const Plan plan = MakePlan(EmbeddingTables::Make(tables).value(), {.shards = 2,
                                                                     .strategy = strategy,
                                                                     .capacities = {},
                                                                     .accesses = accesses,
                                                                     .lookups = std::move(lookups)})
                        .value();
  std::vector<uint32_t> owners;
  for (uint32_t t = 0; t < tables.size(); ++t) {
    owners.push_back(Raw(plan.slices(TableId{t}).front().shard));
  }
  return owners;
}

TEST(GreedyBaselines, AreAsWorkedByHand) {
  using testing::ElementsAre;
  const std::vector<double> lookups = {1, 1, 10, 100};
  // Costs 32, 32, 16, 8: t0, the larger one, to 0, t1 to 1; both have 32, and 1 has fewer weights,
  // so t2 goes to 1; t3 to 0.
  EXPECT_THAT(OwnersBy("dim_greedy", lookups), ElementsAre(0, 1, 1, 0));
  // Costs 32, 32, 160, 800: t3 to 0, then t2, t0, t1 to 1, which has 224 at the end.
  EXPECT_THAT(OwnersBy("lookup_greedy", lookups), ElementsAre(1, 1, 1, 0));
  // Costs 32 x 3 = 96, 32 x 2 = 64, 160 x 4 = 640, 800 x 1: t3 to 0, t2 to 1 (640), t0 to 1 (736),
  // t1 to 1 (800).
  EXPECT_THAT(OwnersBy("size_lookup_greedy", lookups), ElementsAre(1, 1, 1, 0));
  // One lookup each: costs 32, 32, 16, 8; then 96, 64, 64, 8: t0 to 0; of t2 and t1 the larger, t2,
  // to 1 (64), t1 to 1 (128), t3 to 0 (104).
  EXPECT_THAT(OwnersBy("lookup_greedy", {}), ElementsAre(0, 1, 1, 0));
  EXPECT_THAT(OwnersBy("size_lookup_greedy", {}), ElementsAre(0, 1, 1, 0));
  // As counted: 30, 1, 1 and 0 lookups cost 960, 32, 16, 0.
  AccessCounts counts;
  const std::vector<uint64_t> counted = {30, 1, 1, 0}, rows = {1000, 100, 10'000, 10};
  for (size_t t = 0; t < counted.size(); ++t) {
    counts.tables.push_back({.name = "t" + std::to_string(t),
                             .rows = rows[t],
                             .range_rows = rows[t],
                             .ranges = {counted[t]},
                             .hottest = {}});
  }
  EXPECT_THAT(OwnersBy("lookup_greedy", lookups, &counts), ElementsAre(0, 1, 1, 1));
}

TEST(Strategy, CapacitiesAreKept) {
  const EmbeddingTables model = StrategyModel({900, 900, 900, 900, 900, 900, 900, 900}, 16);
  for (const std::string strategy : {"row_wise", "row_wise_hashed", "table_wise_lpt", "fair"}) {
    const Plan plan =
        MakePlan(model, {.shards = 2, .strategy = strategy, .capacities = {3, 1}}).value();
    const std::vector<uint64_t> bytes = BytesOfShards(plan, model);
    EXPECT_EQ(bytes[0], 3 * bytes[1]) << strategy;
  }
}

TEST(ColumnWise, CutsLieAtMultiplesOf16) {
  EXPECT_EQ(ColumnCuts(40, 4), (std::vector<uint32_t>{0, 16, 32, 40}));
  EXPECT_EQ(ColumnCuts(64, 3), (std::vector<uint32_t>{0, 32, 48, 64}));
  EXPECT_EQ(ColumnCuts(16, 3), (std::vector<uint32_t>{0, 16}));
  EXPECT_EQ(ColumnCuts(1, 1), (std::vector<uint32_t>{0, 1}));
}

// torch's tensor_split cuts at any column; here a column of the vectors stands for 16.
TEST(ColumnWise, UnitsAreCutAsTheVectorsSay) {
  const auto vectors = LoadVectors("parallel.json");
  for (const auto& want : vectors["column_split"]) {
    const auto world = want["world"].get<uint32_t>();
    const std::vector<uint32_t> cuts =
        ColumnCuts(want["dim"].get<uint32_t>() * kColumnsPerCut, world);
    ASSERT_EQ(cuts.size(), world + 1);
    for (uint32_t p = 0; p < world; ++p) {
      EXPECT_EQ(cuts[p], want["ranges"][p][0].get<uint32_t>() * kColumnsPerCut);
      EXPECT_EQ(cuts[p + 1], want["ranges"][p][1].get<uint32_t>() * kColumnsPerCut);
    }
  }
}

TEST(RowWise, RowsAreCutAsTheVectorsSay) {
  const auto vectors = LoadVectors("parallel.json");
  for (const auto& want : vectors["vocab_split"]) {
    const auto world = want["world"].get<uint32_t>();
    const EmbeddingTables model = StrategyModel({want["rows"].get<uint64_t>()}, 4);
    const Plan plan = MakePlan(model, {.shards = world, .capacities = {}}).value();
    for (uint32_t p = 0; p < world; ++p) {
      const Slice& slice = plan.slices(TableId{0})[p];
      EXPECT_EQ(slice.shard, ShardId{p});
      EXPECT_EQ(slice.row_begin, want["ranges"][p][0].get<uint64_t>());
      EXPECT_EQ(slice.row_end, want["ranges"][p][1].get<uint64_t>());
    }
  }
}

TEST(ColumnWise, ATableThatNeedsWholeRowsIsRefusedByName) {
  EmbeddingTables model = StrategyModel({100}, 32);
  model.physical[0].optimizer = "rowwise_adagrad";
  const Status status =
      MakePlan(model, {.shards = 2, .strategy = "column_wise", .capacities = {}}).status();
  EXPECT_EQ(status.code(), StatusCode::kUsage);
  EXPECT_THAT(status.message(), HasSubstr("table \"t0\": optimizer rowwise_adagrad"));
}

TEST(Strategy, MoreCutsThanATableCanHaveAreRefusedByName) {
  const EmbeddingTables model = StrategyModel({100, 7}, 40);
  const auto refusal = [&](const std::string& strategy, const StrategyOptions& options) {
    const Status status =
        MakePlan(model, {.shards = 2, .strategy = strategy, .options = options}).status();
    if (!status.ok()) {
      EXPECT_EQ(status.code(), StatusCode::kUsage);
    }
    return status.message();
  };
  for (const std::string strategy : {"column_wise", "grid"}) {
    EXPECT_THAT(
        refusal(strategy, {.column_cuts = 256}),
        testing::AllOf(HasSubstr("column_cuts=256: a row of \"t0\", the widest table, has 40 "
                                 "columns"),
                       HasSubstr("into 3 pieces at most")))
        << strategy;
    EXPECT_EQ(refusal(strategy, {.column_cuts = 3}), "");
  }
  EXPECT_THAT(refusal("grid", {.row_cuts = 101}),
              HasSubstr("row_cuts=101: \"t0\", the largest table, has 100 rows"));
  EXPECT_EQ(refusal("grid", {.row_cuts = 100}), "");
  EXPECT_THAT(refusal("table_wise_shuffle", {.seed = uint64_t{1} << 32}),
              HasSubstr("strategy_seed=4294967296"));
}

// ---- Skew ---------------------------------------------------------------------------------------

double WeightOfRank(uint64_t rank) { return std::pow(static_cast<double>(rank + 1), -1.05); }

// The largest share of lookups on one shard over the mean; lookups of rows on the workers, which no
// shard sees, are not counted.
double Imbalance(const Plan& plan, const TableSpec& table,
                 const std::vector<double>& weight_of_row) {
  std::vector<double> load(plan.shards());
  double total = 0.0;
  const std::vector<RowId>& on_workers = plan.worker_rows(table.id);
  for (const Slice& slice : plan.slices(table.id)) {
    for (uint64_t at = slice.row_begin; at < slice.row_end; ++at) {
      const RowId row = plan.order(table.id).RowAt(at);
      if (std::ranges::binary_search(on_workers, row)) continue;
      load[Raw(slice.shard)] += weight_of_row[Raw(row)];
      total += weight_of_row[Raw(row)];
    }
  }
  return *std::ranges::max_element(load) / (total / plan.shards());
}

TEST(SkewAware, BalancesZipf105Over16ShardsWhereRowWiseDoesNot) {
  constexpr uint64_t kRows = 1'000'000;
  constexpr uint32_t kShards = 16;
  const EmbeddingTables model = StrategyModel({kRows}, 16);
  const TableSpec& table = model.physical[0];
  std::vector<double> weights(kRows);
  for (uint64_t row = 0; row < kRows; ++row) weights[row] = WeightOfRank(row);

  // Counted from a million lookups, as plan --count_ids does.
  std::vector<double> below(kRows);
  double sum = 0.0;
  for (uint64_t row = 0; row < kRows; ++row) below[row] = sum += weights[row];
  AccessCounter counter(table.name, kRows);
  SplitMix64 random(5);
  for (int i = 0; i < 1'000'000; ++i) {
    const double at = static_cast<double>(random.Next() >> 11) * 0x1p-53 * sum;
    counter.Add(static_cast<uint64_t>(std::ranges::upper_bound(below, at) - below.begin()));
  }
  AccessCounts accesses;
  accesses.tables.push_back(counter.Finish());

  const auto imbalance = [&](const std::string& strategy) {
    const Plan plan =
        MakePlan(model,
                 {.shards = kShards, .strategy = strategy, .capacities = {}, .accesses = &accesses})
            .value();
    EXPECT_LE(plan.worker_rows(table.id).size(), 1024u);
    return Imbalance(plan, table, weights);
  };
  EXPECT_GT(imbalance("row_wise"), 2.0);
  EXPECT_LE(imbalance("skew_aware"), 1.05);
}

TEST(SkewAware, WithoutCountsIsRefusedInWords) {
  const EmbeddingTables model = StrategyModel({100}, 4);
  const auto refusal = [&](const AccessCounts* accesses) {
    return MakePlan(model,
                    {.shards = 2, .strategy = "skew_aware", .capacities = {}, .accesses = accesses})
        .status()
        .message();
  };
  EXPECT_THAT(refusal(nullptr), HasSubstr("needs access counts"));
  const AccessCounts of_nothing;
  EXPECT_THAT(refusal(&of_nothing), HasSubstr("nothing about table \"t0\""));
  const AccessCounts of_others = CountsByRank(StrategyModel({99}, 4).physical);
  EXPECT_THAT(refusal(&of_others), HasSubstr("another size than that of table \"t0\""));
}

// ---- Counting -----------------------------------------------------------------------------------

TEST(AccessCounter, RangesAreExactAndTheHottestAreFound) {
  constexpr uint64_t kRows = 1'000'000'000;
  AccessCounter counter("t", kRows);
  SplitMix64 random(3);
  for (int i = 0; i < 1'000'000; ++i) {
    counter.Add(random.Next() % kRows);
    if (i % 100 == 0) counter.Add(77'777);
    if (i % 1000 == 0) counter.Add(999'999'999, 2);
  }
  const TableAccesses accesses = counter.Finish();
  EXPECT_EQ(accesses.total(), 1'012'000u);
  EXPECT_LE(accesses.ranges.size(), AccessCounter::kMaxRanges);
  ASSERT_GE(accesses.hottest.size(), 2u);
  EXPECT_EQ(accesses.hottest[0].row, 77'777u);
  EXPECT_EQ(accesses.hottest[1].row, 999'999'999u);
  EXPECT_LE(accesses.hottest[0].count, 10'000u);
  EXPECT_GE(accesses.hottest[0].count, 10'000u - 2 * 1'012'000 / AccessCounter::kSketchRows);
}

TEST(AccessCounts, SurviveJsonAndRefuseNonsense) {
  const AccessCounts counts = CountsByRank(StrategyModel({100, 70'000}, 4).physical);
  const Result<AccessCounts> again =
      AccessCounts::FromJson(nlohmann::json::parse(counts.ToJson().dump()));
  ASSERT_OK(again);
  EXPECT_EQ(again.value(), counts);
  EXPECT_THAT(AccessCounts::FromJson({{"x", 1}}).status().message(),
              HasSubstr("access_counts_version"));
  nlohmann::json json = counts.ToJson();
  json["tables"][0]["ranges"].push_back(1);
  EXPECT_THAT(AccessCounts::FromJson(json).status().message(),
              HasSubstr("table \"t0\": 101 ranges"));
  json = counts.ToJson();
  json["access_counts_version"] = 2;
  EXPECT_THAT(AccessCounts::FromJson(json).status().message(), HasSubstr("version 2 is newer"));

  const auto refusal = [&](const std::function<void(nlohmann::json&)>& change) {
    nlohmann::json changed = counts.ToJson();
    change(changed);
    const Status status = AccessCounts::FromJson(changed).status();
    EXPECT_EQ(status.exit_code(), 2) << status.ToString();
    EXPECT_THAT(status.message(), testing::Not(HasSubstr("json.exception")));
    return status.message();
  };
  using Json = nlohmann::json;
  EXPECT_THAT(refusal([](Json& j) { j["tables"][1].erase("name"); }),
              HasSubstr("access counts: table 2: has no \"name\""));
  EXPECT_THAT(refusal([](Json& j) { j["tables"][1]["name"] = 1; }), HasSubstr("name is 1"));
  EXPECT_THAT(refusal([](Json& j) { j["tables"][0]["hot"] = 1; }),
              HasSubstr("table 1: has an unknown \"hot\""));
  EXPECT_THAT(refusal([](Json& j) { j["tables"][0]["rows"] = "100"; }),
              HasSubstr("table 1: rows is \"100\""));
  EXPECT_THAT(refusal([](Json& j) { j["tables"][0]["ranges"][3] = -1; }),
              HasSubstr("one of ranges is -1"));
  EXPECT_THAT(refusal([](Json& j) { j["tables"][0]["hottest"][0] = 5; }),
              HasSubstr("one of hottest is 5"));
  EXPECT_THAT(refusal([](Json& j) { j["tables"][0]["hottest"][0].push_back(5); }),
              HasSubstr("expected a row and its count"));
  EXPECT_THAT(refusal([](Json& j) { j["tables"] = nullptr; }), HasSubstr("tables is null"));
  EXPECT_THAT(refusal([](Json& j) { j["access_counts_version"] = "1"; }),
              HasSubstr("access_counts_version is \"1\""));
  EXPECT_THAT(refusal([](Json& j) { j["table"] = 1; }), HasSubstr("has an unknown \"table\""));
}

}  // namespace
}  // namespace rowhouse
