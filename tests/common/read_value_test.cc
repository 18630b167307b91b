#include "common/read_value.h"

#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

TEST(ReadValue, NumbersAreTheWholeText) {
  EXPECT_EQ(ReadWhole("42"), 42u);
  EXPECT_EQ(ReadWhole("18446744073709551615"), UINT64_MAX);
  EXPECT_EQ(ReadInteger("-1"), -1);
  EXPECT_EQ(ReadInteger("-9223372036854775808"), INT64_MIN);
  EXPECT_EQ(ReadReal("1e-10"), 1e-10);
  for (const char* text : {"", " 1", "1 ", "1x", "-1", "18446744073709551616", "0x", "0xg", "+1"}) {
    EXPECT_EQ(ReadWhole(text), std::nullopt) << text;
  }
  EXPECT_EQ(ReadInteger("9223372036854775808"), std::nullopt);
  EXPECT_EQ(ReadInteger("--1"), std::nullopt);
  for (const char* text : {"", "nan", "inf", "1e999", "1,5", "0.5f"}) {
    EXPECT_EQ(ReadReal(text), std::nullopt) << text;
  }
}

TEST(ReadValue, WholeNumbersMayBeWrittenShort) {
  for (const char* text : {"4000000", "4_000_000", "4e6", "4E6", "4e+6", "0.4e7", "0x3d0900",
                           "0x3d_0900", "4000000000e-3"}) {
    EXPECT_EQ(ReadWhole(text), 4000000u) << text;
  }
  EXPECT_EQ(ReadInteger("-1e3"), -1000);
  EXPECT_EQ(ReadWhole("0e99"), 0u);
  EXPECT_EQ(ReadReal("1_000.5"), 1000.5);
}

TEST(ReadValue, AFractionIsNoWholeNumber) {
  for (const char* text : {"1.5", "1.0", "15e-1", "1.55e1", "1e20", "1e", "e6", ".5e1", "5.e1",
                           "1_", "_1", "1__0", "1e1.5", "1.2.3e9", "4GB"}) {
    EXPECT_EQ(ReadWhole(text), std::nullopt) << text;
  }
}

TEST(ReadValue, SizesTakeAUnit) {
  constexpr uint64_t kMiB = uint64_t{1} << 20;
  for (const char* text :
       {"4096", "4GB", "4G", "4GiB", "4 GiB", "4gb", "4096MB", "4_096m", "4e3MB", "4194304K"}) {
    EXPECT_EQ(ReadSize(text, kMiB), std::string(text) == "4e3MB" ? 4000u : 4096u) << text;
  }
  EXPECT_EQ(ReadSize("1.5GB", kMiB), 1536u);
  EXPECT_EQ(ReadSize("512MiB", 1), 512 * kMiB);
  EXPECT_EQ(ReadSize("1TB", kMiB), kMiB);
  for (const char* text : {"", "GB", "4XB", "4GBs", "512KB", "-1GB", "1.5", "4G B", "4  GB"}) {
    EXPECT_EQ(ReadSize(text, kMiB), std::nullopt) << text;
  }
}

TEST(ReadValue, BoolsAreWords) {
  for (const char* text : {"true", "True", "TRUE", "yes", "1", "on"}) {
    EXPECT_EQ(ReadBool(text), true) << text;
  }
  for (const char* text : {"false", "False", "no", "0", "off"}) {
    EXPECT_EQ(ReadBool(text), false) << text;
  }
  for (const char* text : {"", "2", "tru", "nope"}) EXPECT_EQ(ReadBool(text), std::nullopt);
}

TEST(ReadValue, ListsAreCutAtDashesUnlessThereIsAComma) {
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
