#include "worker/data/criteo_reader.h"

#include <fstream>

#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

using testing::HasSubstr;

// A line whose 26 tokens are all `token`.
std::string Line(const std::string& label, const std::string& token) {
  std::string line = label + std::string(CriteoLine::kIntegers, '\t');
  for (size_t i = 0; i < CriteoLine::kTokens; ++i) line += "\t" + token;
  return line + "\n";
}

class CriteoReaderTest : public testing::Test {
 protected:
  void Write(const std::string& name, const std::string& text) {
    std::ofstream(dir_ / name, std::ios::binary) << text;
  }

  // The first tokens of all lines; the digest in *digest.
  Result<std::vector<uint32_t>> Read(const std::string& data_set, std::string* digest = nullptr) {
    ASSIGN_OR_RETURN(CriteoReader reader, CriteoReader::Open(dir_ / "day", data_set));
    std::vector<uint32_t> tokens;
    CriteoLine line;
    for (;;) {
      ASSIGN_OR_RETURN(const bool more, reader.Next(&line));
      if (!more) break;
      tokens.push_back(line.tokens[0]);
    }
    if (digest != nullptr) *digest = reader.digest();
    return tokens;
  }

  TempDir dir_;
};

TEST_F(CriteoReaderTest, DaysAreReadAsOneInTheirOrder) {
  Write("day_0", Line("0", "a") + Line("1", "b") + "\n");  // A blank line may end a file.
  Write("day_1", Line("0", "c"));
  for (int day = 2; day <= 10; ++day) Write(fmt::format("day_{}", day), Line("1", "d"));
  Write("day_10", Line("1", "e"));
  std::string digest, other;
  EXPECT_EQ(Read("terabyte", &digest).value(),
            (std::vector<uint32_t>{10, 11, 12, 13, 13, 13, 13, 13, 13, 13, 13, 14}));
  EXPECT_EQ(CountCriteoIds({.file = dir_ / "day", .data_set = "terabyte"}).value(),
            std::vector<uint64_t>(CriteoLine::kTokens, 5));
  Write("day_1", Line("1", "c"));
  ASSERT_OK(Read("terabyte", &other));
  EXPECT_NE(other, digest) << "a byte of one day has changed";

  Write("day", Line("0", "f"));  // A file of just this name is read by itself.
  EXPECT_EQ(Read("terabyte").value(), std::vector<uint32_t>{15});
  EXPECT_EQ(Read("kaggle").value(), std::vector<uint32_t>{15});
}

TEST_F(CriteoReaderTest, WhatIsMissingOrWrongIsNamedWithItsFile) {
  EXPECT_THAT(Read("terabyte").status().message(), HasSubstr("day_0\""));
  EXPECT_EQ(Read("kaggle").status().exit_code(), 2);
  Write("day_0", Line("0", "a"));
  Write("day_1", Line("0", "a") + Line("2", "b"));
  EXPECT_THAT(Read("terabyte").status().message(), HasSubstr("day_1:2:1: the label is \"2\""));
  Write("day_1", Line("0", "a") + "\n" + Line("1", "b"));
  EXPECT_THAT(Read("terabyte").status().message(), HasSubstr("day_1:2:1: the line is empty"));
  Write("day_3", Line("0", "a"));
  EXPECT_THAT(Read("terabyte").status().message(),
              testing::AllOf(HasSubstr("day_2\" is missing"), HasSubstr("day_3\" is there")));
}

}  // namespace
}  // namespace rowhouse
