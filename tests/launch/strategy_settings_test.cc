// Settings of strategies that nobody reads are mistakes.
#include "launch/settings/strategy_settings.h"

#include <fstream>

#include "launch/command_line/command_line.h"
#include "launch/command_line/made_settings.h"
#include "tests/launch/given_settings.h"

namespace rowhouse {
namespace {

using testing::AllOf;
using testing::HasSubstr;

std::string StrategySettingsRefusal(
    const std::vector<std::pair<std::string, std::string>>& values) {
  return Refusal(WithAll(values));
}

TEST(StrategySettings, ThatNoStrategyReadsAreRefusedByName) {
  EXPECT_THAT(StrategySettingsRefusal({{"row_cuts", "2"}}),
              HasSubstr("row_cuts=2: strategy row_wise has no use for it; it is for grid"));
  EXPECT_THAT(StrategySettingsRefusal({{"strategy", "column_wise"}, {"row_cuts", "2"}}),
              HasSubstr("row_cuts=2"));
  EXPECT_THAT(StrategySettingsRefusal({{"column_cuts", "2"}}),
              HasSubstr("it is for column_wise, grid"));
  EXPECT_THAT(StrategySettingsRefusal({{"strategy", "fair"}, {"strategy_seed", "5"}}),
              HasSubstr("strategy_seed=5: strategy fair has no use for it; it is for "
                        "row_wise_hashed, table_wise_shuffle"));
  EXPECT_THAT(StrategySettingsRefusal({{"strategy", "grid"}, {"hot_rows", "5"}}),
              HasSubstr("for skew_aware"));
  for (const std::string name :
       {"column_wise", "grid", "replicated", "table_wise_round_robin", "table_wise_shuffle"}) {
    EXPECT_THAT(StrategySettingsRefusal({{"strategy", name}, {"capacities", "2,1"}}),
                HasSubstr("capacities=2,1: strategy " + name +
                          " has no use for it; it is for fair, "
                          "row_wise, row_wise_hashed, skew_aware, table_wise_greedy, "
                          "table_wise_lpt"));
  }
  // At its default it says nothing.
  EXPECT_EQ(
      StrategySettingsRefusal({{"hot_rows", "1024"}, {"strategy_seed", "111"}, {"row_cuts", "0"}}),
      "accepted");
  EXPECT_EQ(
      StrategySettingsRefusal({{"strategy", "grid"}, {"row_cuts", "2"}, {"column_cuts", "1"}}),
      "accepted");
  EXPECT_EQ(StrategySettingsRefusal({{"strategy", "column_wise"}, {"column_cuts", "1"}}),
            "accepted");
  EXPECT_EQ(StrategySettingsRefusal({{"strategy", "row_wise_hashed"}, {"strategy_seed", "5"}}),
            "accepted");
  EXPECT_EQ(StrategySettingsRefusal({{"strategy", "skew_aware"}, {"hot_rows", "5"}}), "accepted");
}

TEST(StrategySettings, AreForTablesWithAStrategyOfTheirOwnToo) {
  Settings settings = WithAll({{"row_cuts", "2"}});
  settings.tables[1].strategy = "grid";
  settings.Complete();
  EXPECT_OK(settings.Validate());
  // All tables have others than the run's.
  settings = WithAll({{"strategy", "grid"}, {"row_cuts", "2"}});
  for (LogicalTable& table : settings.tables) table.strategy = "fair";
  settings.Complete();
  EXPECT_THAT(settings.Validate().message(), HasSubstr("strategy fair has no use"));
}

TEST(StrategySettings, SeedsAreThoseOfNumpy) {
  Settings settings;
  const SettingField& seed = *FindSettingField("strategy_seed");
  EXPECT_OK(seed.set("4294967295", settings));
  EXPECT_EQ(seed.set("4294967296", settings).message(),
            "expected a whole number from 0 to 4294967295");
}

TEST(StrategySettings, CapacitiesAreNumbersFromOne) {
  Settings settings;
  const SettingField& capacities = *FindSettingField("capacities");
  for (const char* wrong : {"0", "1,0", "-1", "1,-2", "1,,2", "1,x", "1.5", "4294967296", "1-2"}) {
    EXPECT_THAT(capacities.set(wrong, settings).message(),
                HasSubstr("expected whole numbers from 1 to 4294967295, one a PS node"))
        << wrong;
  }
  EXPECT_OK(capacities.set("3,1", settings));
  EXPECT_EQ(settings.sharding.capacities, (std::vector<uint32_t>{3, 1}));
}

// A plan is made anew from a model's config, whose strategy is another.
TEST(StrategySettings, OfTheMeasuredRunAreForgottenAndGivenOnesAreNot) {
  const TempDir dir;
  std::ofstream(dir / "config.yaml") << "cluster: {strategy: grid, row_cuts: 3, hot_rows: 5}\n";
  const std::string measured = "--measured=" + std::string(dir / "");
  const auto made = [&](std::vector<std::string> flags) {
    std::vector<const char*> words = {"rowhouse", "plan", measured.c_str()};
    for (const std::string& flag : flags) words.push_back(flag.c_str());
    return MakeSettings(ParseCommandLine(static_cast<int>(words.size()), words.data()).value())
        .value();
  };
  const Settings again = made({});
  EXPECT_OK(again.Validate(/*reads_data=*/false));
  EXPECT_EQ(again.sharding.strategy, "skew_aware");
  EXPECT_EQ(again.sharding.options.row_cuts, 0u);
  EXPECT_EQ(again.sharding.options.hot_rows, 5u);
  EXPECT_EQ(made({"--strategy=grid"}).sharding.options.row_cuts, 3u);
  EXPECT_THAT(made({"--row_cuts=2"}).Validate(false).message(),
              AllOf(HasSubstr("row_cuts=2"), HasSubstr("skew_aware")));
}

}  // namespace
}  // namespace rowhouse
