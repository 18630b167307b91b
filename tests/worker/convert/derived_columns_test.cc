// Buckets and crosses from text to ids.
#include "worker/data/text/derived_columns.h"

#include <algorithm>
#include <fstream>
#include <random>

#include "common/durable_file.h"
#include "tests/testing/testing.h"
#include "worker/data/blocks/data_directory.h"
#include "worker/data/buckets.h"
#include "worker/data/convert/converter.h"
#include "worker/data/convert/prepared_text.h"
#include "worker/data/dataset.h"
#include "worker/data/mapping/preprocessing.h"
#include "worker/data/mapping/schema_json.h"

namespace rowhouse {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class DerivedColumnsTest : public testing::Test {
 protected:
  DerivedColumnsTest() {
    data_.file = dir_ / "a.csv";
    Schema& schema = data_.text.schema;
    schema.format = "delimited";
    schema.label = {.column = "y"};
    schema.dense = {{.name = "age"}};
    schema.categorical = {{.name = "city", .ids = "dictionary", .separator = "|"},
                          Quantiles("price", 8),
                          Quantiles("age", 4)};
  }
  static CategoricalColumn Quantiles(const std::string& name, int count) {
    return {.name = name, .missing_row = true, .edges = fmt::format("quantiles({})", count)};
  }
  void Write(const std::string& text) { std::ofstream(data_.file) << text; }

  std::shared_ptr<const Preprocessing> ConvertTo(const std::string& out, uint32_t threads = 1,
                                                 uint64_t memory_bytes = 1 << 20) {
    auto conversion = MakeTextConversion(data_.text.schema.format, data_, dir_ / out);
    EXPECT_OK(conversion);
    if (!conversion.ok()) return nullptr;
    ConversionOptions& options = conversion.value().options;
    options.threads = threads;
    options.memory_bytes = memory_bytes;
    options.chunk_bytes = 900;
    options.block_samples = 64;
    EXPECT_OK(Convert(*conversion.value().format, options));
    return Preprocessing::Open(dir_ / out).value();
  }
  Batch SamplesOf(const std::string& name) {
    const auto data = DataDirectory::Open(dir_ / name).value();
    Batch all;
    all.Clear(data->columns().dense.size(), data->columns().categorical.size());
    for (size_t block = 0; block < data->blocks(); ++block) {
      std::vector<uint32_t> samples(data->samples_of(block));
      for (uint32_t i = 0; i < samples.size(); ++i) samples[i] = i;
      EXPECT_OK(data->Append(block, samples, &all));
    }
    return all;
  }
  std::string Refusal() {
    const Status status = MakeTextConversion(data_.text.schema.format, data_, dir_ / "no").status();
    EXPECT_EQ(status.code(), StatusCode::kUsage);
    return status.message();
  }

  TempDir dir_;
  DatasetOptions data_;
};

TEST_F(DerivedColumnsTest, QuantilesAreThoseOfSortedNumbersWhateverThreadsAndMemory) {
  std::mt19937_64 random(3);
  std::lognormal_distribution<float> draw(0.0f, 2.0f);
  std::vector<float> prices;
  std::string text = "y,age,price,city\n";
  for (int i = 0; i < 3000; ++i) {
    const bool is_missing = i % 7 == 0;
    if (!is_missing) prices.push_back(std::round(draw(random) * 10) / 10);
    text += fmt::format("{},{},{},c{}\n", i % 2, i % 50,
                        is_missing ? "" : fmt::format("{}", prices.back()), i % 9);
  }
  Write(text);
  const auto one = ConvertTo("1");
  std::ranges::sort(prices);
  std::vector<float> expected;
  for (size_t i = 1; i < 8; ++i) expected.push_back(prices[prices.size() * i / 8]);
  expected.erase(std::unique(expected.begin(), expected.end()), expected.end());
  EXPECT_EQ(one->schema().categorical[1].edge_values, expected);
  EXPECT_EQ(one->schema().categorical[1].rows, expected.size() + 2);
  EXPECT_THAT(one->schema().categorical[2].edge_values, ElementsAre(12, 25, 37));

  const auto other = ConvertTo("4", 4, 100'000);  // 4 MB of counts do not fit: they are spilled
  EXPECT_EQ(other->digest(), one->digest());
  EXPECT_EQ(ReadFile(dir_ / "4/samples.bin").value(), ReadFile(dir_ / "1/samples.bin").value());
}

TEST_F(DerivedColumnsTest, ANumberIsABucketAndDenseAndAMissingOneHasARowOfItsOwn) {
  Write("y,age,price,city\n1,1,5,a\n0,2,,a\n1,,5,b\n0,3,5,\n1,4,9,a\n");
  const auto preprocessing = ConvertTo("out");
  // Of 5, 5, 5, 9 one edge is left, of 1, 2, 3, 4 three.
  EXPECT_THAT(preprocessing->schema().categorical[1].edge_values, ElementsAre(9));
  EXPECT_THAT(preprocessing->schema().categorical[2].edge_values, ElementsAre(2, 3, 4));
  const Batch samples = SamplesOf("out");
  EXPECT_THAT(samples.dense, ElementsAre(1, 2, 0, 3, 4)) << "price is no dense column";
  EXPECT_THAT(samples.features[1].ids, ElementsAre(1, 0, 1, 1, 2));
  EXPECT_THAT(samples.features[2].ids, ElementsAre(1, 2, 0, 3, 4));
  EXPECT_THAT(samples.features[1].offsets, ElementsAre(0, 1, 2, 3, 4, 5));
  EXPECT_EQ(preprocessing->IdOf(1, "8.5").value(), 1u);
  EXPECT_EQ(preprocessing->IdOf(1, "9").value(), 2u);
  EXPECT_EQ(preprocessing->IdOf(1, "").value(), 0u);
  EXPECT_THAT(preprocessing->IdOf(1, "x").status().message(), HasSubstr("expected a number"));
}

TEST_F(DerivedColumnsTest, TomorrowsNumbersFallIntoTheBucketsOfYesterday) {
  Write("y,age,price,city\n1,1,5,a\n0,2,6,a\n1,3,7,b\n0,4,8,b\n");
  const auto old = ConvertTo("1");
  Write("y,age,price,city\n1,100,-50,a\n0,3,1e9,new\n");
  data_.text.preprocessing = old;
  for (const bool grows : {false, true}) {
    data_.text.grow_dictionaries = grows;
    const auto now = ConvertTo(grows ? "3" : "2");
    EXPECT_EQ(now->schema().categorical[1], old->schema().categorical[1]);
    EXPECT_THAT(SamplesOf(grows ? "3" : "2").features[1].ids, ElementsAre(1, 4));
    EXPECT_TRUE(Extends(*now, *old).value());
  }
}

TEST_F(DerivedColumnsTest, PairsAreCountedInADictionaryOrHashed) {
  CategoricalColumn& price = data_.text.schema.categorical[1];
  price.edges = "6";
  data_.text.schema.categorical.push_back(
      {.name = "pairs", .ids = "dictionary", .cross = {"city", "price"}});
  data_.text.schema.categorical.push_back(
      {.name = "hashed", .rows = 90, .missing_row = true, .cross = {"age", "city"}});
  Write("y,age,price,city\n1,1,5,a|b\n0,1,6,a\n1,1,4,b\n0,,,b\n1,2,7,a\n");
  const auto preprocessing = ConvertTo("out", 3);
  const Batch samples = SamplesOf("out");
  // (a, below 6), (b, below 6), (a, 6 and above)
  EXPECT_EQ(preprocessing->tokens(3), 3u);
  EXPECT_THAT(samples.features[3].ids, ElementsAre(0, 1, 2, 1, 2));
  EXPECT_THAT(samples.features[3].offsets, ElementsAre(0, 2, 3, 4, 4, 5));
  const std::vector<uint64_t>& hashed = samples.features[4].ids;
  EXPECT_THAT(samples.features[4].offsets, ElementsAre(0, 2, 3, 4, 5, 6));
  EXPECT_EQ(hashed[0], hashed[2]);
  EXPECT_EQ(hashed[1], hashed[3]);
  EXPECT_EQ(hashed[4], 0u) << "a pair is missing";
  EXPECT_NE(hashed[5], hashed[0]) << "age 2 is in another bucket than 1";
  EXPECT_THAT(preprocessing->IdOf(3, "a").status().message(), HasSubstr("are pairs"));
}

TEST_F(DerivedColumnsTest, CriteosIntegersAreBucketsBesideItsOwnColumns) {
  data_.text.schema = Schema();
  data_.text.schema.format = "criteo";
  data_.text.schema.categorical = {
      {.name = "I2", .missing_row = true, .edges = "floor_log_squared"}, Quantiles("tenth", 4)};
  data_.text.schema.categorical[1].of = "I10";
  data_.flags["id_mapping"] = "dictionary";
  std::string text;
  for (const char* number : {"3", "", "-1", "100"}) {
    text += fmt::format("1\t\t{}\t\t\t\t\t\t\t\t{}\t\t\t", number, number);
    for (int i = 0; i < 26; ++i) text += fmt::format("\t{:x}", i);
    text += "\n";
  }
  Write(text);
  std::vector<uint64_t> rows(26, 1);
  rows.push_back(506);
  rows.push_back(5);
  EXPECT_EQ(CountCriteoIds(data_).value(), rows);
  const auto preprocessing = ConvertTo("out");
  ASSERT_EQ(preprocessing->schema().categorical.size(), 28u);
  EXPECT_EQ(preprocessing->schema().dense.size(), 13u);
  const Batch samples = SamplesOf("out");
  EXPECT_THAT(samples.features[26].ids, ElementsAre(1 + 5, 0, 1, 1 + 4 + 21));  // log(100)^2 = 21.2
  EXPECT_THAT(samples.features[27].ids, ElementsAre(2, 0, 1, 3));

  // Tables may be in another order; those without a column of buckets are Criteo's.
  data_.shape.table_names = {"tenth"};
  data_.shape.table_rows = {5};
  for (int i = 0; i < 26; ++i) {
    data_.shape.table_names.push_back(fmt::format("t{}", i));
    data_.shape.table_rows.push_back(2);
  }
  data_.shape.table_names.push_back("I2");
  data_.shape.table_rows.push_back(506);
  const auto format = MakeTextFormat("criteo", data_, {data_.file}).value();
  EXPECT_EQ(format->schema().categorical[0].name, "tenth");
  EXPECT_EQ(format->schema().categorical[1].name, "t0");
  EXPECT_EQ(format->schema().categorical[27].rows, 506u);

  data_.text.schema.categorical[0].of = "I14";
  EXPECT_THAT(Refusal(), HasSubstr("buckets of \"I14\", but criteo data have no such "
                                   "column of numbers"));
  data_.text.schema.categorical[0] = {.name = "x", .cross = {"t3", "I99"}};
  EXPECT_THAT(Refusal(), HasSubstr("cross names column \"I99\", which is not in categorical"));
  EXPECT_THAT(CountCriteoIds(data_).status().message(), HasSubstr("\"I99\""));
  data_.text.schema.categorical[0].cross[1] = "tenth";
  EXPECT_THAT(CountCriteoIds(data_).status().message(),
              HasSubstr("rows of cross \"x\" are not counted, as the data decide the edges of "
                        "\"tenth\""));
}

TEST_F(DerivedColumnsTest, RowsOfCriteosCrossesAreCounted) {
  data_.text.schema = Schema();
  data_.text.schema.format = "criteo";
  data_.text.schema.categorical = {
      {.name = "far", .edges = "10", .of = "I2"},
      {.name = "pairs", .ids = "dictionary", .missing_row = true, .cross = {"C1", "C2"}},
      {.name = "near", .ids = "hash", .cross = {"C1", "far"}}};
  std::string text;
  const std::pair<int, int> lines[] = {{1, 1}, {1, 2}, {2, 1}, {1, 2}, {2, 1}};
  for (const auto& [first, second] : lines) {
    text += fmt::format("1\t\t{}\t\t\t\t\t\t\t\t\t\t\t\t{}\t{}", first == 2 ? "11" : "9", first,
                        second);
    for (int i = 2; i < 26; ++i) text += "\t7";
    text += "\n";
  }
  Write(text);
  std::vector<uint64_t> rows(26, 1);
  rows[0] = rows[1] = 2;
  rows.insert(rows.end(), {3, 1 + 3, 2});  // buckets below 10 and from it on, and a missing one
  EXPECT_EQ(CountCriteoIds(data_).value(), rows);
}

TEST_F(DerivedColumnsTest, MistakesAreToldWithFileLineAndColumn) {
  Write("y,age,price,city\n1,1,5,a\n1,2,cheap,a\n");
  auto conversion = MakeTextConversion("delimited", data_, dir_ / "out").value();
  EXPECT_THAT(Convert(*conversion.format, conversion.options).status().message(),
              HasSubstr("a.csv:3:5: price is \"cheap\", expected a number, or nothing"));
  data_.text.schema.categorical[1].of = "prise";
  EXPECT_THAT(Refusal(), HasSubstr("a.csv:1: there is no column \"prise\""));

  data_.text.schema.categorical[1] = {.name = "x", .rows = 9, .cross = {"city", "city2"}};
  data_.text.schema.categorical.push_back({.name = "city2", .rows = 9, .separator = "|"});
  std::string many = "t0";
  for (int i = 1; i < 40; ++i) many += fmt::format("|t{}", i);
  Write("y,age,city,city2\n1,1,a,b\n1,2," + many + "," + many + "\n");
  conversion = MakeTextConversion("delimited", data_, dir_ / "many").value();
  const Status status = Convert(*conversion.format, conversion.options).status();
  EXPECT_EQ(status.code(), StatusCode::kUsage);
  EXPECT_THAT(status.message(),
              HasSubstr("a.csv: sample 2 of those from line 1 on has 40 tokens of "
                        "\"city\" and 40 of \"city2\", and their cross \"x\""));
}

TEST_F(DerivedColumnsTest, DamagedEdgesAreFound) {
  Write("y,age,price,city\n1,1,5,a\n0,2,6,a\n1,3,7,b\n");
  ConvertTo("out");
  const std::string path = dir_ / "out/preprocessing.json";
  const std::string text = ReadFile(path).value();
  EXPECT_THAT(text, HasSubstr("\"format_version\": 2"));
  const size_t at = text.find('6', text.find("edge_values"));
  for (const char* other : {"9", "x", "1e99"}) {
    std::ofstream(path) << std::string(text).replace(at, 1, other);
    EXPECT_EQ(Preprocessing::Open(dir_ / "out").status().code(), StatusCode::kCorruption) << other;
  }
}

TEST_F(DerivedColumnsTest, OtherEdgesAreOtherData) {
  Schema mapped = data_.text.schema;
  mapped.categorical[1].edge_values = {1, 2};
  mapped.categorical[1].rows = 9;
  EXPECT_OK(CheckMappedAs(mapped, data_.text.schema));
  Schema buckets = data_.text.schema;
  buckets.dense.clear();
  buckets.categorical.erase(buckets.categorical.begin());
  EXPECT_OK(CheckMappedAs(mapped, buckets));
  buckets.categorical[0].edges = "quantiles(9)";
  EXPECT_EQ(CheckMappedAs(mapped, buckets).message(),
            "\"price\" has edges \"quantiles(8)\" in the data and \"quantiles(9)\" in the config");
  Schema plain = data_.text.schema;
  plain.categorical[1] = {.name = "price", .missing_row = true};
  EXPECT_THAT(CheckMappedAs(mapped, plain).message(), HasSubstr("has edges"));
}

}  // namespace
}  // namespace rowhouse
