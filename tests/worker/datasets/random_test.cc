// Expected batches are those DLRM's own program printed (vectors dlrm_random_data.json).
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

#include "tests/testing/testing.h"
#include "worker/data/dataset.h"

namespace rowhouse {
namespace {

std::unique_ptr<Dataset> Open(const DatasetOptions& options) {
  return Datasets().Make("random", options).value();
}

DatasetOptions OptionsOf(const nlohmann::json& config) {
  DatasetOptions options;
  options.seed = config["seed"];
  options.shape.dense_features = config["m_den"];
  options.shape.table_rows = config["sizes"].get<std::vector<uint64_t>>();
  options.data_size = config["data_size"];
  options.mini_batch_size = config["mb"];
  options.num_batches = config.value("num_batches", options.num_batches);
  const std::map<std::string, std::string> flags = {
      {"L", "num_indices_per_lookup"}, {"fixed", "num_indices_per_lookup_fixed"},
      {"rounding", "round_targets"},   {"dist", "rand_data_dist"},
      {"lo", "rand_data_min"},         {"hi", "rand_data_max"},
      {"mu", "rand_data_mu"},          {"sigma", "rand_data_sigma"}};
  for (const auto& [key, flag] : flags) {
    if (!config.contains(key)) continue;
    const nlohmann::json& value = config[key];
    options.flags[flag] = value.is_string() ? value.get<std::string>() : value.dump();
  }
  return options;
}

void ExpectBatch(const Batch& got, const nlohmann::json& expected) {
  const size_t samples = expected["T"].size();
  ASSERT_EQ(got.samples, samples);
  EXPECT_EQ(got.labels, expected["T"].get<std::vector<float>>());
  std::vector<float> dense;
  for (const auto& row : expected["X"]) {
    for (const float value : row) dense.push_back(value);
  }
  EXPECT_EQ(got.dense, dense);
  ASSERT_EQ(got.features.size(), expected["indices"].size());
  for (size_t k = 0; k < got.features.size(); ++k) {
    auto offsets = expected["offsets"][k].get<std::vector<uint32_t>>();  // DLRM leaves out the end.
    offsets.push_back(static_cast<uint32_t>(expected["indices"][k].size()));
    EXPECT_EQ(got.features[k].ids, expected["indices"][k].get<std::vector<uint64_t>>());
    EXPECT_EQ(got.features[k].offsets, offsets);
  }
}

TEST(RandomData, BatchesAreDlrmsInEveryEpoch) {
  const auto sets = LoadVectors("dlrm_random_data.json")["random_batches"];
  ASSERT_GE(sets.size(), 7u);
  for (const auto& set : sets) {
    SCOPED_TRACE(set["note"].get<std::string>());
    const DatasetOptions options = OptionsOf(set["config"]);
    const auto data = Open(options);
    for (uint64_t epoch = 0; epoch < 2; ++epoch) {
      uint64_t first = 0;
      for (const auto& expected : set["batches"]) {
        Batch batch;
        ASSERT_OK(data->ReadTrain(epoch, first, expected["T"].size(), &batch));
        ExpectBatch(batch, expected);
        first += expected["T"].size();
      }
      EXPECT_EQ(first, data->train_samples());
    }
  }
}

DatasetOptions Small() {
  DatasetOptions options;
  options.shape.dense_features = 3;
  options.shape.table_rows = {7, 1, 100};
  options.mini_batch_size = 4;
  options.data_size = 30;
  options.flags["num_indices_per_lookup"] = "5";
  return options;
}

// dense, then ids with a separator after each bag, then labels: everything a sample holds.
std::vector<double> RandomFlat(const Batch& batch, size_t sample) {
  std::vector<double> all(batch.dense.begin() + sample * batch.dense_features,
                          batch.dense.begin() + (sample + 1) * batch.dense_features);
  for (const Bags& bags : batch.features) {
    all.insert(all.end(), bags.ids.begin() + bags.offsets[sample],
               bags.ids.begin() + bags.offsets[sample + 1]);
    all.push_back(-1.0);
  }
  all.push_back(batch.labels[sample]);
  return all;
}

RC_GTEST_PROP(RandomDataProperty, AnySliceInAnyOrderIsThatPartOfTheWhole, (bool gaussian)) {
  DatasetOptions options = Small();
  if (gaussian) {
    options.shape.table_rows = {20, 30};
    options.flags["rand_data_dist"] = "gaussian";
    options.flags["rand_data_max"] = "19";
    options.flags["rand_data_sigma"] = "5";
  }
  Batch whole;
  RC_ASSERT(Open(options)->ReadTrain(0, 0, 30, &whole).ok());
  const auto data = Open(options);
  Batch slice;
  for (int read = 0; read < 8; ++read) {
    const auto first = *rc::gen::inRange<uint64_t>(0, 31);
    const auto count = *rc::gen::inRange<uint64_t>(0, 31 - first);
    RC_ASSERT(data->ReadTrain(static_cast<uint64_t>(read % 3), first, count, &slice).ok());
    RC_ASSERT(slice.samples == count);
    for (uint64_t s = 0; s < count; ++s)
      RC_ASSERT(RandomFlat(slice, s) == RandomFlat(whole, first + s));
  }
}

TEST(RandomData, BagsAreSortedDistinctAndInRange) {
  DatasetOptions options = Small();
  options.data_size = 500;
  Batch batch;
  ASSERT_OK(Open(options)->ReadTrain(0, 0, 500, &batch));
  for (size_t k = 0; k < 3; ++k) {
    const Bags& bags = batch.features[k];
    ASSERT_EQ(bags.samples(), 500u);
    for (size_t s = 0; s < 500; ++s) {
      ASSERT_GE(bags.offsets[s + 1], bags.offsets[s] + 1);
      ASSERT_LE(bags.offsets[s + 1], bags.offsets[s] + 5);
      for (size_t i = bags.offsets[s]; i < bags.offsets[s + 1]; ++i) {
        ASSERT_LT(bags.ids[i], options.shape.table_rows[k]);
        if (i > bags.offsets[s]) {
          ASSERT_LT(bags.ids[i - 1], bags.ids[i]);
        }
      }
    }
  }
}

// Larger tables would get the same ids: where a table ends is for its policy to say.
TEST(RandomData, GaussianIdsGoBeyondTablesThatTakeThem) {
  DatasetOptions options = Small();
  options.shape.table_rows = {60, 7, 60};
  options.flags["rand_data_dist"] = "gaussian";
  options.flags["rand_data_max"] = "59";
  options.flags["rand_data_sigma"] = "15";
  options.flags["num_indices_per_lookup_fixed"] = "true";  // else a small table has shorter bags
  options.shape.takes_bad_ids = {false, true, false};
  Batch small, large;
  ASSERT_OK(Open(options)->ReadTrain(0, 0, 30, &small));
  options.shape.table_rows = {60, 60, 60};
  ASSERT_OK(Open(options)->ReadTrain(0, 0, 30, &large));
  for (size_t k = 0; k < 3; ++k) EXPECT_EQ(small.features[k].ids, large.features[k].ids);
  EXPECT_GE(*std::max_element(small.features[1].ids.begin(), small.features[1].ids.end()), 40u);
}

TEST(RandomData, TheLastIdOfTheLargestTableStaysInRange) {
  DatasetOptions options = Small();
  options.shape.table_rows = {uint64_t{1} << 63};
  options.data_size = 1000;
  Batch batch;
  ASSERT_OK(Open(options)->ReadTrain(0, 0, 1000, &batch));
  for (const uint64_t id : batch.features[0].ids) ASSERT_LT(id, uint64_t{1} << 63);
}

void ExpectUsage(const DatasetOptions& options, const std::string& part) {
  const auto data = Datasets().Make("random", options);
  ASSERT_FALSE(data.ok()) << part;
  EXPECT_EQ(data.status().code(), StatusCode::kUsage);
  EXPECT_THAT(data.status().message(), testing::HasSubstr(part));
}

TEST(RandomData, WhatCannotBeDrawnIsRefusedByName) {
  DatasetOptions options = Small();
  options.mini_batch_size = 0;
  ExpectUsage(options, "mini_batch_size is 0");
  options = Small();
  options.seed = uint64_t{1} << 32;
  ExpectUsage(options, "seed 4294967296");
  options = Small();
  options.flags["rand_data_dist"] = "gausian";
  ExpectUsage(options, "rand_data_dist=gausian: expected one of uniform, gaussian");
  options = Small();
  options.flags["rand_data_dist"] = "gaussian";
  ExpectUsage(options, "rand_data_max=1 is not a row of table 1, which has 1 rows");
  options.shape.table_names = {"a", "b", "c"};
  ExpectUsage(options, "rand_data_max=1 is not a row of table 1 \"b\", which has 1 rows");
  ExpectUsage(options, "bad_ids: modulo or padding");
  options.shape.takes_bad_ids = {true, false, true};
  ExpectUsage(options, "is not a row of table 1 \"b\"");
  options.flags["rand_data_max"] = "9223372036854775808";
  ExpectUsage(options, "below 2^63");
  options.flags["rand_data_max"] = "1";
  options.shape.table_rows = {5, 5};
  options.flags["rand_data_min"] = "-2";
  ExpectUsage(options, "rand_data_min=-2");
  options = Small();
  options.data_size = 0;
  ExpectUsage(options, "data_size");
}

// What --debug-mode leaves for the weights.
TEST(RandomData, TheGeneratorAfterAnEpochGoesOnWhereTheDataEnded) {
  DatasetOptions options;
  options.shape.dense_features = 1;
  options.shape.table_rows = {100};
  options.seed = 5;
  options.flags["num_indices_per_lookup"] = "1";
  options.flags["num_indices_per_lookup_fixed"] = "true";
  options.flags["rand_data_dist"] = "gaussian";
  options.flags["rand_data_max"] = "99";
  const auto data = Datasets().Make("random", options).value();
  NumpyRandom after = data->GeneratorAfterEpoch().value();

  NumpyRandom random(5);
  EXPECT_EQ(random.words_drawn(), 0u);
  random.NextDouble();
  random.Normal(49.5, 1.0);  // of a pair: the other is kept for whoever draws next
  random.NextDouble();
  EXPECT_EQ(after.words_drawn(), random.words_drawn());
  EXPECT_EQ(after.Normal(0.0, 1.0), random.Normal(0.0, 1.0));
  EXPECT_EQ(after.NextDouble(), random.NextDouble());

  EXPECT_FALSE(Datasets().Make("synthetic", options).value()->GeneratorAfterEpoch().has_value());
}

}  // namespace
}  // namespace rowhouse
