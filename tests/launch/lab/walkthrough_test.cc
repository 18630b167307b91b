// bench walkthrough and its config mean the same run; the figures beside it are the walkthrough's.
#include "launch/lab/walkthrough.h"

#include "launch/command_line/command_line.h"
#include "launch/command_line/made_settings.h"
#include "launch/settings/setting_fields.h"
#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

Settings SettingsOf(std::vector<std::string> flags) {
  std::vector<const char*> argv = {"rowhouse", "train"};
  for (const std::string& flag : flags) argv.push_back(flag.c_str());
  const auto command_line = ParseCommandLine(static_cast<int>(argv.size()), argv.data());
  EXPECT_OK(command_line);
  auto settings = MakeSettings(command_line.value());
  EXPECT_OK(settings);
  return settings.value();
}

TEST(WalkthroughTest, TheLargerModelIsThatOfTheConfig) {
  const WalkthroughRow& row = WalkthroughRows()[2];
  ASSERT_TRUE(row.is_larger_model);
  const Settings config =
      SettingsOf({"--config=" ROWHOUSE_SOURCE_DIR "/configs/dlrm_walkthrough.yaml"});
  EXPECT_OK(config.Validate());
  const Settings flags = SettingsOf(row.Flags(true));
  EXPECT_OK(flags.Validate());
  for (const SettingField& field : SettingFields()) {
    EXPECT_EQ(field.get(config), field.get(flags)) << field.name;
  }
  EXPECT_EQ(config.tables, flags.tables);
}

TEST(WalkthroughTest, RatesThereAreAsPublished) {
  const auto rows = WalkthroughRows();
  ASSERT_EQ(rows.size(), 4u);
  EXPECT_NEAR(rows[0].samples_per_second(), 11111, 1);
  EXPECT_NEAR(rows[1].samples_per_second(), 8333, 1);
  EXPECT_NEAR(rows[2].samples_per_second(), 1923, 1);
  EXPECT_NEAR(rows[3].samples_per_second(), 1979, 1);
}

TEST(WalkthroughTest, EveryRowIsARunThatIsValid) {
  for (const WalkthroughRow& row : WalkthroughRows()) {
    for (const bool is_long : {false, true}) {
      EXPECT_OK(SettingsOf(row.Flags(is_long)).Validate());
      EXPECT_EQ(row.samples_here(is_long) * (is_long ? 1 : row.divisor), row.samples);
    }
  }
}

}  // namespace
}  // namespace rowhouse
