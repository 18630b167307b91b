#include <gmock/gmock.h>
#include <gtest/gtest.h>
// After gtest.
#include <rapidcheck/gtest.h>

#include <cmath>
#include <fstream>

#include "tests/testing/testing.h"
#include "worker/data/mapping/token_key.h"
#include "worker/data/text/text_chunks.h"
#include "worker/data/text/text_format.h"

namespace rowhouse {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

uint64_t KeyOf(std::string_view token) { return *TokenKey(TokenType::kString, token); }

// What a format makes of a file, read in chunks of `chunk_bytes`.
struct Parsed {
  Batch raw;
  std::vector<BadLine> bad;
  Status status;
};

Batch Joined(Batch all, const Batch& more) {
  all.samples += more.samples;
  all.dense_features = more.dense_features;
  all.dense.insert(all.dense.end(), more.dense.begin(), more.dense.end());
  all.labels.insert(all.labels.end(), more.labels.begin(), more.labels.end());
  all.weights.insert(all.weights.end(), more.weights.begin(), more.weights.end());
  all.features.resize(more.features.size());
  for (size_t k = 0; k < more.features.size(); ++k) {
    const Bags& bags = more.features[k];
    for (size_t s = 0; s < bags.samples(); ++s) {
      for (uint32_t i = bags.offsets[s]; i < bags.offsets[s + 1]; ++i) {
        all.features[k].ids.push_back(bags.ids[i]);
        if (!bags.weights.empty()) all.features[k].weights.push_back(bags.weights[i]);
      }
      all.features[k].EndBag();
    }
  }
  return all;
}

class DelimitedTest : public testing::Test {
 protected:
  DelimitedTest() {
    options_.schema.format = "delimited";
    options_.schema.label = {.column = "click"};
    options_.schema.dense = {{.name = "age"}};
    options_.schema.categorical = {{.name = "city"}};
    options_.files = {dir_ / "data.csv"};
  }
  Parsed Read(const std::string& text, size_t chunk_bytes = 1 << 20) {
    std::ofstream(options_.files[0], std::ios::binary) << text;
    Parsed parsed;
    auto format = TextFormats().Make("delimited", options_);
    parsed.status = format.status();
    if (!format.ok()) return parsed;
    auto chunks = TextChunks::Open(options_.files, format.value()->records(), chunk_bytes).value();
    TextChunk chunk;
    Batch raw;
    while (chunks.Next(&chunk).value()) {
      parsed.status = format.value()->Parse(chunk, &raw, &parsed.bad);
      if (!parsed.status.ok()) return parsed;
      parsed.raw = Joined(std::move(parsed.raw), raw);
    }
    return parsed;
  }
  std::string BadLineOf(const std::string& text) {
    const Parsed parsed = Read(text);
    if (!parsed.status.ok()) return parsed.status.message();
    return parsed.bad.size() == 1 ? parsed.bad[0].message
                                  : fmt::format("{} bad lines", parsed.bad.size());
  }

  TempDir dir_;
  TextFormatOptions options_;
};

TEST_F(DelimitedTest, ColumnsComeByNameInAnyOrder) {
  const Parsed parsed = Read("city,click,age\nOslo,1,31\r\n\"Rio, RJ\",0,-2.5e1\n,1,\nNA,0,n/a");
  ASSERT_OK(parsed.status);
  EXPECT_EQ(parsed.bad.size(), 0u);
  ASSERT_EQ(parsed.raw.samples, 4u);
  EXPECT_THAT(parsed.raw.labels, ElementsAre(1, 0, 1, 0));
  EXPECT_EQ(parsed.raw.dense[0], 31.0f);
  EXPECT_EQ(parsed.raw.dense[1], -25.0f);
  EXPECT_TRUE(std::isnan(parsed.raw.dense[2]));
  EXPECT_TRUE(std::isnan(parsed.raw.dense[3]));
  EXPECT_THAT(parsed.raw.features[0].offsets, ElementsAre(0, 1, 2, 2, 3));
  EXPECT_THAT(parsed.raw.features[0].ids,
              ElementsAre(KeyOf("Oslo"), KeyOf("Rio, RJ"), KeyOf("NA")));
  EXPECT_TRUE(parsed.raw.weights.empty());
}

TEST_F(DelimitedTest, QuotesMayHoldSeparatorsLineEndsAndQuotes) {
  const Parsed parsed =
      Read("click,city,\"age\"\n1,\"a\n\"\"b\"\",\r\nc\",\"7\"\n0,\"\"\"\",8\n1,\"\",9\n", 4);
  ASSERT_OK(parsed.status);
  EXPECT_EQ(parsed.bad.size(), 0u);
  EXPECT_THAT(parsed.raw.features[0].ids, ElementsAre(KeyOf("a\n\"b\",\r\nc"), KeyOf("\"")));
  EXPECT_THAT(parsed.raw.dense, ElementsAre(7, 8, 9));
  EXPECT_THAT(parsed.raw.features[0].offsets, ElementsAre(0, 1, 2, 2));
}

TEST_F(DelimitedTest, WithoutQuotesAQuoteIsAByteLikeOthers) {
  options_.schema.has_quotes = false;
  options_.schema.separator = "\t";
  const Parsed parsed = Read("click\tcity\tage\n1\t5\" disk\t1\n0\t\"x\t2\n");
  ASSERT_OK(parsed.status);
  EXPECT_THAT(parsed.raw.features[0].ids, ElementsAre(KeyOf("5\" disk"), KeyOf("\"x")));
}

TEST_F(DelimitedTest, AColumnMayHoldSeveralTokensWithWeights) {
  options_.schema.categorical = {{.name = "city", .separator = "|", .weight_separator = ":"},
                                 {.name = "ids", .token = "integer", .separator = " "},
                                 {.name = "hex", .token = "hex", .weight_separator = "="}};
  const Parsed parsed = Read(
      "click,age,city,ids,hex\n1,0,a:0.5|b|c:d:-2,3 -1 18446744073709551615,fF\n"
      "0,0,,  7 ,0=1e-3\n0,0,||a||,null,");
  ASSERT_OK(parsed.status);
  ASSERT_EQ(parsed.bad.size(), 0u) << parsed.bad[0].message;
  const auto& features = parsed.raw.features;
  EXPECT_THAT(features[0].ids, ElementsAre(KeyOf("a"), KeyOf("b"), KeyOf("c:d"), KeyOf("a")));
  EXPECT_THAT(features[0].weights, ElementsAre(0.5f, 1.0f, -2.0f, 1.0f));
  EXPECT_THAT(features[0].offsets, ElementsAre(0, 3, 3, 4));
  EXPECT_THAT(features[1].ids, ElementsAre(3u, UINT64_MAX, UINT64_MAX, 7u));
  EXPECT_TRUE(features[1].weights.empty());
  EXPECT_THAT(features[1].offsets, ElementsAre(0, 3, 4, 4));
  EXPECT_THAT(features[2].ids, ElementsAre(255u, 0u));
  EXPECT_THAT(features[2].weights, ElementsAre(1.0f, 1e-3f));
}

TEST_F(DelimitedTest, LabelsFollowTheRule) {
  const auto labels = [&](const std::string& compare, const std::string& value) {
    options_.schema.label.compare = compare;
    options_.schema.label.value = value;
    const Parsed parsed = Read("click,age,city\n4,,\n5,,\n3.5,,\n");
    EXPECT_OK(parsed.status);
    return parsed.raw.labels;
  };
  EXPECT_THAT(labels(">=", "4"), ElementsAre(1, 1, 0));
  EXPECT_THAT(labels(">", "4"), ElementsAre(0, 1, 0));
  EXPECT_THAT(labels("<", "4"), ElementsAre(0, 0, 1));
  EXPECT_THAT(labels("<=", "4"), ElementsAre(1, 0, 1));
  EXPECT_THAT(labels("==", "4.0"), ElementsAre(1, 0, 0));
  EXPECT_THAT(labels("!=", "five"), ElementsAre(1, 1, 1));
  options_.schema.label = {.column = "click", .compare = "==", .value = "yes"};
  EXPECT_THAT(Read("click,age,city\nyes,,\nno,,\n").raw.labels, ElementsAre(1, 0));
  options_.schema.label = {.column = "click"};
  EXPECT_THAT(Read("click,age,city\n0.25,,\n1,,\n").raw.labels, ElementsAre(0.25f, 1));
}

TEST_F(DelimitedTest, ASampleMayHaveAWeight) {
  options_.schema.weight = "w";
  options_.schema.ignored = {"note"};
  const Parsed parsed =
      Read("click,age,city,note,w\n1,1,a,x,0.5\n0,1,b,,0\n1,1,c,y,-1\n1,1,c,y,\n");
  ASSERT_OK(parsed.status);
  EXPECT_THAT(parsed.raw.weights, ElementsAre(0.5f, 0.0f));
  ASSERT_EQ(parsed.bad.size(), 2u);
  EXPECT_THAT(parsed.bad[0].message,
              HasSubstr("data.csv:4:9: w is \"-1\", expected the weight of a sample"));
}

TEST_F(DelimitedTest, FilesWithoutAHeaderHaveTheSchemasNames) {
  options_.schema.has_header = false;
  options_.schema.columns = {"age", "click", "city"};
  EXPECT_THAT(Read("1,0,a\n2,1,b\n").raw.dense, ElementsAre(1, 2));
  EXPECT_THAT(BadLineOf("1,0\n"),
              HasSubstr("data.csv:1:4: the line has 2 fields, section schema 3"));
  options_.schema.columns.clear();
  EXPECT_THAT(BadLineOf("1,0,a\n"),
              HasSubstr("header: false needs the names of the file's columns"));
}

TEST_F(DelimitedTest, ALabelThatIsNotNeededMayBeMissing) {
  options_.needs_label = false;
  options_.schema.weight = "w";
  Parsed parsed = Read("age,city\n1,a\n2,b\n");
  ASSERT_OK(parsed.status);
  EXPECT_EQ(parsed.raw.samples, 2u);
  EXPECT_TRUE(parsed.raw.labels.empty());
  EXPECT_TRUE(parsed.raw.weights.empty());
  EXPECT_THAT(Read("age,city,click,w\n1,a,1,2\n").raw.labels, ElementsAre(1));
  options_.schema.weight = "";
  options_.schema.has_header = false;
  options_.schema.columns = {"age", "click", "city"};
  EXPECT_THAT(Read("1,a\n").raw.dense, ElementsAre(1));
  EXPECT_THAT(Read("1,0,a\n").raw.labels, ElementsAre(0));
}

TEST_F(DelimitedTest, ColumnsThatDoNotFitAreNamedBeforeAnythingIsRead) {
  EXPECT_THAT(BadLineOf("click,aged,city\n"),
              AllOf(HasSubstr("data.csv:1: there is no column \"age\""),
                    HasSubstr("Did you mean \"aged\"?")));
  EXPECT_THAT(BadLineOf("click,age,city,extra\n"),
              AllOf(HasSubstr("does not name column \"extra\""), HasSubstr("`ignored`")));
  EXPECT_THAT(BadLineOf("click,age,city,age\n"), HasSubstr("two columns are named \"age\""));
  options_.schema.separator = "--";
  EXPECT_THAT(BadLineOf("click,age,city\n"), HasSubstr("separator \"--\": expected one character"));
  options_.schema = {};
  EXPECT_THAT(BadLineOf("click,age,city\n"), HasSubstr("needs section schema"));
}

TEST_F(DelimitedTest, ABadRecordIsLeftOutAndNamedByFileLineAndColumn) {
  const std::string head = "click,age,city\n1,\"1\",\"a\nb\"\n";
  EXPECT_THAT(
      BadLineOf(head + "1,x,c\n"),
      HasSubstr("data.csv:4:3: age is \"x\", expected a number, or nothing; mend or remove"));
  EXPECT_THAT(BadLineOf(head + "1,1e99,c\n"), HasSubstr(":4:3: age is \"1e99\""));
  EXPECT_THAT(BadLineOf(head + "1,inf,c\n"), HasSubstr(":4:3: age is \"inf\""));
  EXPECT_THAT(BadLineOf(head + "2,1,c\n"), HasSubstr(":4:1: click is \"2\", expected a label"));
  EXPECT_THAT(BadLineOf(head + ",1,c\n"), HasSubstr(":4:1: click is \"\""));
  EXPECT_THAT(BadLineOf(head + "1,1\n"), HasSubstr(":4:4: the line has 2 fields, the header 3"));
  EXPECT_THAT(BadLineOf(head + "1,1,c,d\n"),
              HasSubstr(":4:7: the line has 4 fields, the header 3"));
  EXPECT_THAT(BadLineOf(head + "\n1,1,c\n"), HasSubstr(":4:1: the line is empty"));
  EXPECT_THAT(BadLineOf(head + "1,1,\"c\nd\"e\n"), HasSubstr(":4:5: city has a double quote"));
  EXPECT_THAT(BadLineOf(head + "1,1,c\"\n\n2\"\n"), HasSubstr(":4:5: city has a double quote"));
  EXPECT_THAT(BadLineOf(head + "1,1,\"c"), HasSubstr(":4:5: city has a double quote"));
  const Parsed parsed = Read(head + "1,x,c\n0,5,d\n");
  EXPECT_THAT(parsed.raw.dense, ElementsAre(1, 5));
  EXPECT_THAT(parsed.raw.labels, ElementsAre(1, 0));
  EXPECT_EQ(parsed.bad[0].line, 4u);
}

std::string Quoted(const std::string& field, bool always) {
  if (!always && field.find_first_of(",\"\n\r") == std::string::npos) return field;
  std::string text = "\"";
  for (const char c : field) text += c == '"' ? std::string("\"\"") : std::string(1, c);
  return text + "\"";
}

// What is written as RFC 4180 says comes back, in chunks of any size.
RC_GTEST_FIXTURE_PROP(DelimitedTest, WrittenValuesComeBack, ()) {
  options_.schema.categorical.push_back(
      {.name = "items", .token = "integer", .separator = ";", .weight_separator = "*"});
  const auto samples = *rc::gen::inRange<size_t>(1, 12);
  const auto texts = rc::gen::container<std::string>(
      rc::gen::element('a', 'b', ',', '"', '\n', '\r', ';', ' ', '\xc3', '\xa4'));
  std::string csv = "items,city,click,age\n";
  std::vector<float> ages, labels, weights;
  std::vector<uint64_t> cities, items;
  std::vector<uint32_t> item_ends = {0}, city_ends = {0};
  for (size_t s = 0; s < samples; ++s) {
    const auto city = *texts;
    const auto bits = *rc::gen::arbitrary<uint32_t>();
    float age = std::bit_cast<float>(bits);
    if (!std::isfinite(age)) age = 0.5f;
    const auto keys = *rc::gen::container<std::vector<int64_t>>(rc::gen::arbitrary<int64_t>());
    std::string list;
    for (const int64_t key : keys) {
      const float weight = static_cast<float>(key % 1000) / 8;
      list += fmt::format("{}{}*{}", list.empty() ? "" : ";", key, weight);
      items.push_back(static_cast<uint64_t>(key));
      weights.push_back(weight);
    }
    item_ends.push_back(static_cast<uint32_t>(items.size()));
    if (!city.empty()) cities.push_back(KeyOf(city));
    city_ends.push_back(static_cast<uint32_t>(cities.size()));
    ages.push_back(age);
    labels.push_back(static_cast<float>(bits % 2));
    csv += fmt::format("{},{},{},{}{}", list, Quoted(city, bits % 3 == 0), bits % 2, age,
                       bits % 5 == 0 ? "\r\n" : "\n");
  }
  const Parsed parsed = Read(csv, *rc::gen::inRange<size_t>(1, 200));
  RC_ASSERT(parsed.status.ok());
  if (!parsed.bad.empty()) RC_FAIL(parsed.bad[0].message);
  RC_ASSERT(parsed.raw.samples == samples);
  RC_ASSERT(parsed.raw.dense == ages);
  RC_ASSERT(parsed.raw.labels == labels);
  RC_ASSERT(parsed.raw.features[0].ids == cities);
  RC_ASSERT(parsed.raw.features[0].offsets == city_ends);
  RC_ASSERT(parsed.raw.features[1].ids == items);
  RC_ASSERT(parsed.raw.features[1].weights == weights);
  RC_ASSERT(parsed.raw.features[1].offsets == item_ends);
}

// Any bytes give samples and bad lines, never a crash, and the batch keeps its shape.
RC_GTEST_FIXTURE_PROP(DelimitedTest, NoBytesUpsetTheParser, ()) {
  const auto text = *rc::gen::container<std::string>(
      rc::gen::element('1', '0', ',', '"', '\n', '\r', 'e', '-', '.', 'x'));
  const Parsed parsed = Read("click,age,city\n" + text, *rc::gen::inRange<size_t>(1, 50));
  RC_ASSERT(parsed.status.ok());
  RC_ASSERT(parsed.raw.labels.size() == parsed.raw.samples);
  RC_ASSERT(parsed.raw.dense.size() == parsed.raw.samples);
}

}  // namespace
}  // namespace rowhouse
