#include "launch/settings/going_on.h"

#include <fmt/format.h>

#include "launch/settings/yaml_config.h"
#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

using testing::HasSubstr;

Settings ReadGoingOn(const std::string& yaml) {
  Settings settings;
  const Status read = ReadYamlText(yaml, "config.yaml", &settings);
  EXPECT_OK(read);
  settings.Complete();
  return settings;
}

constexpr const char* kModel =
    "model: {{arch_mlp_top: {}}}\n"
    "data: {{data_generation: synthetic, data_size: {}, synthetic_test_samples: {}}}\n"
    "training: {{learning_rate: {}, threads: {}}}\n"
    "tables:\n"
    "  list:\n"
    "    - {{name: user, rows: {}, learning_rate: {}}}\n"
    "    - {{name: {}, rows: 9}}\n";

struct Choice {
  std::string top = "4-1";
  int data_size = 100, test_samples = 10;
  double rate = 0.5;
  int threads = 1, rows = 7;
  double rate_of_user = 0.25;
  std::string second = "item";
  Settings settings() const {
    return ReadGoingOn(fmt::format(fmt::runtime(kModel), top, data_size, test_samples, rate,
                                   threads, rows, rate_of_user, second));
  }
};

TEST(GoingOn, DataAndRateMayChange) {
  const Settings before = Choice().settings();
  const Settings now =
      Choice{.data_size = 300, .test_samples = 0, .rate = 0.125, .rate_of_user = 1}.settings();
  EXPECT_EQ(ModelSettingsDigest(before), ModelSettingsDigest(now));
  EXPECT_TRUE(ForbiddenChanges(before, now).empty());
  const std::string text = ChangesText(AllowedChanges(before, now));
  EXPECT_THAT(text, HasSubstr("learning_rate 0.125 (was 0.5)"));
  EXPECT_THAT(text, HasSubstr("data_size 300 (was 100), synthetic_test_samples 0 (was 10)"));
}

TEST(GoingOn, WhatMayNotChangeIsNamedWithBothValues) {
  const Settings before = Choice().settings();
  const Settings now = Choice{.top = "8-1", .threads = 2, .rows = 8, .second = "shop"}.settings();
  EXPECT_NE(ModelSettingsDigest(before), ModelSettingsDigest(now));
  EXPECT_EQ(ChangesText(ForbiddenChanges(before, now)),
            "arch_embedding_size 8-9 (was 7-9), arch_mlp_top 8-1 (was 4-1), threads 2 (was 1), "
            "table user: rows 8 (was 7), "
            "the name of table 1 shop (was item)");
  EXPECT_TRUE(AllowedChanges(before, now).empty());
}

TEST(GoingOn, AnotherNumberOfTablesIsOneChange) {
  const Settings before = Choice().settings();
  EXPECT_THAT(ChangesText(ForbiddenChanges(before, ReadGoingOn("{}"))),
              HasSubstr("the number of tables 3 (was 2)"));
}

TEST(GoingOn, SamplesAreKnownByTheSettingsThatChooseThem) {
  const std::string digest = DataSettingsDigest(Choice().settings());
  EXPECT_EQ(DataSettingsDigest(Choice{.rate = 0.125, .threads = 2}.settings()), digest);
  EXPECT_NE(DataSettingsDigest(Choice{.data_size = 300}.settings()), digest);
  const std::string of_file = DataSettingsDigest(ReadGoingOn("data: {data: a/x.tsv}\n"));
  EXPECT_EQ(DataSettingsDigest(ReadGoingOn("data: {data: b/y.tsv}\n")), of_file)
      << "its content counts";
  EXPECT_NE(DataSettingsDigest(ReadGoingOn("data: {data: a/x.tsv, test_fraction: 0.1}\n")),
            of_file);
  EXPECT_NE(DataSettingsDigest(ReadGoingOn("data: {data: a/x.tsv, data_randomize: none}\n")),
            of_file);
  EXPECT_NE(DataSettingsDigest(ReadGoingOn("data: {data: a/x.tsv, test_data: t.tsv}\n")), of_file);
}

}  // namespace
}  // namespace rowhouse
