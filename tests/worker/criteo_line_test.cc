// Expected numbers are those of DLRM's own preprocessing (vectors criteo_reader.json).
#include "worker/data/criteo_line.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

// A good line whose field `replaced` (0 is the label) is `text`.
std::string LineWith(size_t replaced, const std::string& text) {
  std::string line;
  for (size_t field = 0; field < CriteoLine::kFields; ++field) {
    if (field > 0) line += '\t';
    line += field == replaced ? text : field == 0 ? "1" : "7";
  }
  return line;
}

TEST(CriteoLine, FieldsAreWhatDlrmReads) {
  const auto vectors = LoadVectors("criteo_reader.json");
  const auto& expected = vectors["parsed"][0];
  ASSERT_EQ(expected["max_ind_range"], -1);
  for (size_t i = 0; i < 3; ++i) {
    std::string text = vectors["text_lines"][i];
    text.pop_back();  // the line's end
    CriteoLine line;
    ASSERT_OK(ParseCriteoLine(text, &line));
    EXPECT_EQ(line.label, expected["labels"][i].get<uint8_t>());
    for (size_t k = 0; k < CriteoLine::kIntegers; ++k) {
      EXPECT_EQ(line.integers[k], expected["raw_dense"][i][k].get<int32_t>());
    }
    for (size_t k = 0; k < CriteoLine::kTokens; ++k) {
      // DLRM wraps tokens to int32; the bits are the same.
      EXPECT_EQ(line.tokens[k],
                static_cast<uint32_t>(expected["raw_cat_int32"][i][k].get<int32_t>()));
    }
  }
}

TEST(CriteoLine, NumbersReachTheirLimitsAndNotBeyond) {
  CriteoLine line;
  ASSERT_OK(ParseCriteoLine(LineWith(1, "-2147483648"), &line));
  EXPECT_EQ(line.integers[0], -2147483648);
  ASSERT_OK(ParseCriteoLine(LineWith(39, "FFffFFff"), &line));
  EXPECT_EQ(line.tokens[25], 0xffffffffu);
  EXPECT_FALSE(ParseCriteoLine(LineWith(1, "2147483648"), &line).ok());
  EXPECT_FALSE(ParseCriteoLine(LineWith(39, "000000001"), &line).ok());
}

TEST(CriteoLine, NegativeIntegersBecomeZero) {}

void ExpectRefused(const std::string& text, const std::string& message) {
  CriteoLine line;
  const Status status = ParseCriteoLine(text, &line);
  EXPECT_EQ(status.code(), StatusCode::kUsage) << text;
  EXPECT_THAT(status.message(), testing::StartsWith(message)) << text;
}

TEST(CriteoLine, AMistakeIsNamedByColumnFieldAndExpectation) {
  ExpectRefused(LineWith(0, "2"), "1: the label is \"2\", expected 0 or 1");
  ExpectRefused(LineWith(0, ""), "1: the label is \"\", expected 0 or 1");
  ExpectRefused(LineWith(2, "1.5"), "5: field 3 (integer I2) is \"1.5\", expected nothing or an");
  ExpectRefused(LineWith(2, "+1"), "5: field 3 (integer I2) is \"+1\"");
  ExpectRefused(LineWith(2, " 1"), "5: field 3 (integer I2) is \" 1\"");
  ExpectRefused(LineWith(14, "xyz"), "29: field 15 (token C1) is \"xyz\", expected nothing or up");
  ExpectRefused(LineWith(14, "-1"), "29: field 15 (token C1) is \"-1\"");
  ExpectRefused(LineWith(14, "0x1"), "29: field 15 (token C1) is \"0x1\"");
  ExpectRefused(LineWith(14, "\x1b[2J"), "29: field 15 (token C1) is \"?[2J\"");
  ExpectRefused(LineWith(39, "123456789"), "79: field 40 (token C26) is \"123456789\"");
}

TEST(CriteoLine, TooFewAndTooManyFieldsAreCounted) {
  ExpectRefused("1\t2\t3", "6: the line has 3 fields, expected 40");
  ExpectRefused(LineWith(1, "7") + "\tx", "80: the line has 41 fields, expected 40");
  ExpectRefused("", "1: the line has 1 fields, expected 40");
}

RC_GTEST_PROP(CriteoLineProperty, PrintedNumbersComeBack, (bool label)) {
  const auto integers =
      *rc::gen::container<std::vector<int32_t>>(13, rc::gen::arbitrary<int32_t>());
  const auto tokens =
      *rc::gen::container<std::vector<uint32_t>>(26, rc::gen::arbitrary<uint32_t>());
  std::string text = label ? "1" : "0";
  for (const int32_t integer : integers) text += fmt::format("\t{}", integer);
  for (const uint32_t token : tokens) text += fmt::format("\t{:08x}", token);
  CriteoLine line;
  RC_ASSERT(ParseCriteoLine(text, &line).ok());
  RC_ASSERT(line.label == label);
  RC_ASSERT(std::equal(integers.begin(), integers.end(), line.integers.begin()));
  RC_ASSERT(std::equal(tokens.begin(), tokens.end(), line.tokens.begin()));
}

RC_GTEST_PROP(CriteoLineProperty, NoBytesUpsetTheParser, (const std::string& bytes)) {
  CriteoLine line;
  (void)ParseCriteoLine(bytes, &line);
  (void)ParseCriteoLine(LineWith(5, bytes), &line);
}

}  // namespace
}  // namespace rowhouse
