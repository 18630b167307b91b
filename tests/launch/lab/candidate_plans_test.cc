// Plans compared by their predicted cost, and what would help.
#include "launch/plan/candidate_plans.h"

#include <fstream>
#include <nlohmann/json.hpp>

#include "launch/command_line/verb_flags.h"
#include "launch/plan/candidates_report.h"
#include "launch/settings/setting_fields.h"
#include "sharding/plans/plan_file.h"
#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Le;
using testing::Not;

Settings ThreeTables() {
  Settings settings;
  settings.sparse_feature_size = 32;
  settings.model.bottom_mlp = {13, 32};
  settings.model.top_mlp = {32, 1};
  settings.table_defaults.pooling_sum = "exact";
  settings.tables.resize(3);
  for (size_t i = 0; i < 3; ++i) {
    settings.tables[i] = settings.table_defaults;
    settings.tables[i].name = fmt::format("t{}", i);
    settings.tables[i].rows = 50'000 * (i + 1);
    settings.tables[i].dim = 32;
  }
  settings.data_generation = "synthetic";
  settings.data.flags["synthetic_bag_length"] = "20";
  settings.data.data_size = 1'000'000;
  settings.data.mini_batch_size = 1024;
  settings.cluster.ps = 2;
  settings.Complete();
  return settings;
}

LabRun RunOf(Settings settings) {
  CHECK(settings.Validate(/*reads_data=*/false).ok());
  CommandLine command_line;
  command_line.verb = "plan";
  Result<LabRun> run = LabRunOf(command_line, settings);
  CHECK(run.ok()) << run.status().ToString();
  run.value().machine = {.machine = Machine::Typical(), .path = "", .warning = ""};
  run.value().machine.machine.cores = 64;
  return std::move(run).value();
}

std::vector<CandidatePlan> All(const LabRun& run) {
  return MakeCandidates(run, CandidateNames("all").value()).value();
}

TEST(CandidateNames, AreStrategiesWithAndWithoutBagsAndThePlannersOwn) {
  EXPECT_THAT(CandidateNames("row_wise,auto,row_wise+bags,row_wise").value(),
              ElementsAre("row_wise", "auto", "row_wise+bags"));
  EXPECT_EQ(CandidateNames("all").value().size(), 2 * ShardingStrategies().Names().size() + 1);
}

TEST(CandidateNames, OfNothingKnownNameTheNearest) {
  const Status status = CandidateNames("row_wise,tabel_wise_lpt").status();
  EXPECT_EQ(status.exit_code(), 2);
  EXPECT_THAT(status.message(), HasSubstr("unknown strategy \"tabel_wise_lpt\""));
  EXPECT_THAT(status.message(), HasSubstr("Did you mean \"table_wise_lpt\"?"));
  EXPECT_THAT(CandidateNames("all,foo").status().message(),
              HasSubstr("all names every strategy; leave out the others"));
  EXPECT_THAT(CandidateNames("foo,all").status().message(), HasSubstr("unknown strategy \"foo\""));
  EXPECT_EQ(CandidateNames("").status().exit_code(), 2);
  EXPECT_EQ(CandidateNames("row_wise,").status().exit_code(), 2);
}

TEST(Candidates, TheFastestIsFirstAndTheRefusedAreLast) {
  const std::vector<CandidatePlan> candidates = All(RunOf(ThreeTables()));
  bool was_refused = false;
  double before = 0;
  for (const CandidatePlan& one : candidates) {
    EXPECT_TRUE(one.refused.empty() == !(was_refused |= !one.refused.empty())) << one.name;
    if (!one.refused.empty()) continue;
    EXPECT_LE(before, one.cost.ms) << one.name;
    EXPECT_GT(one.cost.ms, 0) << one.name;
    EXPECT_EQ(one.cost.ps.size(), 2u);
    before = one.cost.ms;
  }
  EXPECT_TRUE(was_refused) << "skew_aware has no access counts";
  EXPECT_EQ(BestOf(candidates), &candidates.front());
  EXPECT_EQ(ConfiguredOf(candidates)->name, "row_wise");
  EXPECT_TRUE(ConfiguredOf(candidates)->is_configured);
}

TEST(Candidates, ThePlannersPlanIsNoSlowerThanAStrategys) {
  const std::vector<CandidatePlan> candidates = All(RunOf(ThreeTables()));
  const auto planned = std::ranges::find(candidates, kPlannedName, &CandidatePlan::name);
  ASSERT_NE(planned, candidates.end());
  ASSERT_EQ(planned->refused, "");
  EXPECT_LE(planned->cost.ms, 1.01 * candidates.front().cost.ms);
  ASSERT_EQ(planned->tables.size(), 3u);
  for (const TableDecision& table : planned->tables) EXPECT_GT(table.workers_ms, 0);
}

TEST(Candidates, APlanThatANodeHasNoRoomForIsRefusedWithTheTableAndByHowMuch) {
  LabRun run = RunOf(ThreeTables());
  run.cluster.ps_memory_bytes = 1 << 20;
  const CandidatePlan one = MakeCandidate(run, "table_wise_lpt").value();
  EXPECT_THAT(one.refused, HasSubstr("PS node "));
  EXPECT_THAT(one.refused,
              AllOf(HasSubstr(" MiB more than it may have; most of it is of table \"t"),
                    HasSubstr("(--ps_memory_mb=1")));
}

TEST(Candidates, APlanThatIsConfiguredPlansForTheRun) {
  Settings settings = ThreeTables();
  EXPECT_EQ(ConfiguredName(settings), "row_wise");
  settings.sharding.pool_on = "shards";
  EXPECT_EQ(ConfiguredName(settings), "row_wise+bags");
  settings.sharding.pool_on = "workers";
  settings.sharding.plan = "auto";
  const LabRun run = RunOf(settings);
  EXPECT_EQ(ConfiguredName(run.settings), "auto");
  const CandidatePlan one = MakeCandidate(run, "auto").value();
  EXPECT_EQ(one.refused, "");
  EXPECT_TRUE(one.is_configured);
  EXPECT_EQ(one.tables.size(), 3u);
}

TEST(Candidates, APlanThatWorkersHaveNoRoomForIsRefused) {
  LabRun run = RunOf(ThreeTables());
  run.cluster.worker_memory_bytes = 1 << 20;
  EXPECT_THAT(MakeCandidate(run, "replicated").value().refused,
              AllOf(HasSubstr("MiB more than it may have; most of it is of table \"t"),
                    HasSubstr("--worker_memory_mb=1)")));
  EXPECT_EQ(MakeCandidate(run, "row_wise").value().refused, "");
}

TEST(Candidates, TheSmallerCacheThatIsAdvisedFits) {
  LabRun run = RunOf(ThreeTables());
  run.cluster.ps_memory_bytes = 20 << 20;
  FitCaches(&run);
  run.cluster.ps_memory_bytes = 17 << 20;
  const std::string refused = MakeCandidate(run, "row_wise").value().refused;
  const std::string advice = "; or --cache_mb=";
  const size_t at = refused.find(advice);
  ASSERT_NE(at, std::string::npos) << refused;
  run.workload.storage.cache_bytes = std::stoull(refused.substr(at + advice.size())) << 20;
  EXPECT_EQ(MakeCandidate(run, "row_wise").value().refused, "");
}

TEST(Candidates, CachesAreAsLargeAsTheMemoryOfANodeLeaves) {
  LabRun run = RunOf(ThreeTables());
  EXPECT_THAT(LabRunNotes(run), Not(HasSubstr("caches: ")));
  run.cluster.ps_memory_bytes = 20 << 20;
  FitCaches(&run);
  for (const char* name : {"row_wise", "table_wise_lpt", "auto"}) {
    const CandidatePlan one = MakeCandidate(run, name).value();
    EXPECT_EQ(one.refused, "");
    for (const RankCost& node : one.cost.ps) {
      EXPECT_THAT(node.memory_bytes, AllOf(testing::Gt(17 << 20), Le(20 << 20))) << name;
    }
  }
  EXPECT_THAT(LabRunNotes(run),
              HasSubstr("MiB on each PS node, what --ps_memory_mb=20 leaves of --cache_mb="));

  run.workload.storage.has_files = false;  // has no caches
  run.workload.storage.cache_bytes = 64 << 20;
  FitCaches(&run);
  EXPECT_EQ(run.workload.storage.cache_bytes, 64 << 20);
}

TEST(Candidates, SayWhereATableIs) {
  const LabRun run = RunOf(ThreeTables());
  const auto where = [&](const char* name) {
    return PlacementText(run, MakeCandidate(run, name).value().plan, TableId{2});
  };
  EXPECT_EQ(where("row_wise"), "rows over 2 shards");
  EXPECT_EQ(where("column_wise"), "columns over 2 shards");
  EXPECT_EQ(where("replicated"), "on the workers");
  EXPECT_THAT(where("table_wise_lpt+bags"), HasSubstr("whole on PS node "));
  EXPECT_THAT(where("table_wise_lpt+bags"), HasSubstr(", pooled there"));
}

TEST(Savings, AreOrderedAndMoreCacheHelpsWhereRowsAreMissed) {
  Settings settings = ThreeTables();
  settings.storage.cache_mb = 2;
  const LabRun run = RunOf(settings);
  const std::vector<CandidatePlan> candidates = All(run);
  const CandidatePlan& from = *ConfiguredOf(candidates);
  ASSERT_LT(from.cost.hit_rate, 0.99);
  const std::vector<Saving> savings = SavingsOf(run, from, candidates).value();
  EXPECT_TRUE(std::ranges::is_sorted(savings, std::greater(), &Saving::share));
  const auto cache = std::ranges::find(savings, "--cache_mb=16", &Saving::how);
  ASSERT_NE(cache, savings.end());
  EXPECT_GT(cache->share, 0);
  EXPECT_LT(cache->ms, from.cost.ms);
}

TEST(CandidatesReport, TextAndJsonHaveEveryCandidateAndEveryTable) {
  const LabRun run = RunOf(ThreeTables());
  const std::vector<CandidatePlan> candidates = All(run);
  const std::vector<Saving> savings = SavingsOf(run, *ConfiguredOf(candidates), candidates).value();
  const Figures figures = CandidateFigures(run, candidates, savings);
  const std::string text = FiguresAsText(figures);
  const nlohmann::ordered_json& json = figures.json;
  for (const CandidatePlan& one : candidates) EXPECT_THAT(text, HasSubstr(one.name));
  EXPECT_THAT(text, HasSubstr("row_wise *"));
  EXPECT_THAT(text, HasSubstr("What would help most, from row_wise at "));
  EXPECT_THAT(text, Not(HasSubstr("nan")));
  EXPECT_EQ(json.at("strategies").size(), candidates.size());
  EXPECT_EQ(json.at("tables").size(), 3u);
  EXPECT_EQ(json.at("configured"), "row_wise");
  EXPECT_EQ(json.at("best"), candidates.front().name);
}

TEST(CandidatesReport, LoadsOfTablesAddUpToTheLoadOfEachNode) {
  const LabRun run = RunOf(ThreeTables());
  const CandidatePlan plan = MakeCandidate(run, "table_wise_lpt").value();
  const nlohmann::ordered_json loads = LoadsByTable(run, plan).value();
  ASSERT_EQ(loads.at("tables").size(), 3u);
  for (size_t node = 0; node < 2; ++node) {
    double sum = 0;
    for (const auto& table : loads.at("tables")) sum += table.at("rows").at(node).get<double>();
    EXPECT_NEAR(sum, plan.cost.ps[node].rows_pulled, 1e-6 * sum) << node;
  }
}

TEST(CandidatesReport, MissesFallWithTheCache) {
  const LabRun run = RunOf(ThreeTables());
  const auto curves = MissRatioCurves(run, MakeCandidate(run, "row_wise").value());
  ASSERT_EQ(curves.at("series").size(), 3u);
  for (const auto& one : curves.at("series")) {
    double before = 1;
    for (const auto& point : one.at("points")) {
      EXPECT_LE(point.at(1).get<double>(), before + 1e-9);
      before = point.at(1).get<double>();
    }
    EXPECT_NEAR(before, 0, 1e-3) << "all rows fit";
  }
}

TEST(Candidates, OfPlanFilesHaveTheirOwnNames) {
  const LabRun run = RunOf(ThreeTables());
  const TempDir dir;
  const auto write = [&](const std::string& file, const std::string& name) {
    const PlanFile plan{.name = name,
                        .strategy = "row_wise",
                        .ps = 2,
                        .shards_per_ps = run.cluster.shards_per_ps,
                        .plan = MakeCandidate(run, "row_wise").value().plan};
    std::ofstream(dir / file) << PlanFileText(plan, run.workload.tables.physical);
    return dir / file;
  };
  const std::vector<std::string> files = {write("a.json", "hot rows apart"), write("b.json", ""),
                                          write("c.json", "twice"), write("d.json", "twice")};
  const std::vector<CandidatePlan> candidates = MakeCandidates(run, files).value();
  std::vector<std::string> titles;
  for (const CandidatePlan& one : candidates) titles.push_back(one.title);
  EXPECT_THAT(titles,
              testing::UnorderedElementsAre("hot rows apart", files[1], "twice (" + files[2] + ")",
                                            "twice (" + files[3] + ")"));
  const std::string text = FiguresAsText(CandidateFigures(run, candidates, {}));
  EXPECT_THAT(text, HasSubstr("hot rows apart"));
  EXPECT_THAT(text, Not(HasSubstr("a.json")));
}

TEST(CandidateNames, MayBeSeveralPlanFiles) {
  EXPECT_THAT(CandidateNames("row_wise,a.json,plans/b,auto").value(),
              testing::ElementsAre("row_wise", "a.json", "plans/b", "auto"));
  EXPECT_EQ(CandidateNames("row_wise,b").status().code(), StatusCode::kUsage);
}

}  // namespace
}  // namespace rowhouse
