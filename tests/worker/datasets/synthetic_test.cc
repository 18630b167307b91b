#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>

#include "tests/testing/testing.h"
#include "worker/data/dataset.h"

namespace rowhouse {
namespace {

DatasetOptions Options() {
  DatasetOptions options;
  options.shape.dense_features = 13;
  options.shape.table_rows.assign(26, 100000);
  options.data_size = 20000;
  options.flags["synthetic_test_samples"] = "20000";
  return options;
}

std::unique_ptr<Dataset> OpenSynthetic(const DatasetOptions& options) {
  return Datasets().Make("synthetic", options).value();
}

Batch TrainOf(const DatasetOptions& options) {
  Batch batch;
  EXPECT_OK(OpenSynthetic(options)->ReadTrain(0, 0, options.data_size, &batch));
  return batch;
}

// What labels of logits N(log(1/3), scale^2) must look like, by integrating over the normal.
struct Expected {
  double positives = 0.0;
  double auc = 0.0;
};
Expected Expect(double scale) {
  double positives = 0.0, negatives = 0.0, ordered = 0.0;
  constexpr double kStep = 0.002;
  for (double z = -8.0; z <= 8.0; z += kStep) {
    const double weight = std::exp(-z * z / 2.0) * kStep / std::sqrt(2.0 * M_PI);
    const double p = 1.0 / (1.0 + 3.0 * std::exp(-scale * z));
    ordered += weight * p * (negatives + weight * (1.0 - p) / 2.0);
    positives += weight * p;
    negatives += weight * (1.0 - p);
  }
  return {positives, ordered / positives / negatives};
}

TEST(SyntheticData, LogitsHaveTheDeviationAskedFor) {
  for (const double scale : {0.5, 1.0, 3.0}) {
    DatasetOptions options = Options();
    options.flags["effect_scale"] = fmt::format("{}", scale);
    const auto data = OpenSynthetic(options);
    Batch test;
    ASSERT_OK(data->ReadTest(0, data->test_samples(), &test));
    double positives = 0.0;
    for (const float label : test.labels) positives += label;
    const Expected expected = Expect(scale);
    EXPECT_NEAR(positives / 20000.0, expected.positives, 0.02) << scale;
    EXPECT_NEAR(data->TestAucCeiling(), expected.auc, 0.015) << scale;
  }
}

TEST(SyntheticData, WithoutEffectsNoModelBeatsAGuess) {
  DatasetOptions options = Options();
  options.flags["effect_scale"] = "0";
  EXPECT_EQ(OpenSynthetic(options)->TestAucCeiling(), 0.5);  // All probabilities are equal.
}

TEST(SyntheticData, TheCeilingIsUnknownWithoutTestSamplesOfBothLabels) {
  DatasetOptions options = Options();
  options.flags["synthetic_test_samples"] = "0";
  EXPECT_LT(OpenSynthetic(options)->TestAucCeiling(), 0.0);
  options.flags["synthetic_test_samples"] = "1";
  EXPECT_LT(OpenSynthetic(options)->TestAucCeiling(), 0.0);
}

TEST(SyntheticData, AnIdCarriesItsEffectIntoTrainAndTestAlike) {
  DatasetOptions options = Options();
  options.shape.dense_features = 0;
  options.shape.table_rows = {6};
  options.flags["zipf_exponent"] = "0";
  options.flags["effect_scale"] = "2";
  const auto data = OpenSynthetic(options);
  Batch batches[2];
  ASSERT_OK(data->ReadTrain(0, 0, 20000, &batches[0]));
  ASSERT_OK(data->ReadTest(0, 20000, &batches[1]));
  std::map<uint64_t, std::array<double, 2>> positives;
  for (int set = 0; set < 2; ++set) {
    for (size_t s = 0; s < 20000; ++s) {
      positives[batches[set].features[0].ids[s]][static_cast<size_t>(set)] +=
          batches[set].labels[s];
    }
  }
  ASSERT_EQ(positives.size(), 6u);
  double lowest = 1.0, highest = 0.0;
  for (const auto& [id, count] : positives) {
    const double samples = 20000.0 / 6.0;
    EXPECT_NEAR(count[0] / samples, count[1] / samples, 0.1) << id;
    lowest = std::min(lowest, count[0] / samples);
    highest = std::max(highest, count[0] / samples);
  }
  EXPECT_GT(highest - lowest, 0.4);
}

TEST(SyntheticData, HotIdsAreZipfianAndScattered) {
  DatasetOptions options = Options();
  options.flags["zipf_exponent"] = "1";
  options.shape.table_rows = {1000, 1000};
  const Batch batch = TrainOf(options);
  std::set<uint64_t> hottest;
  for (const Bags& bags : batch.features) {
    std::map<uint64_t, int> counts;
    for (const uint64_t id : bags.ids) ++counts[id];
    const auto hot = std::max_element(counts.begin(), counts.end(),
                                      [](auto& a, auto& b) { return a.second < b.second; });
    EXPECT_NEAR(hot->second, 20000 / 7.4855, 300);  // H(1000) = 7.4855.
    hottest.insert(hot->first);
  }
  EXPECT_EQ(hottest.size(), 2u) << "both features have the same hottest id";
  EXPECT_FALSE(hottest.contains(0)) << "the hottest id is the first row";
}

TEST(SyntheticData, DenseFeaturesAreStandardNormals) {
  const Batch batch = TrainOf(Options());
  double sum = 0.0, squares = 0.0;
  for (const double value : batch.dense) {
    sum += value;
    squares += value * value;
  }
  const double count = static_cast<double>(batch.dense.size());
  EXPECT_NEAR(sum / count, 0.0, 0.01);
  EXPECT_NEAR(squares / count, 1.0, 0.02);
}

TEST(SyntheticData, TestSamplesAreNotTrainSamples) {
  const auto data = OpenSynthetic(Options());
  Batch train, test;
  ASSERT_OK(data->ReadTrain(0, 0, 100, &train));
  ASSERT_OK(data->ReadTest(0, 100, &test));
  for (size_t i = 0; i < train.dense.size(); ++i) EXPECT_NE(train.dense[i], test.dense[i]);
}

TEST(SyntheticData, AnotherSeedIsAnotherWorld) {
  DatasetOptions options = Options();
  const Batch one = TrainOf(options);
  options.seed = 124;
  const Batch other = TrainOf(options);
  EXPECT_NE(one.dense, other.dense);
  EXPECT_NE(one.features[0].ids, other.features[0].ids);
  EXPECT_NE(one.labels, other.labels);
}

TEST(SyntheticData, TablesOfATrillionRowsCostNothing) {
  DatasetOptions options = Options();
  options.shape.table_rows.assign(26, 1000000000000);
  options.data_size = 1000;
  const Batch batch = TrainOf(options);
  for (const uint64_t id : batch.features[25].ids) EXPECT_LT(id, 1000000000000u);
}

// Golden: what these settings gave before bags had lengths.
TEST(SyntheticData, BagsOfOneIdAreWhatTheyAlwaysWere) {
  DatasetOptions options = Options();
  options.shape.table_rows = {1000, 4000000};
  options.shape.dense_features = 1;
  Batch batch;
  ASSERT_OK(OpenSynthetic(options)->ReadTrain(0, 0, 5, &batch));
  EXPECT_EQ(batch.features[0].ids, (std::vector<uint64_t>{996, 379, 281, 32, 113}));
  EXPECT_EQ(batch.features[1].ids,
            (std::vector<uint64_t>{1910736, 551576, 664164, 1672442, 761422}));
  EXPECT_EQ(batch.features[0].offsets, (std::vector<uint32_t>{0, 1, 2, 3, 4, 5}));
  EXPECT_TRUE(batch.features[0].weights.empty());
  EXPECT_EQ(batch.labels, (std::vector<float>{1, 1, 1, 0, 0}));
  EXPECT_EQ(OpenSynthetic(options)->TestAucCeiling(), 0x1.7addcb69541a3p-1);
}

TEST(SyntheticData, BagsHaveTheLengthAskedForAndBeginWithTheIdOfShorterOnes) {
  DatasetOptions options = Options();
  options.data_size = 2000;
  options.shape.table_rows = {100000, 50};
  const Batch one = TrainOf(options);
  options.flags["synthetic_bag_length"] = "4";
  const Batch four = TrainOf(options);
  options.flags["synthetic_bag_fixed"] = "false";
  const Batch some = TrainOf(options);
  for (size_t k = 0; k < 2; ++k) {
    std::array<double, 5> bags_of{};
    size_t begin = 0;
    for (size_t s = 0; s < 2000; ++s) {
      ASSERT_EQ(four.features[k].offsets[s + 1], 4 * (s + 1));
      EXPECT_EQ(four.features[k].ids[4 * s], one.features[k].ids[s]);
      const size_t length = some.features[k].offsets[s + 1] - begin;
      ASSERT_TRUE(length >= 1 && length <= 4) << length;
      ++bags_of[length];
      for (size_t i = 0; i < length; ++i) {
        EXPECT_EQ(some.features[k].ids[begin + i], four.features[k].ids[4 * s + i]);
      }
      begin += length;
    }
    for (size_t length = 1; length <= 4; ++length) EXPECT_NEAR(bags_of[length], 500, 80);
  }
  EXPECT_NE(some.features[0].offsets, some.features[1].offsets) << "each feature has its own";
}

TEST(SyntheticData, WeightsLieAroundOneAndChangeNoId) {
  DatasetOptions options = Options();
  options.flags["synthetic_bag_length"] = "3";
  options.flags["synthetic_bag_fixed"] = "false";
  options.shape.table_rows = {1000, 1000};
  const Batch plain = TrainOf(options);
  options.flags["synthetic_weights"] = "true";
  const Batch weighted = TrainOf(options);
  std::set<float> seen;
  for (size_t k = 0; k < 2; ++k) {
    const Bags& bags = weighted.features[k];
    EXPECT_EQ(bags.ids, plain.features[k].ids);
    EXPECT_EQ(bags.offsets, plain.features[k].offsets);
    ASSERT_EQ(bags.weights.size(), bags.ids.size());
    double sum = 0.0;
    for (const float weight : bags.weights) {
      EXPECT_TRUE(weight >= 0.5f && weight < 1.5f) << weight;
      sum += weight;
      seen.insert(weight);
    }
    EXPECT_NEAR(sum / static_cast<double>(bags.weights.size()), 1.0, 0.01);
  }
  EXPECT_GT(seen.size(), 50000u) << "of each feature, sample and position its own";
  EXPECT_NE(plain.labels, weighted.labels) << "a weight counts in the planted effect";
}

// A slice read alone holds what it holds within a larger one.
TEST(SyntheticData, BagsAndWeightsDoNotDependOnTheSlice) {
  DatasetOptions options = Options();
  options.data_size = 64;
  options.flags["synthetic_bag_length"] = "5";
  options.flags["synthetic_bag_fixed"] = "false";
  options.flags["synthetic_weights"] = "true";
  const Batch all = TrainOf(options);
  const auto data = OpenSynthetic(options);
  for (uint64_t s = 63; s < 64; --s) {
    Batch one;
    ASSERT_OK(data->ReadTrain(1, s, 1, &one));
    for (size_t k = 0; k < 26; ++k) {
      const Bags& bags = all.features[k];
      const auto slice = [&](const auto& values) {
        return std::vector(values.begin() + bags.offsets[s], values.begin() + bags.offsets[s + 1]);
      };
      EXPECT_EQ(one.features[k].ids, slice(bags.ids));
      EXPECT_EQ(one.features[k].weights, slice(bags.weights));
    }
    EXPECT_EQ(one.labels[0], all.labels[s]);
  }
}

TEST(SyntheticData, LongBagsAreAsPredictableAsShortOnes) {
  DatasetOptions options = Options();
  options.flags["synthetic_bag_length"] = "5";
  options.shape.table_rows.assign(6, 100000);
  options.data_size = 1;
  for (const bool is_fixed : {true, false}) {
    options.flags["synthetic_bag_fixed"] = fmt::format("{}", is_fixed);
    options.flags["synthetic_weights"] = fmt::format("{}", !is_fixed);
    EXPECT_NEAR(OpenSynthetic(options)->TestAucCeiling(), Expect(1.0).auc, 0.015) << is_fixed;
  }
}

// One feature and no other input: the mean effect of a bag decides. With two ids of a bag, the
// clicks of bags {a, b} lie between those of {a, a} and {b, b}.
TEST(SyntheticData, TheEffectOfABagIsTheMeanOfItsIds) {
  DatasetOptions options = Options();
  options.shape.dense_features = 0;
  options.shape.table_rows = {2};
  options.flags["zipf_exponent"] = "0";
  options.flags["effect_scale"] = "2";
  options.flags["synthetic_bag_length"] = "2";
  options.data_size = 40000;
  const Batch batch = TrainOf(options);
  std::array<double, 3> clicks{}, bags{};
  for (size_t s = 0; s < 40000; ++s) {
    const size_t ones = batch.features[0].ids[2 * s] + batch.features[0].ids[2 * s + 1];
    ++bags[ones];
    clicks[ones] += batch.labels[s];
  }
  const auto logit = [&](size_t ones) {
    const double rate = clicks[ones] / bags[ones];
    return std::log(rate / (1.0 - rate));
  };
  EXPECT_NEAR(bags[1] / 40000.0, 0.5, 0.02);
  EXPECT_NEAR(logit(1), std::log(1.0 / 3.0), 0.15);
  EXPECT_NEAR(logit(1), (logit(0) + logit(2)) / 2.0, 0.2);
  EXPECT_NEAR(std::abs(logit(2) - logit(0)), 2 * 2.0 * std::sqrt(2.0), 0.5);
}

TEST(SyntheticData, WhatCannotBeMadeIsRefusedByName) {
  const auto expect = [](const DatasetOptions& options, const std::string& part) {
    const auto data = Datasets().Make("synthetic", options);
    ASSERT_FALSE(data.ok()) << part;
    EXPECT_EQ(data.status().code(), StatusCode::kUsage);
    EXPECT_THAT(data.status().message(), testing::HasSubstr(part));
  };
  DatasetOptions options = Options();
  options.flags["zipf_exponent"] = "-0.1";
  expect(options, "zipf_exponent=-0.1");
  options = Options();
  options.flags["effect_scale"] = "nan";
  expect(options, "effect_scale=nan");
  options = Options();
  options.shape.table_rows[3] = 0;
  expect(options, "table 3 has 0 rows");
  options = Options();
  options.flags["synthetic_bag_length"] = "0";
  expect(options, "synthetic_bag_length=0");
  options = Options();
  options.data_size = 0;
  expect(options, "data_size is 0");
  options.data_size = uint64_t{1} << 62;
  expect(options, "2^62");
}

}  // namespace
}  // namespace rowhouse
