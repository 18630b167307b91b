#include "launch/settings/setting_text.h"

#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

TEST(SettingText, NumbersAreTheWholeText) {
  EXPECT_EQ(ReadWhole("42"), 42u);
  EXPECT_EQ(ReadWhole("18446744073709551615"), UINT64_MAX);
  EXPECT_EQ(ReadInteger("-1"), -1);
  EXPECT_EQ(ReadReal("1e-10"), 1e-10);
  for (const char* text : {"", " 1", "1 ", "1x", "0x10", "1_000", "-1", "18446744073709551616"}) {
    EXPECT_EQ(ReadWhole(text), std::nullopt) << text;
  }
  for (const char* text : {"", "nan", "inf", "1e999", "1,5", "0.5f"}) {
    EXPECT_EQ(ReadReal(text), std::nullopt) << text;
  }
}

TEST(SettingText, BoolsAreWords) {
  for (const char* text : {"true", "True", "TRUE", "yes", "1", "on"}) {
    EXPECT_EQ(ReadBool(text), true) << text;
  }
  for (const char* text : {"false", "False", "no", "0", "off"}) {
    EXPECT_EQ(ReadBool(text), false) << text;
  }
  for (const char* text : {"", "2", "tru", "nope"}) EXPECT_EQ(ReadBool(text), std::nullopt);
}

TEST(SettingText, ListsAreCutAtDashesUnlessThereIsAComma) {
  using List = std::vector<std::string>;
  EXPECT_EQ(SplitList("512-256-1"), (List{"512", "256", "1"}));
  EXPECT_EQ(SplitList("1e-05,2"), (List{"1e-05", "2"}));
  EXPECT_EQ(SplitList("7"), (List{"7"}));
  EXPECT_EQ(SplitList(""), List{});
  EXPECT_EQ(SplitList("4--2"), (List{"4", "", "2"}));
  EXPECT_EQ(SplitAtCommas("a-b:1,c"), (List{"a-b:1", "c"}));
}

}  // namespace
}  // namespace rowhouse
