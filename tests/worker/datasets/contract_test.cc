// What every Dataset promises. Runs once per registered name, so a new source is tested the day its
// file appears.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <array>
#include <fstream>

#include "tests/testing/sample_blocks.h"
#include "tests/testing/testing.h"
#include "worker/data/dataset.h"

namespace rowhouse {
namespace {

constexpr uint64_t kTrain = 45, kTest = 15;

class DatasetContract : public testing::TestWithParam<std::string> {
 protected:
  DatasetContract() {
    options_.shape.dense_features = 13;
    for (uint64_t table = 0; table < 26; ++table)
      options_.shape.table_rows.push_back(1 + table * 40);
    options_.mini_batch_size = 8;
    options_.data_size = kTrain;
    options_.flags["synthetic_test_samples"] = fmt::format("{}", kTest);
    options_.flags["num_indices_per_lookup"] = "4";
    options_.held_out.test_fraction = 0.25;
    if (GetParam() == "converted") {
      options_.file = dir_ / "data";
      WriteSampleData(options_.file, SampleColumns(13, options_.shape.table_rows), kTrain + kTest,
                      16);
    } else if (GetParam() == "delimited") {
      WriteDelimitedFile();
    } else if (GetParam() == "libsvm") {
      options_.shape.dense_features = 1;
      options_.shape.table_rows = {500};
      WriteLines([](uint32_t line) { return fmt::format("{} {}:0.5 7:1", line % 2, line * 7); });
    } else if (GetParam() == "movielens") {
      options_.shape.dense_features = 1;
      options_.shape.table_rows = {40, 50};
      WriteLines([](uint32_t line) {
        return fmt::format("{}\t{}\t{}\t{}", line % 30, line * 7, line % 6, line * 1000);
      });
    } else if (GetParam() == "criteo_binary") {
      WriteCriteoRecords();
    } else {
      WriteCriteoFile();
    }
  }
  template <typename LineOf>
  void WriteLines(LineOf line_of) {
    options_.file = dir_ / "lines";
    std::ofstream file(options_.file);
    for (uint32_t line = 0; line < kTrain + kTest; ++line) file << line_of(line) << "\n";
  }
  void WriteDelimitedFile() {
    Schema& schema = options_.text.schema;
    schema.format = "delimited";
    schema.has_header = false;
    schema.label = {.column = "label", .compare = ">", .value = "500"};
    schema.columns = {"label"};
    for (int i = 0; i < 13; ++i) {
      schema.columns.push_back(fmt::format("d{}", i));
      schema.dense.push_back({.name = schema.columns.back()});
    }
    for (int i = 0; i < 26; ++i) {
      schema.columns.push_back(fmt::format("t{}", i));
      schema.categorical.push_back({.name = schema.columns.back(),
                                    .rows = options_.shape.table_rows[static_cast<size_t>(i)],
                                    .separator = " "});
    }
    WriteLines([](uint32_t line) {
      std::string text = fmt::format("{}", line * 331 % 1000);
      for (uint32_t i = 0; i < 13; ++i) text += fmt::format(",{}.5", line * i);
      for (uint32_t i = 0; i < 26; ++i) text += i % 3 == 0 ? ",a b" : fmt::format(",x{}", line * i);
      return text;
    });
  }
  void WriteCriteoFile() {
    options_.file = dir_ / "criteo.tsv";
    std::ofstream file(options_.file);
    for (uint32_t line = 0; line < kTrain + kTest; ++line) {
      file << line % 2;
      for (uint32_t field = 1; field < 40; ++field) file << '\t' << (line * 7919 + field) % 9999;
      file << '\n';
    }
  }
  void WriteCriteoRecords() {
    options_.file = dir_ / "criteo.bin";
    std::ofstream file(options_.file, std::ios::binary);
    for (uint32_t record = 0; record < kTrain + kTest; ++record) {
      std::array<uint32_t, 40> fields = {record % 2};
      for (uint32_t i = 1; i < 14; ++i) fields[i] = (record * 7919 + i) % 9999;
      for (uint32_t i = 14; i < 40; ++i) {
        fields[i] = (record * 7919 + i) % static_cast<uint32_t>(options_.shape.table_rows[i - 14]);
      }
      file.write(reinterpret_cast<const char*>(fields.data()), sizeof(fields));
    }
  }
  std::unique_ptr<Dataset> Open() { return Datasets().Make(GetParam(), options_).value(); }

  TempDir dir_;
  DatasetOptions options_;
};

// Everything sample `s` holds: dense, ids with the end of each bag, label.
std::vector<double> Flat(const Batch& batch, size_t s) {
  const auto width = static_cast<ptrdiff_t>(batch.dense_features);
  const auto begin = batch.dense.begin() + static_cast<ptrdiff_t>(s) * width;
  std::vector<double> all(begin, begin + width);
  for (const Bags& bags : batch.features) {
    for (size_t i = bags.offsets[s]; i < bags.offsets[s + 1]; ++i) {
      all.push_back(static_cast<double>(bags.ids[i]));
    }
    all.push_back(-1.0);
  }
  all.push_back(batch.labels[s]);
  return all;
}

void ExpectShape(const Batch& batch, uint64_t samples, const InputShape& shape) {
  EXPECT_EQ(batch.samples, samples);
  EXPECT_EQ(batch.dense_features, shape.dense_features);
  EXPECT_EQ(batch.dense.size(), samples * shape.dense_features);
  EXPECT_EQ(batch.labels.size(), samples);
  for (const float label : batch.labels) EXPECT_TRUE(label >= 0.0f && label <= 1.0f) << label;
  ASSERT_EQ(batch.features.size(), shape.table_rows.size());
  for (size_t k = 0; k < batch.features.size(); ++k) {
    const Bags& bags = batch.features[k];
    ASSERT_EQ(bags.samples(), samples);
    EXPECT_EQ(bags.offsets.front(), 0u);
    EXPECT_EQ(bags.offsets.back(), bags.ids.size());
    EXPECT_TRUE(std::is_sorted(bags.offsets.begin(), bags.offsets.end()));
    for (const uint64_t id : bags.ids) EXPECT_LT(id, shape.table_rows[k]);
  }
}

TEST_P(DatasetContract, BatchesHaveTheModelsShape) {
  const auto data = Open();
  ASSERT_EQ(data->train_samples(), kTrain);
  Batch batch;
  for (int twice = 0; twice < 2; ++twice) {  // What was in the batch before must not matter.
    ASSERT_OK(data->ReadTrain(0, 0, kTrain, &batch));
    ExpectShape(batch, kTrain, options_.shape);
    ASSERT_OK(data->ReadTest(0, data->test_samples(), &batch));
    ExpectShape(batch, data->test_samples(), options_.shape);
    ASSERT_OK(data->ReadTrain(0, kTrain, 0, &batch));
    ExpectShape(batch, 0, options_.shape);
  }
}

TEST_P(DatasetContract, ASampleDependsOnItsNumberAndNotOnHowItIsRead) {
  const auto whole_source = Open();
  Batch whole[2], test;
  for (uint64_t epoch = 0; epoch < 2; ++epoch) {
    ASSERT_OK(whole_source->ReadTrain(epoch, 0, kTrain, &whole[epoch]));
  }
  ASSERT_OK(whole_source->ReadTest(0, whole_source->test_samples(), &test));

  const auto data = Open();  // Another worker's. It keeps what earlier reads left behind.
  EXPECT_TRUE(rc::check([&] {
    Batch slice;
    for (int read = 0; read < 6; ++read) {
      const auto epoch = *rc::gen::inRange<uint64_t>(0, 3);
      const Batch& expected = epoch == 2 ? test : whole[epoch];  // 2 stands for the test set.
      const auto first = *rc::gen::inRange<uint64_t>(0, expected.samples + 1);
      const auto count = *rc::gen::inRange<uint64_t>(0, expected.samples + 1 - first);
      RC_ASSERT((epoch == 2 ? data->ReadTest(first, count, &slice)
                            : data->ReadTrain(epoch, first, count, &slice))
                    .ok());
      RC_ASSERT(slice.samples == count);
      for (uint64_t s = 0; s < count; ++s) RC_ASSERT(Flat(slice, s) == Flat(expected, first + s));
    }
  }));
}

TEST_P(DatasetContract, AnotherOpeningGoesOnWhereOneStopped) {
  Batch whole, rest;
  const auto first = Open();
  ASSERT_OK(first->ReadTrain(0, 0, kTrain, &whole));
  const DatasetState state = first->StateAt(0, 16).value();
  EXPECT_EQ(first->StateAt(0, 16).value(), state) << "asking changes nothing";

  const auto second = Open();
  ASSERT_OK(second->GoOnFrom(0, 16, state));
  ASSERT_OK(second->ReadTrain(0, 16, kTrain - 16, &rest));
  for (uint64_t s = 16; s < kTrain; ++s) EXPECT_EQ(Flat(rest, s - 16), Flat(whole, s));
}

TEST_P(DatasetContract, SamplesHaveNoWeightsOrOneEach) {
  Batch batch;
  ASSERT_OK(Open()->ReadTrain(0, 0, kTrain, &batch));
  EXPECT_TRUE(batch.weights.empty() || batch.weights.size() == kTrain);
}

TEST_P(DatasetContract, TheCeilingIsAnAucOrUnknown) {
  const double ceiling = Open()->TestAucCeiling();
  EXPECT_TRUE(ceiling < 0.0 || (ceiling >= 0.0 && ceiling <= 1.0)) << ceiling;
}

INSTANTIATE_TEST_SUITE_P(Sources, DatasetContract, testing::ValuesIn(Datasets().Names()),
                         [](const auto& test) { return test.param; });

TEST(Datasets, AreAllRegistered) {
  EXPECT_THAT(Datasets().Names(),
              testing::IsSupersetOf({"converted", "criteo", "criteo_binary", "delimited", "libsvm",
                                     "movielens", "random", "synthetic"}));
}

}  // namespace
}  // namespace rowhouse
