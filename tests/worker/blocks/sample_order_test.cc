#include "worker/data/blocks/sample_order.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <numeric>
#include <set>

#include "common/numpy_random.h"
#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

using Part = SampleSplit::Part;

SampleLayout Layout(const std::vector<uint64_t>& blocks, std::vector<uint64_t> files = {}) {
  SampleLayout layout;
  layout.first_samples = {0};
  for (const uint64_t samples : blocks) {
    layout.first_samples.push_back(layout.first_samples.back() + samples);
  }
  layout.file_samples = std::move(files);
  return layout;
}

std::shared_ptr<const SampleSplit> Split(const SampleLayout& layout, const std::string& split,
                                         double fraction = 0.0, uint64_t seed = 1) {
  return std::make_shared<SampleSplit>(
      SampleSplit::Make(layout, {.split = split, .test_fraction = fraction, .seed = seed}).value());
}

// Numbers of samples in the data.
std::vector<uint64_t> Numbers(const SampleLayout& layout, const std::vector<SamplePlace>& places) {
  std::vector<uint64_t> numbers;
  for (const SamplePlace& place : places) {
    EXPECT_LT(layout.first_samples[place.block] + place.sample,
              layout.first_samples[place.block + 1]);
    numbers.push_back(layout.first_samples[place.block] + place.sample);
  }
  return numbers;
}

std::vector<uint64_t> Train(const SampleLayout& layout, SampleOrder* order, uint64_t epoch,
                            uint64_t first, uint64_t count) {
  std::vector<SamplePlace> places;
  order->TrainPlaces(epoch, first, count, &places);
  return Numbers(layout, places);
}

std::vector<uint64_t> Epoch(const SampleLayout& layout, SampleOrder* order, uint64_t epoch) {
  return Train(layout, order, epoch, 0, order->train_samples());
}

std::vector<uint64_t> Tests(const SampleLayout& layout, SampleOrder* order) {
  std::vector<SamplePlace> places;
  order->TestPlaces(0, order->test_samples(), &places);
  return Numbers(layout, places);
}

std::vector<uint64_t> Range(uint64_t begin, uint64_t end) {
  std::vector<uint64_t> numbers(end - begin);
  std::iota(numbers.begin(), numbers.end(), begin);
  return numbers;
}

// ---- An index
// --------------------------------------------------------------------------------------

class SplitIndexTest : public testing::Test {
 protected:
  Result<SampleSplit> SplitBy(const std::string& text, const SampleLayout& layout,
                              SampleSplitOptions options = {}) {
    std::ofstream(dir_ / "index", std::ios::binary) << text;
    options.index = dir_ / "index";
    return SampleSplit::Make(layout, options);
  }
  std::string Refusal(const std::string& text, SampleSplitOptions options = {}) {
    const auto split = SplitBy(text, Layout({3}), std::move(options));
    EXPECT_EQ(split.status().code(), StatusCode::kUsage);
    return std::string(split.status().message());
  }
  TempDir dir_;
};

TEST_F(SplitIndexTest, SaysOfEachSampleWhichPartItIsOf) {
  const SampleLayout layout = Layout({3, 0, 4, 2});
  const auto split = std::make_shared<SampleSplit>(
      SplitBy("train 2\r\ntest\nvalid\nnone 2\ntrain\nvalid 1\ntest", layout).value());
  for (const char* name : {"none", "total", "day", "blocks"}) {
    const auto order = SampleOrder::Make(split, name, 1).value();
    std::vector<uint64_t> train = Epoch(layout, order.get(), 0);
    std::ranges::sort(train);
    EXPECT_EQ(train, (std::vector<uint64_t>{0, 1, 6})) << name;
    EXPECT_EQ(Tests(layout, order.get()), (std::vector<uint64_t>{2, 8})) << name;
    std::vector<SamplePlace> places;
    order->ValidPlaces(0, order->valid_samples(), &places);
    EXPECT_EQ(Numbers(layout, places), (std::vector<uint64_t>{3, 7})) << name;
  }
}

TEST_F(SplitIndexTest, IsTheFractionsWhereItSaysWhatTheyDo) {
  const SampleLayout layout = Layout({7, 6, 7});
  const auto by_index =
      std::make_shared<SampleSplit>(SplitBy("train 12\nvalid 4\ntest 4\n", layout).value());
  const auto by_fractions = std::make_shared<SampleSplit>(
      SampleSplit::Make(layout, {.test_fraction = 0.2, .valid_fraction = 0.25}).value());
  for (const char* name : {"none", "total", "blocks"}) {
    EXPECT_EQ(Epoch(layout, SampleOrder::Make(by_index, name, 1).value().get(), 1),
              Epoch(layout, SampleOrder::Make(by_fractions, name, 1).value().get(), 1));
  }
  EXPECT_NE(by_index->index_digest(), by_fractions->index_digest());
}

TEST_F(SplitIndexTest, ThatDoesNotFitIsRefused) {
  EXPECT_THAT(Refusal("train\nTest\n"), testing::HasSubstr("index:2: \"Test\" is not train"));
  for (const char* line : {"train 0", "train x", "train  2", "train -1", "", "train 2 3", "0"}) {
    EXPECT_THAT(Refusal(fmt::format("{}\n", line)), testing::HasSubstr("index:1: \"")) << line;
  }
  EXPECT_THAT(Refusal(std::string(1000, 'x')), testing::HasSubstr("index:1: \""));
  EXPECT_THAT(Refusal("train\ntest\n"), testing::HasSubstr("of 2 samples, and the data have 3"));
  EXPECT_THAT(Refusal("train 2\ntest 2\n"), testing::HasSubstr("index:2: this is of more samples"));
  EXPECT_THAT(Refusal("train 18446744073709551615\n"), testing::HasSubstr("of more samples"));
  EXPECT_THAT(Refusal("test 3\n"), testing::HasSubstr("no sample to train on"));
  EXPECT_THAT(Refusal("train 3\n", {.test_fraction = 0.1}),
              testing::HasSubstr("give one of the two"));
  EXPECT_THAT(Refusal("train 3\n", {.split = "random"}), testing::HasSubstr("give one of the two"));
}

// ---- Splits
// --------------------------------------------------------------------------------------

TEST(SampleSplitTest, TailHoldsOutTheLastSamplesRoundingHalvesToEven) {
  for (const auto& [samples, tests] :
       std::vector<std::pair<uint64_t, uint64_t>>{{10, 2}, {30, 8}, {20, 5}, {1, 0}, {101, 25}}) {
    const SampleLayout layout = Layout({samples});
    const auto split = Split(layout, "tail", 0.25);
    EXPECT_EQ(split->samples(Part::kTest), tests) << samples;
    EXPECT_EQ(split->samples(Part::kTrain), samples - tests);
    const auto order = SampleOrder::Make(split, "none", 1).value();
    EXPECT_EQ(Epoch(layout, order.get(), 0), Range(0, samples - tests));
    EXPECT_EQ(Tests(layout, order.get()), Range(samples - tests, samples));
  }
}

// What is held out for validation is the end of what is trained on without it, whatever is tested.
TEST(SampleSplitTest, TheLastSamplesThatAreNotTestedValidate) {
  const SampleLayout layout = Layout({100, 1, 250, 49}, {180, 120, 100});
  for (const std::string name : {"tail", "random", "dlrm"}) {
    SampleSplitOptions options = {.split = name, .test_fraction = 0.2, .seed = 3};
    const auto order_of = [&] {
      const auto split = std::make_shared<SampleSplit>(SampleSplit::Make(layout, options).value());
      return SampleOrder::Make(split, "none", 1).value();
    };
    const auto whole = order_of();
    EXPECT_EQ(whole->valid_samples(), 0u);
    const std::vector<uint64_t> all = Epoch(layout, whole.get(), 0);
    const std::vector<uint64_t> tests = Tests(layout, whole.get());
    for (const double fraction : {0.1, 0.5, 0.99}) {
      options.valid_fraction = fraction;
      const auto order = order_of();
      const auto valid =
          static_cast<uint64_t>(std::nearbyint(static_cast<double>(all.size()) * fraction));
      ASSERT_EQ(order->valid_samples(), valid) << name << " " << fraction;
      std::vector<SamplePlace> places;
      order->ValidPlaces(0, valid, &places);
      std::vector<uint64_t> both = Epoch(layout, order.get(), 0);
      EXPECT_EQ(both.size(), all.size() - valid);
      for (const uint64_t number : Numbers(layout, places)) both.push_back(number);
      EXPECT_EQ(both, all) << name << " " << fraction;
      EXPECT_EQ(Tests(layout, order.get()), tests) << name << " " << fraction;
    }
  }
  const auto refused = SampleSplit::Make(Layout({3}), {.valid_fraction = 0.9});
  EXPECT_EQ(refused.status().code(), StatusCode::kUsage);
  EXPECT_THAT(refused.status().message(),
              testing::HasSubstr("valid_fraction=0.9 of 3 samples leaves none to train on"));
}

TEST(SampleSplitTest, DlrmSplitsAFileAsDlrmDoes) {
  const auto vectors = LoadVectors("criteo_reader.json");
  for (const auto& vector : vectors["kaggle_day_split"]) {
    const uint64_t total = vector["total"];
    const auto split = Split(Layout({total}), "dlrm");
    EXPECT_EQ(split->samples(Part::kTrain), vector["train"]) << total;
    EXPECT_EQ(split->samples(Part::kTest), vector["test"]) << total;
    const std::vector<uint64_t> bounds = split->DayBounds();
    for (size_t day = 0; day < vector["per_day"].size(); ++day) {
      EXPECT_EQ(bounds[day + 1] - bounds[day], vector["per_day"][day]) << total << " " << day;
    }
  }
}

TEST(SampleSplitTest, DlrmTakesEachFileForADay) {
  const SampleLayout layout = Layout({5, 5, 5, 5}, {8, 5, 7});
  const auto order = SampleOrder::Make(Split(layout, "dlrm"), "none", 1).value();
  EXPECT_EQ(Epoch(layout, order.get(), 0), Range(0, 13));
  EXPECT_EQ(Tests(layout, order.get()), Range(13, 17));  // Samples 17 to 19 are for validation.
}

TEST(SampleSplitTest, RandomDrawsAsManyAsTailFromAllOverTheDataBySeed) {
  const SampleLayout layout = Layout({100, 1, 250, 49});
  std::set<std::vector<uint64_t>> seen;
  for (const uint64_t seed : {1, 2, 3}) {
    const auto order = SampleOrder::Make(Split(layout, "random", 0.2, seed), "none", 1).value();
    const std::vector<uint64_t> tests = Tests(layout, order.get());
    EXPECT_EQ(tests.size(), 80u);
    EXPECT_TRUE(std::ranges::is_sorted(tests));
    EXPECT_EQ(std::ranges::count_if(tests, [](uint64_t n) { return n < 100; }), 20);
    std::vector<uint64_t> all = Epoch(layout, order.get(), 0);
    EXPECT_TRUE(std::ranges::is_sorted(all));
    all.insert(all.end(), tests.begin(), tests.end());
    std::ranges::sort(all);
    EXPECT_EQ(all, Range(0, 400));
    seen.insert(tests);
  }
  EXPECT_EQ(seen.size(), 3u);
}

TEST(SampleSplitTest, RefusesWhatLeavesNothingToTrainOnAndUnknownNames) {
  const auto error_of = [](const SampleSplitOptions& options) {
    const Status status = SampleSplit::Make(Layout({1}, {0, 1}), options).status();
    EXPECT_EQ(status.code(), StatusCode::kUsage);
    return status.message();
  };
  EXPECT_EQ(error_of({.split = "tail", .test_fraction = 0.9}),
            "test_fraction=0.9 of 1 samples leaves none to train on");
  EXPECT_THAT(error_of({.split = "dlrm"}), testing::HasSubstr("holds out the last day"));
  EXPECT_THAT(error_of({.split = "tial"}), testing::HasSubstr("Did you mean \"tail\"?"));
  EXPECT_THAT(error_of({.test_fraction = 1.0}), testing::HasSubstr("is not in [0, 1)"));
}

// ---- Orders
// --------------------------------------------------------------------------------------

TEST(SampleOrderTest, TotalIsNumpysPermutationInEveryEpoch) {
  const SampleLayout layout = Layout({30, 30, 40});
  const auto order = SampleOrder::Make(Split(layout, "tail", 0.1), "total", 123).value();
  const std::vector<uint64_t> expected = NumpyRandom(123).Permutation(90);
  EXPECT_EQ(Epoch(layout, order.get(), 0), expected);
  EXPECT_EQ(Epoch(layout, order.get(), 5), expected);
}

TEST(SampleOrderTest, DayPermutesEachDayWithOneGenerator) {
  const SampleLayout layout = Layout({30, 30, 40}, {50, 45, 5});
  const auto order = SampleOrder::Make(Split(layout, "dlrm"), "day", 123).value();
  NumpyRandom random(123);
  std::vector<uint64_t> expected = Range(0, 50), second = Range(50, 95);
  random.Shuffle(std::span(expected));
  random.Shuffle(std::span(second));
  expected.insert(expected.end(), second.begin(), second.end());
  EXPECT_EQ(Epoch(layout, order.get(), 1), expected);
}

TEST(SampleOrderTest, BlocksShufflesBlocksAndWithinThemAnewInEachEpoch) {
  const SampleLayout layout = Layout(std::vector<uint64_t>(20, 50));
  const auto order = SampleOrder::Make(Split(layout, "tail"), "blocks", 1).value();
  std::set<std::vector<uint64_t>> epochs;
  for (uint64_t epoch = 0; epoch < 4; ++epoch) {
    const std::vector<uint64_t> numbers = Epoch(layout, order.get(), epoch);
    std::vector<uint64_t> blocks;
    for (size_t i = 0; i < numbers.size(); ++i) {
      if (i % 50 == 0) blocks.push_back(numbers[i] / 50);
      EXPECT_EQ(numbers[i] / 50, blocks.back());
    }
    EXPECT_FALSE(std::ranges::is_sorted(blocks));
    EXPECT_FALSE(std::ranges::is_sorted(numbers.begin(), numbers.begin() + 50));
    std::vector<uint64_t> sorted = numbers;
    std::ranges::sort(sorted);
    EXPECT_EQ(sorted, Range(0, 1000));
    epochs.insert(numbers);
  }
  EXPECT_EQ(epochs.size(), 4u);
}

// Whoever reads: slices of any size, in any order, over epochs, give the same sequence, and each
// train sample comes once.
RC_GTEST_PROP(SampleOrderTest, PositionsDoNotDependOnWhoReads, ()) {
  std::vector<uint64_t> blocks;
  for (int i = *rc::gen::inRange(1, 8); i > 0; --i) {
    blocks.push_back(static_cast<uint64_t>(*rc::gen::inRange(1, 20)));
  }
  blocks.push_back(20);
  const SampleLayout layout = Layout(blocks);
  const std::string name = *rc::gen::element<std::string>("none", "total", "day", "blocks");
  const std::string kind = *rc::gen::element<std::string>("tail", "random", "dlrm");
  const double fraction = *rc::gen::element(0.0, 0.1, 0.5);
  const auto open = [&] {
    return SampleOrder::Make(Split(layout, kind, fraction, 7), name, 7).value();
  };
  const auto whole = open(), parts = open();
  const uint64_t epoch = *rc::gen::inRange<uint64_t>(0, 3);
  const std::vector<uint64_t> expected = Epoch(layout, whole.get(), epoch);
  for (int i = 0; i < 10; ++i) {
    const auto samples = static_cast<int>(expected.size());
    const int first = *rc::gen::inRange(0, samples), end = *rc::gen::inRange(first, samples + 1);
    if (*rc::gen::arbitrary<bool>()) Train(layout, parts.get(), epoch + 1, 0, 1);
    const std::vector<uint64_t> slice(expected.begin() + first, expected.begin() + end);
    EXPECT_EQ(Train(layout, parts.get(), epoch, first, end - first), slice);
  }
  std::set<uint64_t> once(expected.begin(), expected.end());
  EXPECT_EQ(once.size(), whole->train_samples());
  for (const uint64_t number : Tests(layout, whole.get())) EXPECT_TRUE(once.insert(number).second);
}

TEST(SampleOrderTest, RefusesAnIndexThatIsTooLargeAndNamesTheAlternative) {
  const auto split = Split(Layout(std::vector<uint64_t>(300, 1'000'000)), "tail");
  for (const char* order : {"total", "day"}) {
    const Status status = SampleOrder::Make(split, order, 1).status();
    EXPECT_EQ(status.code(), StatusCode::kUsage);
    EXPECT_THAT(status.message(), testing::HasSubstr("--data_randomize=blocks"));
  }
  EXPECT_OK(SampleOrder::Make(split, "blocks", 1));
  EXPECT_OK(SampleOrder::Make(split, "none", 1));
  EXPECT_THAT(SampleOrder::Make(split, "block", 1).status().message(),
              testing::HasSubstr("Did you mean \"blocks\"?"));
}

}  // namespace
}  // namespace rowhouse
