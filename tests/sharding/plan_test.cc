#include "sharding/plans/plan.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "sharding/plans/job_spec.h"
#include "sharding/plans/plan_maker.h"
#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

using testing::HasSubstr;

std::vector<TableSpec> PlanTables(const std::vector<uint64_t>& rows) {
  std::vector<TableSpec> tables;
  for (uint64_t n : rows) {
    TableSpec table;
    table.id = TableId{static_cast<uint32_t>(tables.size())};
    table.name = "t" + std::to_string(tables.size());
    table.rows = n;
    table.dim = 4;
    tables.push_back(table);
  }
  return tables;
}

Slice Piece(uint32_t table, uint64_t begin, uint64_t end, uint32_t shard) {
  return {.table = TableId{table},
          .row_begin = begin,
          .row_end = end,
          .column_begin = 0,
          .column_end = 4,
          .shard = ShardId{shard}};
}

TEST(Plan, RefusesGapsOverlapsAndMissingRowsByName) {
  const auto tables = PlanTables({10});
  const auto error = [&](std::vector<Slice> slices) {
    return Plan::Make(tables, 2, std::move(slices)).status().message();
  };
  EXPECT_THAT(error({Piece(0, 0, 4, 0), Piece(0, 5, 10, 1)}),
              testing::HasSubstr("rows [4, 5) have no owner"));
  EXPECT_THAT(error({Piece(0, 0, 6, 0), Piece(0, 4, 10, 1)}),
              testing::HasSubstr("rows [4, 6) have two owners"));
  EXPECT_THAT(error({Piece(0, 0, 9, 0)}),
              testing::HasSubstr("9 rows have owners, the table has 10"));
  EXPECT_THAT(error({Piece(0, 0, 10, 2)}), testing::HasSubstr("belong to shard 2"));
  EXPECT_THAT(error({Piece(0, 0, 10, 0), Piece(1, 0, 1, 0)}), testing::HasSubstr("names table 1"));
  Slice cut = Piece(0, 0, 10, 0);
  cut.column_end = 5;
  EXPECT_THAT(error({cut}), testing::HasSubstr("columns [0, 5) are no range of its 4 columns"));
}

// ---- Cuts of columns ----------------------------------------------------------------------------

Slice Cut(uint64_t row_begin, uint64_t row_end, uint32_t column_begin, uint32_t column_end) {
  return {.row_begin = row_begin,
          .row_end = row_end,
          .column_begin = column_begin,
          .column_end = column_end};
}

TEST(Plan, ColumnsAreCutWithinBands) {
  std::vector<TableSpec> tables = PlanTables({10});
  tables[0].dim = 48;
  const auto error = [&](std::vector<Slice> slices) {
    return Plan::Make(tables, 1, std::move(slices)).status().message();
  };
  const Plan plan =
      Plan::Make(tables, 1, {Cut(4, 10, 0, 48), Cut(0, 4, 32, 48), Cut(0, 4, 0, 32)}).value();
  const std::vector<Plan::Band> bands = plan.bands(TableId{0});
  ASSERT_EQ(bands.size(), 2u);
  ASSERT_EQ(bands[0].cuts.size(), 2u);
  EXPECT_EQ(bands[0].cuts[0].column_end, 32u);
  EXPECT_EQ(bands[1].row_begin, 4u);
  EXPECT_EQ(plan.ToJson()["plan_version"], 3);

  EXPECT_THAT(error({Cut(0, 10, 0, 8), Cut(0, 10, 8, 48)}), HasSubstr("multiples of 16"));
  EXPECT_THAT(error({Cut(0, 10, 0, 16), Cut(0, 10, 32, 48)}),
              HasSubstr("columns [16, 32) have no owner"));
  EXPECT_THAT(error({Cut(0, 10, 0, 32), Cut(0, 10, 16, 48)}),
              HasSubstr("columns [16, 32) have two owners"));
  EXPECT_THAT(error({Cut(0, 10, 0, 32)}), HasSubstr("columns [32, 48) have no owner"));
  EXPECT_THAT(error({Cut(0, 10, 0, 32), Cut(0, 4, 32, 48), Cut(4, 10, 32, 48)}),
              HasSubstr("overlap"));
  tables[0].optimizer = "rowwise_adagrad";
  EXPECT_THAT(error({Cut(0, 10, 0, 16), Cut(0, 10, 16, 48)}),
              HasSubstr("optimizer rowwise_adagrad keeps state of a whole row"));
  EXPECT_EQ(error({Cut(0, 10, 0, 48)}), "");
  tables[0].optimizer = "adagrad";
  tables[0].max_norm = 1.0;
  EXPECT_THAT(error({Cut(0, 10, 0, 16), Cut(0, 10, 16, 48)}), HasSubstr("max_norm"));
}

// ---- Rows that are placed otherwise than as numbered --------------------------------------------

TEST(Plan, RowsMayBeScatteredAndLiveOnTheWorkers) {
  const std::vector<TableSpec> tables = PlanTables({10, 7});
  const TablePlacement scattered{
      .table = TableId{1}, .order = RowOrder::Scattered(7, 42), .worker_rows = {}};
  const TablePlacement hot{.table = TableId{0}, .order = {}, .worker_rows = {RowId{3}, RowId{9}}};
  const Plan plan =
      Plan::Make(tables, 2, {Piece(0, 0, 10, 0), Piece(1, 0, 3, 0), Piece(1, 3, 7, 1)},
                 {scattered, hot})
          .value();
  EXPECT_TRUE(plan.has_worker_rows());
  EXPECT_EQ(plan.worker_rows(TableId{0}), hot.worker_rows);
  std::set<uint64_t> positions;
  for (uint64_t row = 0; row < 7; ++row) {
    const uint64_t position = plan.order(TableId{1}).PositionOf(RowId{row});
    EXPECT_EQ(plan.order(TableId{1}).RowAt(position), RowId{row});
    positions.insert(position);
  }
  EXPECT_EQ(positions, (std::set<uint64_t>{0, 1, 2, 3, 4, 5, 6}));

  const Result<Plan> again = Plan::FromJson(nlohmann::json::parse(plan.ToJson().dump()), tables);
  ASSERT_OK(again);
  EXPECT_EQ(again.value().digest(), plan.digest());
  EXPECT_EQ(again.value().order(TableId{1}).key(), 42u);
  EXPECT_EQ(again.value().worker_rows(TableId{0}), hot.worker_rows);

  const auto error = [&](const TablePlacement& placement) {
    return Plan::Make(tables, 2, {Piece(0, 0, 10, 0), Piece(1, 0, 7, 0)}, {placement})
        .status()
        .message();
  };
  EXPECT_THAT(error({.table = TableId{0}, .order = {}, .worker_rows = {RowId{3}, RowId{3}}}),
              HasSubstr("must ascend"));
  EXPECT_THAT(error({.table = TableId{0}, .order = {}, .worker_rows = {RowId{10}}}),
              HasSubstr("row 10 of worker_rows is beyond its 10 rows"));
  EXPECT_THAT(error({.table = TableId{2}, .order = {}, .worker_rows = {}}),
              HasSubstr("places table 2"));
}

RC_GTEST_PROP(RowWisePlan, EveryRowHasExactlyOneOwnerAndPiecesDifferByOneRow, ()) {
  const auto shards = *rc::gen::inRange<uint32_t>(1, 40);
  const auto sizes = *rc::gen::nonEmpty(
      rc::gen::container<std::vector<uint64_t>>(rc::gen::inRange<uint64_t>(1, 1000)));
  const auto tables = PlanTables(sizes);
  const Plan plan = MakeRowWisePlan(tables, shards);
  for (const TableSpec& table : tables) {
    uint64_t covered = 0, least = table.rows, most = 0;
    for (const Slice& slice : plan.slices(table.id)) {
      RC_ASSERT(slice.row_begin == covered);
      covered = slice.row_end;
      least = std::min(least, slice.rows());
      most = std::max(most, slice.rows());
    }
    RC_ASSERT(covered == table.rows);
    RC_ASSERT(most - least <= 1 || table.rows < shards);
  }
}

RC_GTEST_PROP(RowWisePlan, SurvivesJson, ()) {
  const auto shards = *rc::gen::inRange<uint32_t>(1, 9);
  const auto tables = PlanTables({7, 1, 100, 3});
  const Plan plan = MakeRowWisePlan(tables, shards);
  const auto again = Plan::FromJson(nlohmann::json::parse(plan.ToJson().dump()), tables);
  RC_ASSERT(again.ok());
  RC_ASSERT(again.value().digest() == plan.digest());
  RC_ASSERT(again.value().shards() == shards);
}

TEST(RowWisePlan, CutsTheLargestTablesWithoutOverflow) {
  const Plan plan = MakeRowWisePlan(PlanTables({uint64_t{1} << 62}), 3);
  EXPECT_EQ(plan.slices(TableId{0}).back().row_end, uint64_t{1} << 62);
  EXPECT_EQ(plan.slices(TableId{0})[0].row_end, (uint64_t{1} << 62) / 3);
}

TEST(RowWisePlan, FirstPiecesOfDifferentTablesLieOnDifferentShards) {
  const Plan plan = MakeRowWisePlan(PlanTables({100, 100}), 2);
  EXPECT_EQ(plan.slices(TableId{0})[0].shard, ShardId{0});
  EXPECT_EQ(plan.slices(TableId{1})[0].shard, ShardId{1});
}

// ---- Cache shares -------------------------------------------------------------------------------

TEST(Plan, CacheSharesSurviveJsonAndRouteNothing) {
  const auto tables = PlanTables({10, 4, 7});
  const Plan without = MakeRowWisePlan(tables, 2, {false, true, false});
  EXPECT_EQ(without.cache_share(TableId{0}), std::nullopt);
  const Plan plan = without.WithCacheShares(tables, {0.1, std::nullopt, 0.9}).value();
  EXPECT_EQ(plan.ToJson()["plan_version"], 4);
  EXPECT_EQ(without.ToJson()["plan_version"], 2);
  EXPECT_EQ(plan.digest(), without.digest());
  const Result<Plan> again = Plan::FromJson(nlohmann::json::parse(plan.ToJson().dump()), tables);
  ASSERT_OK(again);
  EXPECT_EQ(again.value().cache_share(TableId{0}), 0.1);
  EXPECT_EQ(again.value().cache_share(TableId{1}), std::nullopt);
  EXPECT_EQ(again.value().cache_share(TableId{2}), 0.9);
}

TEST(Plan, CacheSharesThatCannotBeAreRefusedWithTableAndFigure) {
  const auto tables = PlanTables({10, 10, 7});
  // Table 0 on shard 0, table 1 on shard 1, table 2 on both.
  const Plan plan =
      Plan::Make(tables, 2,
                 {Piece(0, 0, 10, 0), Piece(1, 0, 10, 1), Piece(2, 0, 3, 0), Piece(2, 3, 7, 1)})
          .value();
  const auto error = [&](std::vector<std::optional<double>> shares) {
    const Status status = plan.WithCacheShares(tables, shares).status();
    EXPECT_EQ(status.exit_code(), 2);
    return status.message();
  };
  EXPECT_OK(plan.WithCacheShares(tables, {0.7, 0.7, 0.3}));
  EXPECT_OK(plan.WithCacheShares(tables, {0.9, 0.8, 0.1}));
  EXPECT_THAT(error({-0.1, 0.5, 0.3}), HasSubstr("table \"t0\": cache_share=-0.1 must be from 0"));
  EXPECT_THAT(error({0.5, 1.5, 0.3}), HasSubstr("table \"t1\": cache_share=1.5 must be from 0"));
  EXPECT_THAT(error({0.5, std::nan(""), 0.3}), HasSubstr("table \"t1\": cache_share=nan"));
  EXPECT_THAT(error({0.5, 0.8, 0.3}),
              HasSubstr("table \"t2\": with its cache_share=0.3 the shares on shard 1 sum to 1.1"));
  const Plan on_workers = MakeRowWisePlan(tables, 2, {false, true, false});
  EXPECT_THAT(on_workers.WithCacheShares(tables, {0.5, 0.5, 0.3}).status().message(),
              HasSubstr("table \"t1\" is on the workers, whole: cache_share=0.5"));
}

TEST(Plan, ANewerFormatIsRefusedByName) {
  const auto tables = PlanTables({10});
  nlohmann::json json = MakeRowWisePlan(tables, 2).ToJson();
  json["plan_version"] = 5;
  const Status status = Plan::FromJson(json, tables).status();
  EXPECT_EQ(status.code(), StatusCode::kUsage);
  EXPECT_THAT(status.message(), testing::HasSubstr("version 5 is newer"));
}

TEST(Plan, ATableMayLiveOnTheWorkers) {
  const auto tables = PlanTables({10, 4});
  const Plan plan = MakeRowWisePlan(tables, 2, {false, true});
  EXPECT_FALSE(plan.is_on_workers(TableId{0}));
  EXPECT_TRUE(plan.is_on_workers(TableId{1}));
  const nlohmann::json json = plan.ToJson();
  EXPECT_EQ(json["plan_version"], 2);
  const Result<Plan> read = Plan::FromJson(json, tables);
  ASSERT_OK(read);
  EXPECT_EQ(read.value().digest(), plan.digest());
  EXPECT_NE(plan.digest(), MakeRowWisePlan(tables, 2).digest());
}

TEST(Plan, HalfATableOnTheWorkersIsRefused) {
  const auto tables = PlanTables({10});
  const auto plan =
      Plan::Make(tables, 1,
                 {{.row_begin = 0, .row_end = 5, .column_end = 4, .shard = kOnWorkers},
                  {.row_begin = 5, .row_end = 10, .column_end = 4}});
  EXPECT_THAT(plan.status().message(), testing::HasSubstr("whole tables"));
}

TEST(JobSpec, SurvivesJsonAndRefusesNonsense) {
  JobSpec job;
  job.job_id = 0xfedcba9876543210u;
  job.model_id = "m";
  job.config_digest = "c";
  job.workers = 3;
  job.shards_per_node = 2;
  job.tables = PlanTables({7, 50});
  job.tables[1].optimizer_options.epsilon = 1e-8f;
  job.plan = MakeRowWisePlan(job.tables, 4);
  job.row_precision.push = Precision::kBf16;
  job.is_load = true;
  job.load = {.step = 12,
              .steps_per_epoch = 5,
              .plan_digest = "p",
              .plan = MakeRowWisePlan(job.tables, 3),
              .shards = {{ShardId{1}, "host", "/rows/shard-0001"}}};
  const Result<JobSpec> read = JobSpec::FromJsonText(job.ToJsonText());
  ASSERT_OK(read);
  const JobSpec& again = read.value();
  EXPECT_EQ(again.ToJsonText(), job.ToJsonText());
  EXPECT_EQ(again.job_id, job.job_id);
  EXPECT_EQ(again.tables[1].optimizer_options.epsilon, 1e-8f);
  EXPECT_EQ(again.row_precision, job.row_precision);
  EXPECT_EQ(again.first_step(), 12u);
  EXPECT_EQ(again.load.steps_per_epoch, 5u);
  EXPECT_EQ(again.load.plan.digest(), job.load.plan.digest());
  EXPECT_TRUE(again.step_rows.empty());
  job.step_rows = {3.5, 0};
  EXPECT_EQ(JobSpec::FromJsonText(job.ToJsonText()).value().step_rows, job.step_rows);
  for (const std::vector<double>& wrong : std::vector<std::vector<double>>{{1}, {1, -1}}) {
    job.step_rows = wrong;
    EXPECT_EQ(JobSpec::FromJsonText(job.ToJsonText()).status().code(), StatusCode::kCorruption);
  }
  for (const std::string text : {"", "{}", "[1]", "{\"job_id\": \"x\"}"}) {
    EXPECT_EQ(JobSpec::FromJsonText(text).status().code(), StatusCode::kCorruption) << text;
  }
}

}  // namespace
}  // namespace rowhouse
