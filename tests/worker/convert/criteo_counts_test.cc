// How many rows the tables of Criteo's data need.

#include <fstream>
#include <set>

#include "common/random.h"
#include "tests/testing/testing.h"
#include "worker/data/convert/prepared_text.h"

namespace rowhouse {
namespace {

using testing::HasSubstr;

constexpr size_t kCriteoTokens = 26;

// A line whose 26 tokens are all `token`.
std::string Line(const std::string& label, const std::string& token) {
  std::string line = label + std::string(13, '\t');
  for (size_t i = 0; i < kCriteoTokens; ++i) line += "\t" + token;
  return line + "\n";
}

class CriteoCountsTest : public testing::Test {
 protected:
  void Write(const std::string& name, const std::string& text) {
    std::ofstream(dir_ / name, std::ios::binary) << text;
  }
  TempDir dir_;
};

TEST_F(CriteoCountsTest, RowsAreDifferentTokensOverAllDays) {
  Write("day_0", Line("0", "a") + Line("1", "b") + "\n");
  Write("day_1", Line("0", "a") + Line("1", "10b"));
  DatasetOptions options = {.file = dir_ / "day"};
  EXPECT_EQ(CountCriteoIds(options).value(), std::vector<uint64_t>(kCriteoTokens, 3));
  options.flags["max_ind_range"] = "256";
  EXPECT_EQ(CountCriteoIds(options).value(), std::vector<uint64_t>(kCriteoTokens, 2));
}

TEST_F(CriteoCountsTest, WhatIsMissingOrWrongIsNamed) {
  DatasetOptions options = {.file = dir_ / "day"};
  EXPECT_THAT(CountCriteoIds(options).status().message(), HasSubstr("No such file"));
  Write("day", "");
  EXPECT_THAT(CountCriteoIds(options).status().message(), HasSubstr("is empty"));
  Write("day", Line("0", "a") + Line("2", "b"));
  EXPECT_THAT(CountCriteoIds(options).status().message(), HasSubstr("day:2:1: the label is \"2\""));
  options.text.max_bad_lines = 1;
  EXPECT_EQ(CountCriteoIds(options).value()[0], 1u);
}

// Most tokens share an upper half, whose set becomes bits.
TEST_F(CriteoCountsTest, CountsAsASetDoesAlsoWhenPartsAreFull) {
  std::set<uint32_t> expected;
  SplitMix64 random(5);
  std::string text;
  for (int i = 0; i < 12000; ++i) {
    const uint64_t bits = random.Next();
    const auto token = static_cast<uint32_t>(i % 4 == 0 ? bits : bits & 0x3fff) | 1;
    text += "0" + std::string(13, '\t') + fmt::format("\t{:x}", token) +
            std::string(kCriteoTokens - 1, '\t') + "\n";
    expected.insert(token);
  }
  Write("day", text);
  EXPECT_GT(expected.size(), 4096u + 3000u);
  EXPECT_EQ(CountCriteoIds({.file = dir_ / "day"}).value()[0], expected.size());
}

}  // namespace
}  // namespace rowhouse
