// The plan of a run, from files and from strategies, and the refusals of files that do not fit.
#include "launch/prediction/plan_of_run.h"

#include <fstream>

#include "common/json_text.h"
#include "launch/command_line/command_line.h"
#include "launch/command_line/made_settings.h"
#include "launch/plan/plan_report.h"
#include "sharding/plans/plan_load.h"
#include "tests/testing/access_counts.h"
#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class PlanOfRun : public testing::Test {
 protected:
  PlanOfRun() {
    settings_.SetTableRows({100000, 30, 2000});
    settings_.Complete();
  }

  std::string Write(const std::string& name, const std::string& text) {
    std::ofstream(dir_ / name) << text;
    return dir_ / name;
  }

  Plan Made(uint32_t nodes, uint32_t shards) { return PlanOf(settings_, nodes, shards).value(); }

  // Writes a file of what the strategies of settings_ make, and names it.
  void PlanByFile(uint32_t nodes, uint32_t shards) {
    const std::string text = PlanFileText({.strategy = settings_.sharding.strategy,
                                           .ps = nodes,
                                           .shards_per_ps = shards,
                                           .plan = Made(nodes, shards)},
                                          settings_.embedding.physical);
    settings_.sharding.plan = Write("plan.json", text);
  }

  std::string Refusal(uint32_t nodes, uint32_t shards) {
    const Status status = PlanOf(settings_, nodes, shards).status();
    EXPECT_EQ(status.exit_code(), 2) << status.ToString();
    return status.message();
  }

  Settings settings_;
  TempDir dir_;
};

TEST_F(PlanOfRun, IsTheFilesWhateverTheStrategy) {
  settings_.sharding.strategy = "row_wise_hashed";
  const std::string digest = Made(2, 3).digest();
  PlanByFile(2, 3);
  settings_.sharding.strategy = "table_wise_lpt";
  EXPECT_EQ(Made(2, 3).digest(), digest);
  settings_.sharding.plan.clear();
  EXPECT_NE(Made(2, 3).digest(), digest);
}

TEST_F(PlanOfRun, OfOtherNumbersOfNodesOrShardsIsRefused) {
  PlanByFile(8, 1);
  EXPECT_THAT(Refusal(2, 1), AllOf(HasSubstr("plan.json: it is for 8 PS nodes of 1 shard,"),
                                   HasSubstr("the run has 2 of 1"), HasSubstr("--ps=8")));
  EXPECT_THAT(Refusal(4, 2), HasSubstr("the run has 4 of 2"));
}

TEST_F(PlanOfRun, FilesThatAreNoneAreRefusedByName) {
  settings_.sharding.plan = dir_ / "absent.json";
  EXPECT_THAT(Refusal(1, 1),
              AllOf(HasSubstr("--plan=" + dir_ / "absent.json"), HasSubstr("No such file")));
  settings_.sharding.plan = Write("text", "row_wise\n");
  EXPECT_THAT(Refusal(1, 1), HasSubstr("text: line 1: is no JSON"));
  settings_.sharding.plan.clear();
  settings_.sharding.strategy = "skew_aware";
  EXPECT_THAT(Refusal(2, 1), HasSubstr("--access_counts=FILE"));
  settings_.sharding.access_counts = dir_ / "absent.json";
  EXPECT_THAT(Refusal(2, 1), HasSubstr("--access_counts=" + dir_ / "absent.json"));
  settings_.sharding.access_counts = Write("text", "{");
  EXPECT_THAT(Refusal(2, 1), HasSubstr("text: line 1: is no JSON"));
  settings_.sharding.access_counts = Write("text", "{}");
  EXPECT_THAT(Refusal(2, 1), HasSubstr("--count_ids"));
}

TEST_F(PlanOfRun, CountsComeFromTheFileOrAsMeasured) {
  settings_.sharding.strategy = "skew_aware";
  const AccessCounts counts = CountsByRank(settings_.embedding.physical);
  const std::string digest = PlanOf(settings_, 2, 1, &counts).value().digest();
  settings_.sharding.access_counts = Write("counts.json", JsonLines(counts.ToJson()));
  EXPECT_EQ(Made(2, 1).digest(), digest);
}

// 102,030 rows of 2 floats and a trailer, 24 bytes: 2.34 MiB.
TEST_F(PlanOfRun, ThatFillsANodeBeyondItsMemoryIsRefused) {
  settings_.sharding.ps_rows_mb = 1;
  EXPECT_THAT(Refusal(2, 1), AllOf(HasSubstr("--ps_rows_mb=1: the plan gives PS node 0 1.2 MiB"),
                                   HasSubstr("(--ps)")));
  EXPECT_OK(PlanOf(settings_, 3, 1));
  settings_.sharding.strategy = "table_wise_lpt";
  EXPECT_THAT(Refusal(3, 1), HasSubstr("gives PS node 0 2.3 MiB"));
  settings_.sharding.ps_rows_mb = 0;
  PlanByFile(3, 1);
  settings_.sharding.ps_rows_mb = 1;
  EXPECT_THAT(Refusal(3, 1), HasSubstr("--ps_rows_mb=1"));
}

// tests/sim/pooling_on_shards_test.cc shows which tables these are.
TEST_F(PlanOfRun, ThatSumsAccumulatedGradientsInAnotherOrderIsRefused) {
  settings_.sharding.pool_on = "shards";
  settings_.training.accumulation = 3;
  for (LogicalTable& table : settings_.tables) table.pooling_sum = "exact";
  settings_.Complete();
  Made(2, 1);
  for (LogicalTable& table : settings_.tables) table.kind = "grouped";
  settings_.Complete();
  Made(2, 1);
  for (const size_t t : {0, 1}) {
    settings_.tables[t].kind = "plain";
    settings_.tables[t].kind_options = {{"share", "ids"}};
    settings_.tables[t].rows = 100000;
  }
  settings_.Complete();
  EXPECT_THAT(Refusal(2, 1), HasSubstr("is shared and pooled on the shards"));
  settings_.training.accumulation = 1;
  Made(2, 1);
}

TEST_F(PlanOfRun, ThatHidesRowsFromTheirL2IsRefused) {
  settings_.training.lookup_l2 = 0.5;
  Made(2, 1);
  settings_.sharding.pool_on = "shards";
  settings_.sharding.strategy = "table_wise_lpt";
  settings_.Complete();
  EXPECT_THAT(Refusal(2, 1), HasSubstr("lookup_l2=0.5 needs the rows of table \""));
  settings_.training.lookup_l2 = 0.0;
  Made(2, 1);
}

TEST_F(PlanOfRun, GivesEachNodeWhatItsCapacitySays) {
  settings_.sharding.capacities = {3, 1};
  // Some read them; whole tables of 100,000, 30 and 2,000 rows go to the larger node but for one.
  for (const std::string strategy : {"row_wise", "row_wise_hashed", "fair"}) {
    settings_.sharding.strategy = strategy;
    settings_.Complete();
    EXPECT_OK(settings_.Validate());
    const PlanLoad load = LoadOf(settings_.embedding.physical, Made(2, 2), nullptr);
    const double first = load.shards[0].rows + load.shards[1].rows;
    EXPECT_NEAR(first, 0.75 * 102030, 4) << strategy;
    EXPECT_NEAR(load.shards[0].rows, load.shards[1].rows, 4) << "the shards of a node share it";
  }
  settings_.sharding.capacities = {1, 90};
  settings_.sharding.strategy = "table_wise_lpt";
  const PlanLoad load = LoadOf(settings_.embedding.physical, Made(2, 1), nullptr);
  EXPECT_GE(load.shards[1].rows, 100000);
  settings_.sharding.capacities = {1, 2, 3};
  EXPECT_THAT(Refusal(2, 1), HasSubstr("capacities=1,2,3: 3 weights for 2 PS nodes"));
  EXPECT_THAT(Refusal(1, 3), HasSubstr("3 weights for 1 PS node;"));
}

TEST(PlanFlags, OfStrategiesBesideAPlanAreRefused) {
  const auto made = [](std::vector<const char*> flags) {
    flags.insert(flags.begin(), {"rowhouse"});
    const Result<CommandLine> line = ParseCommandLine(static_cast<int>(flags.size()), flags.data());
    return MakeSettings(line.value()).status();
  };
  for (const char* flag : {"--strategy=grid", "--strategy=row_wise", "--capacities=2,1",
                           "--row_cuts=2", "--column_cuts=2", "--strategy_seed=5", "--hot_rows=3",
                           "--access_counts=x", "--pool_on=shards", "--pool_on=workers"}) {
    EXPECT_THAT(made({"train", "--plan=p.json", flag}).message(),
                AllOf(HasSubstr(flag), HasSubstr("--plan=p.json"), HasSubstr("only one")));
  }
  EXPECT_OK(made({"train", "--plan=p.json"}));
  EXPECT_OK(made({"train", "--strategy=grid", "--row_cuts=2"}));
  EXPECT_OK(made({"plan", "--plan=p.json", "--access_counts=x"}));
}

// ---- What is printed ----------------------------------------------------------------------------

TEST_F(PlanOfRun, PrintsALineAShardAndWhatLivesOnTheWorkers) {
  AccessCounts counts = CountsByRank(settings_.embedding.physical);
  settings_.sharding.strategy = "skew_aware";
  settings_.sharding.options.hot_rows = 2;
  const PlanFile file{.strategy = "skew_aware",
                      .ps = 2,
                      .shards_per_ps = 1,
                      .plan = PlanOf(settings_, 2, 1, &counts).value()};
  const std::string text = PlanText(file, settings_.embedding.physical, &counts);
  EXPECT_THAT(text, HasSubstr("skew_aware: 3 tables on 2 PS nodes of 1 shard; 2.34 MiB"));
  EXPECT_THAT(text, HasSubstr("\nPS node  shard "));
  EXPECT_THAT(text, HasSubstr("max/mean: bytes "));
  EXPECT_THAT(text, HasSubstr(", accesses 1.0"));
  EXPECT_THAT(text, HasSubstr("on each worker: 48 B"));
  EXPECT_THAT(text, HasSubstr("single rows: 2 of t1"));
  const std::string uncounted = PlanText(file, settings_.embedding.physical, nullptr);
  EXPECT_THAT(uncounted, testing::Not(HasSubstr("accesses 1.0")));
}

TEST(IdCountsText, SaysHowHotTheTopIs) {
  AccessCounter small("small", 1000), large("large", uint64_t{1} << 40);
  for (uint64_t row = 0; row < 1000; ++row) small.Add(row, row < 10 ? 91 : row < 100 ? 1 : 0);
  for (uint64_t row = 0; row < 20000; ++row) large.Add(row << 20, 1);
  const IdCounts counts{.counts = {.tables = {small.Finish(), large.Finish()}},
                        .rows_touched = {100, 20000},
                        .samples = 1234,
                        .rows_pulled = {77, 20000}};
  const std::string text = IdCountsText(counts);
  EXPECT_THAT(text, HasSubstr("1,234 samples"));
  EXPECT_THAT(text, HasSubstr("91.00 %"));
  EXPECT_THAT(text, HasSubstr("9.10 %  0 (9.10 %) 1 (9.10 %) 2 (9.10 %)"));
  EXPECT_THAT(text, HasSubstr("> 40.96 %")) << "of the 8192 rows that are known";
}

}  // namespace
}  // namespace rowhouse
