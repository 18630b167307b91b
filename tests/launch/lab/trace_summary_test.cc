#include <gtest/gtest.h>

#include <cmath>
#include <fstream>

#include "common/random.h"
#include "launch/plan/plan_report.h"
#include "launch/prediction/workload_of_run.h"
#include "tests/testing/testing.h"
#include "worker/data/traces/recorded_trace.h"
#include "worker/data/zipf.h"

namespace rowhouse {
namespace {

using testing::HasSubstr;

EmbeddingTables TablesOf(const std::vector<std::pair<std::string, uint64_t>>& tables,
                         const std::string& kind = "plain") {
  std::vector<LogicalTable> logical;
  for (const auto& [name, rows] : tables) {
    LogicalTable& table = logical.emplace_back();
    table.name = name;
    table.rows = rows;
    table.dim = 16;
    table.kind = kind;
  }
  Result<EmbeddingTables> made = EmbeddingTables::Make(logical);
  EXPECT_OK(made);
  return std::move(made).value();
}

// 200 steps of 64 samples; of table "a" row k has a share ~ 1/k, of "b" all are alike.
void RecordSkewed(const std::string& path, double sampled) {
  const TraceHeader header{
      .tables = {{.name = "a", .rows = 20'000, .sampled = sampled}, {.name = "b", .rows = 100}},
      .mini_batch_size = 64};
  auto writer = TraceWriter::Create(path, header);
  ASSERT_OK(writer);
  const Zipf zipf(20'000, 1.0);
  SplitMix64 random(7);
  std::vector<Bags> step(2);
  for (uint64_t s = 0; s < 200; ++s) {
    for (Bags& bags : step) bags.clear();
    for (int i = 0; i < 64; ++i) {
      for (int k = 0; k < 10; ++k) step[0].ids.push_back(zipf.Draw(&random) - 1);
      step[0].EndBag();
      step[1].ids.push_back(random.Next() % 100);
      step[1].EndBag();
    }
    ASSERT_OK(writer.value()->Append(s, step));
  }
  ASSERT_OK(writer.value()->Finish());
}

TEST(TraceSummary, ATraceThatIsShorterThanAStepSaysSo) {
  const TempDir dir;
  RecordSkewed(dir / "t", 1.0);
  const EmbeddingTables tables = TablesOf({{"a", 20'000}, {"b", 100}});
  const auto longer = ReadTraceSummary(dir / "t", tables, {.step_samples = 20'000});
  ASSERT_OK(longer);
  EXPECT_THAT(TraceNotes(longer.value()), HasSubstr("12800 samples, fewer than a step"));
  const auto shorter = ReadTraceSummary(dir / "t", tables, {.step_samples = 12'800});
  ASSERT_OK(shorter);
  EXPECT_EQ(TraceNotes(shorter.value()), "");
}

TEST(TraceSummary, TellsLookupsSkewAndReuseOfEachTable) {
  const TempDir dir;
  RecordSkewed(dir / "t", 1.0);
  const auto summary = ReadTraceSummary(dir / "t", TablesOf({{"a", 20'000}, {"b", 100}}));
  ASSERT_OK(summary);
  EXPECT_EQ(summary.value().samples, 12'800u);
  EXPECT_EQ(summary.value().steps, 200u);
  const TracedTable& a = summary.value().tables[0];
  const TracedTable& b = summary.value().tables[1];
  EXPECT_EQ(a.lookups, 128'000.0);
  EXPECT_NEAR(a.zipf_exponent, 1.0, 0.1);
  EXPECT_LT(b.zipf_exponent, 0.2);
  EXPECT_GT(a.hottest_share, 0.4);
  EXPECT_EQ(b.distinct_rows, 100.0);
  EXPECT_NEAR(b.reuse(), 128.0, 1e-9);
  EXPECT_EQ(summary.value().features[0].bags.mean_bag(), 10.0);
  EXPECT_EQ(summary.value().accesses.tables[0].hottest[0].row, 0u);
  EXPECT_EQ(summary.value().accesses.tables[0].total(), 128'000u);
  // Curves count a row once a step.
  EXPECT_EQ(a.curve.accesses, a.pulled_rows);
  EXPECT_LT(a.pulled_rows, a.lookups);
  EXPECT_EQ(b.curve.MissRatio(100), b.curve.cold_ratio());
}

TEST(TraceSummary, ASampleOfIdsTellsTheSame) {
  const TempDir dir;
  RecordSkewed(dir / "all", 1.0);
  RecordSkewed(dir / "some", 0.2);
  const EmbeddingTables tables = TablesOf({{"a", 20'000}, {"b", 100}});
  const TracedTable all = ReadTraceSummary(dir / "all", tables).value().tables[0];
  const TraceSummary summary = ReadTraceSummary(dir / "some", tables).value();
  const TracedTable& some = summary.tables[0];
  EXPECT_EQ(some.sampled, 0.2);
  EXPECT_NEAR(some.lookups, all.lookups, 1e-6);
  EXPECT_NEAR(some.distinct_rows / all.distinct_rows, 1.0, 0.1);
  EXPECT_EQ(summary.features[0].bags.mean_bag(), 10.0);
  for (const double rows : {500.0, 2000.0, 8000.0}) {
    EXPECT_NEAR(some.curve.MissRatio(rows), all.curve.MissRatio(rows), 0.05) << rows;
  }
}

// The hottest row of such a table has a tenth of the lookups: whether a sample has it is chance.
TEST(TraceSummary, ASampleOfIdsGivesTheDistinctRowsOfAStep) {
  const TempDir dir;
  const EmbeddingTables tables = TablesOf({{"a", 20'000}, {"b", 100}});
  const auto distribution = [&](double sampled) {
    const std::string path = dir / std::to_string(sampled);
    RecordSkewed(path, sampled);
    const TraceSummary summary = ReadTraceSummary(path, tables).value();
    return TracedDistribution(summary.tables[0], summary.accesses.tables[0]);
  };
  const IdDistribution law = IdDistribution::Zipf(20'000, 1.0);
  for (const double sampled : {0.5, 0.2, 0.1, 0.05}) {
    const IdDistribution some = distribution(sampled);
    EXPECT_NEAR(some.DistinctRows(640) / law.DistinctRows(640), 1.0, 0.1) << sampled;
    // Also of twice as many lookups as the trace has.
    EXPECT_NEAR(some.DistinctRows(256'000) / law.DistinctRows(256'000), 1.0, 0.1) << sampled;
    EXPECT_NEAR(some.rows(), law.rows(), 1.0) << sampled;
  }
}

// Three rows of the sample stand for 30; 1,000 lookups are too many by 100, or too few.
TEST(TraceSummary, LookupsThatASampleHasTooManyOrTooFewOfAreTheHottestRows) {
  TableAccesses seen{.name = "a", .rows = 100, .range_rows = 100, .ranges = {1000}};
  seen.hottest = {{3, 60}, {5, 30}, {8, 10}};
  TracedTable table{.name = "a", .rows = 100, .sampled = 0.1, .lookups = 1100, .distinct_rows = 30};
  IdDistribution of = TracedDistribution(table, seen);
  ASSERT_EQ(of.groups().size(), 4u);
  EXPECT_NEAR(of.groups()[0].probability, 70.0 / 1100, 1e-12);
  EXPECT_NEAR(of.groups()[1].probability, 30.0 / 1100, 1e-12);
  EXPECT_EQ(of.groups()[3].probability, 0.0);
  table.lookups = 600;  // the level is 25 for the two hottest groups
  of = TracedDistribution(table, seen);
  ASSERT_EQ(of.groups().size(), 3u);
  EXPECT_NEAR(of.groups()[0].rows, 20.0, 1e-9);
  EXPECT_NEAR(of.groups()[0].probability, 25.0 / 600, 1e-12);
  EXPECT_NEAR(of.groups()[1].probability, 10.0 / 600, 1e-12);
}

TEST(TraceSummary, RowsAreThoseOfTheKind) {
  const TempDir dir;
  std::ofstream(dir / "t") << "a 0\na 7\na 8\na 999\n";
  const auto summary =
      ReadTraceSummary(dir / "t", TablesOf({{"a", 1000}}, "qr"), {.step_samples = 4});
  ASSERT_OK(summary);
  ASSERT_EQ(summary.value().tables.size(), 2u) << "quotients and remainders";
  EXPECT_EQ(summary.value().tables[0].lookups, 4.0);
  EXPECT_EQ(summary.value().tables[1].lookups, 4.0);
}

TEST(TraceSummary, TablesWithoutLookupsAreNamed) {
  const TempDir dir;
  std::ofstream(dir / "t") << "a 0\na 7\n\n";
  const auto of = [&](const std::vector<std::pair<std::string, uint64_t>>& tables) {
    return ReadTraceSummary(dir / "t", TablesOf(tables), {.step_samples = 4}).value();
  };
  EXPECT_EQ(NoLookupsText(of({{"a", 10}})), "");
  EXPECT_EQ(NoLookupsText(of({{"a", 10}, {"b", 10}})), "no lookups of table b");
  const TraceSummary summary = of({{"b", 10}, {"a", 10}, {"c", 10}});
  EXPECT_EQ(NoLookupsText(summary), "no lookups of tables b and c");
  EXPECT_THAT(FiguresAsText(TraceFigures(summary)),
              HasSubstr("warning: no lookups of tables b and c\n"));
  EXPECT_THAT(FiguresAsText(TraceFigures(summary)), HasSubstr("1 sample in 1 step of 4"));
}

TEST(TraceSummary, ATraceOfAnotherConfigIsRefused) {
  const TempDir dir;
  RecordSkewed(dir / "t", 0.5);
  const auto error = [&](const EmbeddingTables& tables, const std::string& path) {
    return ReadTraceSummary(path, tables).status().message();
  };
  EXPECT_THAT(error(TablesOf({{"a", 20'000}, {"b", 99}}), dir / "t"),
              HasSubstr("its table 1 is \"b\" of 100 rows, the model's is \"b\" of 99 rows"));
  EXPECT_THAT(error(TablesOf({{"a", 20'000}}), dir / "t"),
              HasSubstr("it has 2 tables, the model 1"));
  EXPECT_THAT(error(TablesOf({{"a", 20'000}, {"b", 100}}, "qr"), dir / "t"),
              HasSubstr("record it again with --record_ids_share=1"));
  std::ofstream(dir / "text") << "a 5\nzz 6\n";
  EXPECT_THAT(error(TablesOf({{"a", 10}, {"b", 10}}), dir / "text"),
              HasSubstr("its table \"zz\" is no table of the model"));
  std::ofstream(dir / "beyond") << "a 5\n1 10\n";
  EXPECT_THAT(error(TablesOf({{"a", 10}, {"b", 10}}), dir / "beyond"),
              HasSubstr("id 10 is outside its 10 rows"));
}

TEST(TraceSummary, TablesOfAnUnknownModelHaveTheRowsThatIdsNeed) {
  const TempDir dir;
  std::ofstream(dir / "t") << "0 9\n1 1\n2 100000\n";
  const auto tables = TablesOfTrace(dir / "t");
  ASSERT_OK(tables);
  ASSERT_EQ(tables.value().features.size(), 3u);
  EXPECT_EQ(tables.value().features[0].table.rows, 10u);
  EXPECT_EQ(tables.value().features[2].table.rows, 100'001u);
}

TEST(TraceSummary, ZipfIsFittedToRowsThatAreLookedUpOften) {
  std::vector<TableAccesses::Row> law, flat;
  for (uint64_t k = 0; k < 2000; ++k) {
    law.push_back({k, static_cast<uint64_t>(1e6 * std::pow(static_cast<double>(k + 1), -0.8))});
    flat.push_back({k, 1000});
  }
  EXPECT_NEAR(FittedZipfExponent(law), 0.8, 0.01);
  EXPECT_NEAR(FittedZipfExponent(flat), 0.0, 0.01);
  EXPECT_TRUE(std::isnan(FittedZipfExponent({{0, 15}, {1, 3}})));
}

}  // namespace
}  // namespace rowhouse
