// Expected numbers are those of DLRM's own preprocessing (vectors criteo_reader.json).
#include <cmath>

#include "common/numpy_random.h"
#include "tests/testing/testing.h"
#include "worker/data/text/text_format.h"
// After gtest.
#include <rapidcheck/gtest.h>

namespace rowhouse {
namespace {

using testing::HasSubstr;

TextChunk ChunkOf(const std::string& text, uint64_t first_line = 1, uint64_t lines_before = 0) {
  TextChunk chunk;
  chunk.file_name = "day";
  chunk.first_line = first_line;
  chunk.lines_before = lines_before;
  chunk.first_record = std::make_shared<const std::string>(text.substr(0, text.find('\n')));
  chunk.bytes = text;
  return chunk;
}

std::unique_ptr<TextFormat> Format(const TextFormatOptions& options = {}) {
  return TextFormats().Make("criteo", options).value();
}

std::string CriteoFormatLine(int label, uint32_t number) {
  std::string line = fmt::format("{}\t{}", label, number);
  for (int i = 1; i < 13; ++i) line += '\t';
  for (uint32_t i = 0; i < 26; ++i) line += fmt::format("\t{:08x}", number * 31 + i);
  return line + "\n";
}

TEST(CriteoFormat, RawSamplesAreDlrms) {
  const auto vectors = LoadVectors("criteo_reader.json");
  const auto& expected = vectors["parsed"][0];
  std::string text;
  for (const auto& line : vectors["text_lines"]) text += line.get<std::string>();
  Batch raw;
  std::vector<BadLine> bad;
  ASSERT_OK(Format()->Parse(ChunkOf(text), &raw, &bad));
  EXPECT_TRUE(bad.empty());
  ASSERT_EQ(raw.samples, 3u);
  EXPECT_EQ(raw.labels, expected["labels"].get<std::vector<float>>());
  for (size_t s = 0; s < 3; ++s) {
    for (size_t k = 0; k < 13; ++k) {
      const float value = raw.dense[s * 13 + k];
      EXPECT_EQ(std::isnan(value) ? 0 : value, expected["raw_dense"][s][k].get<float>());
    }
    for (size_t k = 0; k < 26; ++k) {
      EXPECT_EQ(raw.features[k].ids[s],
                static_cast<uint32_t>(expected["raw_cat_int32"][s][k].get<int32_t>()));
    }
  }
}

TEST(CriteoFormat, TheSchemaIsKnownAndTakesTheModelsTables) {
  const Schema plain = Format()->schema();
  EXPECT_EQ(plain.dense.size(), 13u);
  EXPECT_EQ(plain.dense[2].name, "I3");
  EXPECT_EQ(plain.dense[2].transform, "log1p");
  EXPECT_EQ(plain.categorical[25].name, "C26");
  EXPECT_EQ(plain.categorical[25].ids, "modulo");
  TextFormatOptions options;
  options.flags["id_mapping"] = "dictionary";
  options.flags["max_ind_range"] = "7";
  options.table_rows.assign(26, 5);
  options.table_names.assign(26, "t");
  const Schema schema = Format(options)->schema();
  EXPECT_EQ(schema.categorical[3].name, "t");
  EXPECT_EQ(schema.categorical[3].ids, "dictionary");
  EXPECT_EQ(schema.categorical[3].rows, 5u);
  EXPECT_EQ(schema.categorical[3].max_ind_range, 7u);
  options.flags["id_mapping"] = "hsh";
  EXPECT_THAT(TextFormats().Make("criteo", options).status().message(),
              HasSubstr("id_mapping=hsh: expected one of hash, dictionary"));
}

TEST(CriteoFormat, BadLinesAreLeftOutAndNamed) {
  const std::string text = CriteoFormatLine(1, 1) + "1\t2\n" + CriteoFormatLine(0, 2) + "\n" + "7" +
                           CriteoFormatLine(0, 3) + CriteoFormatLine(1, 4);
  Batch raw;
  std::vector<BadLine> bad;
  ASSERT_OK(Format()->Parse(ChunkOf(text, 101), &raw, &bad));
  EXPECT_EQ(raw.samples, 3u);
  EXPECT_EQ(raw.labels, (std::vector<float>{1, 0, 1}));
  EXPECT_EQ(raw.dense[2 * 13], 4);
  ASSERT_EQ(bad.size(), 3u);
  EXPECT_EQ(bad[0].line, 102u);
  EXPECT_THAT(bad[0].message, HasSubstr("day:102:4: the line has 2 fields, expected 40"));
  EXPECT_THAT(bad[1].message, HasSubstr("day:104:1: the line is empty"));
  EXPECT_THAT(bad[2].message, HasSubstr("day:105:1: the label is \"70\""));
}

// A good line whose field `replaced` (0 is the label) is `text`.
std::string LineWith(size_t replaced, const std::string& text) {
  std::string line;
  for (size_t field = 0; field < 40; ++field) {
    if (field > 0) line += '\t';
    line += field == replaced ? text : field == 0 ? "1" : "7";
  }
  return line;
}

TEST(CriteoFormat, NumbersReachTheirLimitsAndNotBeyond) {
  Batch raw;
  std::vector<BadLine> bad;
  const std::string text = LineWith(1, "-2147483648") + "\n" + LineWith(39, "FFffFFff") + "\n" +
                           LineWith(1, "2147483648") + "\n";
  ASSERT_OK(Format()->Parse(ChunkOf(text), &raw, &bad));
  ASSERT_EQ(raw.samples, 2u);
  EXPECT_EQ(raw.dense[0], -2147483648.0f);
  EXPECT_EQ(raw.features[25].ids[1], 0xffffffffu);
  ASSERT_EQ(bad.size(), 1u);
}

// Refused: the message begins with the column.
void ExpectRefused(const std::string& line, const std::string& message) {
  Batch raw;
  std::vector<BadLine> bad;
  ASSERT_OK(Format()->Parse(ChunkOf(line + "\n", 2), &raw, &bad));
  ASSERT_EQ(bad.size(), 1u);
  EXPECT_THAT(bad[0].message, testing::StartsWith("day:2:" + message));
}

TEST(CriteoFormat, AMistakeIsNamedByColumnFieldAndExpectation) {
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

TEST(CriteoFormat, TooFewAndTooManyFieldsAreCounted) {
  ExpectRefused("1\t2\t3", "6: the line has 3 fields, expected 40");
  ExpectRefused(LineWith(1, "7") + "\tx", "80: the line has 41 fields, expected 40");
}

TEST(CriteoFormat, AFileOfAnotherFormIsGuessed) {
  Batch raw;
  std::vector<BadLine> bad;
  ASSERT_OK(Format()->Parse(ChunkOf("age,city,click\n1,2,3\n"), &raw, &bad));
  EXPECT_THAT(bad[0].message,
              testing::AllOf(HasSubstr("comma-separated values with a header (age,city,click)"),
                             HasSubstr("rowhouse data infer")));
}

TEST(CriteoFormat, LinesWithoutLabelsAreReadWhereLabelsAreNotNeeded) {
  std::string text;
  for (uint32_t i = 0; i < 40; ++i) text += CriteoFormatLine(1, i).substr(2);
  Batch raw;
  std::vector<BadLine> bad;
  ASSERT_OK(Format({.needs_label = false})->Parse(ChunkOf(text), &raw, &bad));
  EXPECT_TRUE(bad.empty());
  EXPECT_EQ(raw.samples, 40u);
  EXPECT_TRUE(raw.labels.empty());
  EXPECT_EQ(raw.dense[39 * 13], 39);
  EXPECT_EQ(raw.features[25].ids[39], 39 * 31 + 25u);
  ASSERT_OK(Format({.needs_label = false})->Parse(ChunkOf(CriteoFormatLine(1, 2)), &raw, &bad));
  EXPECT_EQ(raw.labels, std::vector<float>{1});
}

// As DLRM: a negative line k is dropped if draw k of numpy's generator is below the rate.
TEST(CriteoFormat, NegativesAreSubSampledByTheNumberOfTheirLine) {
  TextFormatOptions options;
  options.seed = 123;
  options.own = {{"data_sub_sample_rate", "0.5"}};
  const auto format = Format(options);
  std::string text;
  std::vector<float> kept;
  NumpyRandom draws(123);
  for (uint32_t i = 0; i < 500; ++i) {
    const int label = i % 3 == 0;
    if (i < 100) {
      draws.NextDouble();
      continue;
    }
    text += CriteoFormatLine(label, i);
    if (draws.NextDouble() >= 0.5 || label == 1) kept.push_back(static_cast<float>(i));
  }
  Batch raw;
  std::vector<BadLine> bad;
  ASSERT_OK(format->Parse(ChunkOf(text, 31, 70), &raw, &bad));
  ASSERT_EQ(raw.samples, kept.size());
  for (size_t s = 0; s < kept.size(); ++s) EXPECT_EQ(raw.dense[s * 13], kept[s]);
}

// The fast reader, which needs many bytes behind a line, gives what the plain one gives, or leaves
// the line to it.
RC_GTEST_PROP(CriteoFormatProperty, TheFastReaderAgreesWithThePlainOne, (bool has_label)) {
  std::string text =
      has_label ? *rc::gen::element<std::string>("1\t", "0\t", "2\t", "\t", "1") : "";
  const auto integers = *rc::gen::container<std::vector<std::string>>(
      13, rc::gen::weightedOneOf<std::string>(
              {{30, rc::gen::map(rc::gen::arbitrary<int32_t>(),
                                 [](int32_t value) { return fmt::format("{}", value); })},
               {10, rc::gen::just(std::string())},
               {1, rc::gen::element<std::string>("-", "--1", "0001", "2147483648", "x", "-7")}}));
  const auto tokens = *rc::gen::container<std::vector<std::string>>(
      26, rc::gen::weightedOneOf<std::string>(
              {{60, rc::gen::map(rc::gen::arbitrary<uint32_t>(),
                                 [](uint32_t value) { return fmt::format("{:08x}", value); })},
               {10, rc::gen::just(std::string())},
               {1, rc::gen::element<std::string>("f", "FFffFFff", "000000001", "g", "-1")}}));
  for (const std::string& integer : integers) text += integer + "\t";
  for (const std::string& token : tokens) text += (&token == &tokens[0] ? "" : "\t") + token;
  text += *rc::gen::element<std::string>("\n", "\r\n", "\t\n");
  const auto format = Format({.needs_label = has_label});
  const auto parse = [&](const std::string& bytes, Batch* raw) {
    TextChunk chunk = ChunkOf(bytes);
    const std::string first = CriteoFormatLine(1, 1);
    chunk.first_record =
        std::make_shared<const std::string>(first.substr(has_label ? 0 : 2, first.size() - 3));
    std::vector<BadLine> bad;
    RC_ASSERT(format->Parse(chunk, raw, &bad).ok());
    return bad.empty() ? "" : bad[0].message;
  };
  Batch plain, fast;
  const std::string fault = parse(text, &plain);
  const size_t lines = plain.samples + (fault.empty() ? 0 : 1);
  std::string more = text;
  for (int i = 0; i < 10; ++i) more += CriteoFormatLine(0, 7).substr(has_label ? 0 : 2);
  RC_ASSERT(parse(more, &fast) == fault);
  RC_ASSERT(fast.samples == plain.samples + 10);
  RC_ASSERT(lines == 1u);
  for (size_t i = 0; i < plain.dense.size(); ++i) {
    RC_ASSERT(fast.dense[i] == plain.dense[i] ||
              (std::isnan(fast.dense[i]) && std::isnan(plain.dense[i])));
  }
  for (size_t k = 0; k < 26 && plain.samples > 0; ++k) {
    RC_ASSERT(fast.features[k].ids[0] == plain.features[k].ids[0]);
  }
}

RC_GTEST_PROP(CriteoFormatProperty, NoBytesUpsetTheParser, (const std::string& bytes)) {
  Batch raw;
  std::vector<BadLine> bad;
  (void)Format()->Parse(ChunkOf(bytes), &raw, &bad);
  (void)Format()->Parse(ChunkOf(LineWith(5, bytes)), &raw, &bad);
}

}  // namespace
}  // namespace rowhouse
