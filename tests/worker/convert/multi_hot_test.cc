// Expected tables are those of numpy and DLRM-v2 (vectors multi_hot.json).
#include "worker/data/mapping/multi_hot.h"

#include <fmt/ranges.h>

#include <fstream>
#include <numeric>

#include "common/durable_file.h"
#include "tests/testing/testing.h"
#include "worker/data/blocks/data_directory.h"
#include "worker/data/convert/converter.h"
#include "worker/data/convert/prepared_text.h"
#include "worker/data/dataset.h"
#include "worker/data/mapping/preprocessing.h"

namespace rowhouse {
namespace {

using testing::HasSubstr;

Schema SchemaOfSizes(const std::vector<uint64_t>& rows, const std::vector<uint64_t>& sizes,
                     const std::string& distribution) {
  Schema schema;
  for (size_t k = 0; k < rows.size(); ++k) {
    schema.categorical.push_back(
        {.name = fmt::format("C{}", k + 1), .token = "hex", .ids = "modulo", .rows = rows[k]});
  }
  schema.multi_hot = {.sizes = sizes, .distribution = distribution};
  return schema;
}

Bags OneHot(uint64_t ids) {
  Bags bags;
  for (uint64_t id = 0; id < ids; ++id) {
    bags.ids.push_back(id);
    bags.EndBag();
  }
  return bags;
}

TEST(MultiHotTables, AreNumpys) {
  const auto vectors = LoadVectors("multi_hot.json");
  const auto rows = vectors["rows"].get<std::vector<uint64_t>>();
  const auto sizes = vectors["sizes"].get<std::vector<uint64_t>>();
  for (const std::string distribution : {"uniform", "pareto"}) {
    const Schema schema = SchemaOfSizes(rows, sizes, distribution);
    ASSERT_OK(CheckMultiHot(schema));
    const MultiHotTables tables(schema);
    ASSERT_EQ(vectors[distribution].size(), rows.size());
    for (size_t k = 0; k < rows.size(); ++k) {
      Bags bags = OneHot(rows[k]);
      tables.Expand(k, &bags);
      ASSERT_EQ(bags.ids.size(), rows[k] * sizes[k]);
      ASSERT_EQ(bags.samples(), rows[k]);
      EXPECT_EQ(bags.offsets.back(), bags.ids.size());
      const auto& expected = vectors[distribution][k];
      EXPECT_EQ(std::accumulate(bags.ids.begin(), bags.ids.end(), uint64_t{0}),
                expected["sum"].get<uint64_t>());
      std::vector<uint64_t> last;
      for (const auto& row : expected["last"]) {
        for (const auto& id : row) last.push_back(id.get<uint64_t>());
      }
      EXPECT_EQ(std::vector<uint64_t>(bags.ids.end() - static_cast<ptrdiff_t>(last.size()),
                                      bags.ids.end()),
                last)
          << distribution << " " << k;
    }
  }
}

TEST(MultiHotTables, NeedFourBytesForEachIdThatIsMadeUp) {
  Schema schema = SchemaOfSizes({1000, 0, 10}, {3, 5, 1}, "uniform");
  EXPECT_EQ(MultiHotBytes(schema), 8000u);
  // Columns of buckets and crosses have no size and stay as they are.
  schema.categorical.insert(schema.categorical.begin(),
                            {.name = "I1", .rows = 98, .edges = "log2"});
  EXPECT_OK(CheckMultiHot(schema));
  EXPECT_EQ(MultiHotBytes(schema), 8000u);
  EXPECT_OK(CheckMultiHotMemory(schema, 10000));
  const Status refused =
      CheckMultiHotMemory(SchemaOfSizes({40'000'000}, {100}, "uniform"), 1 << 30);
  EXPECT_EQ(refused.code(), StatusCode::kUsage);
  EXPECT_THAT(refused.message(), HasSubstr("take 15.8 GB"));
  EXPECT_THAT(refused.message(), HasSubstr("max_ind_range"));
}

TEST(MultiHotOptions, WhatMakesNoBagsIsRefused) {
  const auto refusal = [](const OptionValues& own) { return MultiHotIn(own).status().message(); };
  EXPECT_THAT(refusal({{"multi_hot_sizes", "3,x"}}), HasSubstr("\"x\" is not the size of a bag"));
  EXPECT_THAT(refusal({{"multi_hot_sizes", "3,0"}}), HasSubstr("\"0\" is not the size of a bag"));
  EXPECT_THAT(refusal({{"multi_hot_sizes", "1025"}}), HasSubstr("1 to 1024"));
  EXPECT_THAT(refusal({{"multi_hot_distribution_type", "pareto"}}), HasSubstr("no effect without"));
  EXPECT_FALSE(MultiHotIn({}).value().is_on());
  EXPECT_EQ(MultiHotIn({{"multi_hot_sizes", "3-1"}}).value(), (MultiHot{{3, 1}, "uniform"}));

  Schema schema = SchemaOfSizes({9, 9}, {2}, "uniform");
  EXPECT_THAT(CheckMultiHot(schema).message(), HasSubstr("has 1 sizes, and the data have 2"));
  schema.multi_hot.sizes = {1, 2};
  EXPECT_OK(CheckMultiHot(schema));
  schema.categorical[1].ids = "hash";
  EXPECT_THAT(CheckMultiHot(schema).message(), HasSubstr("column \"C2\" has hashed ids"));
  schema.categorical[1].ids = "modulo";
  schema.categorical[1].rows = uint64_t{1} << 31;
  EXPECT_THAT(CheckMultiHot(schema).message(), HasSubstr("2^31 rows"));
  schema.multi_hot.distribution = "zipf";
  EXPECT_THAT(CheckMultiHot(schema).message(), HasSubstr("unknown distribution \"zipf\""));
}

// ---- Criteo's text --------------------------------------------------------------------------

class MultiHotText : public testing::Test {
 protected:
  static constexpr size_t kColumns = 26;

  MultiHotText() {
    data_.file = dir_ / "day";
    data_.shape.table_rows.assign(kColumns, 1000);
    data_.flags["id_mapping"] = "dictionary";
    std::ofstream text(data_.file);
    for (int line = 0; line < 40; ++line) {
      text << line % 2;
      for (int i = 0; i < 13; ++i) text << "\t" << line * i;
      // Every fifth token is missing.
      for (int i = 0; i < 26; ++i)
        text << "\t" << ((line + i) % 5 == 0 ? "" : "a")
             << ((line + i) % 5 == 0 ? "" : std::to_string(line * i));
      text << "\n";
    }
    for (size_t k = 0; k < kColumns; ++k) sizes_.push_back(1 + k % 4);
  }
  void Expand() { data_.own["multi_hot_sizes"] = fmt::format("{}", fmt::join(sizes_, ",")); }

  Status ConvertTo(const std::string& out) {
    ASSIGN_OR_RETURN(TextConversion conversion, MakeTextConversion("criteo", data_, dir_ / out));
    return Convert(*conversion.format, conversion.options).status();
  }
  Batch SamplesOf(const std::string& name) {
    const auto data = DataDirectory::Open(dir_ / name).value();
    Batch all;
    all.Clear(13, kColumns);
    for (size_t block = 0; block < data->blocks(); ++block) {
      std::vector<uint32_t> samples(data->samples_of(block));
      std::iota(samples.begin(), samples.end(), 0u);
      EXPECT_OK(data->Append(block, samples, &all));
    }
    return all;
  }

  TempDir dir_;
  DatasetOptions data_;
  std::vector<uint64_t> sizes_;
};

TEST_F(MultiHotText, BagsAreTheRowsOfTheTablesOfTheOneHotIds) {
  ASSERT_OK(ConvertTo("plain"));
  Expand();
  data_.own["multi_hot_distribution_type"] = "pareto";
  ASSERT_OK(ConvertTo("bags"));
  Batch plain = SamplesOf("plain");
  const Batch bags = SamplesOf("bags");
  const MultiHotTables tables(SchemaOfSizes(data_.shape.table_rows, sizes_, "pareto"));
  for (size_t k = 0; k < kColumns; ++k) {
    tables.Expand(k, &plain.features[k]);
    EXPECT_EQ(bags.features[k].ids, plain.features[k].ids);
    EXPECT_EQ(bags.features[k].offsets, plain.features[k].offsets);
    EXPECT_EQ(bags.features[k].ids.size(), 40 * sizes_[k]);
  }
  EXPECT_EQ(bags.dense, plain.dense);
}

TEST_F(MultiHotText, ASavedPreprocessingExpandsTheSameAndRefusesOtherSizes) {
  Expand();
  ASSERT_OK(ConvertTo("bags"));
  const auto preprocessing = Preprocessing::Open(dir_ / "bags").value();
  EXPECT_EQ(preprocessing->schema().multi_hot, (MultiHot{sizes_, "uniform"}));
  const std::string json = ReadFile(dir_ / "bags/preprocessing.json").value();
  EXPECT_THAT(json, HasSubstr("\"format_version\": 3"));
  EXPECT_THAT(json, HasSubstr("\"seed\": 0"));

  data_.text.preprocessing = preprocessing;
  data_.own.clear();
  ASSERT_OK(ConvertTo("again"));
  const std::string samples = ReadFile(dir_ / "bags/samples.bin").value();
  EXPECT_TRUE(ReadFile(dir_ / "again/samples.bin").value() == samples);
  Expand();
  ASSERT_OK(ConvertTo("said"));
  data_.own["multi_hot_distribution_type"] = "pareto";
  EXPECT_THAT(ConvertTo("other").message(), HasSubstr("not those that the model's"));
}

TEST_F(MultiHotText, ADataDirectoryOfOtherBagsIsRefused) {
  ASSERT_OK(ConvertTo("plain"));
  Expand();
  ASSERT_OK(ConvertTo("bags"));
  data_.shape.dense_features = 13;
  const auto open = [&](const std::string& name) {
    data_.file = dir_ / name;
    return Datasets().Make("converted", data_).status();
  };
  EXPECT_OK(open("bags"));
  EXPECT_THAT(open("plain").message(), HasSubstr("are not in the data"));
  data_.own["multi_hot_distribution_type"] = "pareto";
  EXPECT_THAT(open("bags").message(), HasSubstr("are others in the data"));
  // What is not said is taken as it is.
  data_.own.clear();
  EXPECT_OK(open("bags"));
}

TEST_F(MultiHotText, ADictionaryBeyondItsTableIsRefused) {
  Expand();
  data_.shape.table_rows.assign(kColumns, 10);
  data_.shape.takes_bad_ids.assign(kColumns, true);
  EXPECT_THAT(ConvertTo("bags").message(), HasSubstr("rows and its table has 10: multi_hot_sizes"));
}

TEST_F(MultiHotText, OtherFormatsHaveNoUseForIt) {
  Expand();
  data_.text.schema = {.format = "delimited", .dense = {{.name = "a"}}};
  EXPECT_THAT(MakeTextConversion("delimited", data_, dir_ / "no").status().message(),
              HasSubstr("no use for multi_hot_sizes"));
}

}  // namespace
}  // namespace rowhouse
