// Expected numbers come from numpy itself (vectors numpy_rng.json) and are compared bit for bit.
#include "common/numpy_random.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <numeric>
#include <thread>

#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

class NumpyVectors : public testing::Test {
 protected:
  const nlohmann::json all_ = LoadVectors("numpy_rng.json")["numpy_legacy_randomstate"];

  static NumpyRandom Seeded(const nlohmann::json& seed) {
    return NumpyRandom(seed["seed"].get<uint32_t>());
  }
  template <typename Draw>
  static void ExpectDraws(const nlohmann::json& expected, Draw draw) {
    ASSERT_FALSE(expected.empty());
    for (const auto& value : expected) {
      EXPECT_EQ(draw(), (value.get<decltype(draw())>()));
    }
  }
};

TEST_F(NumpyVectors, WordsAreMersenneTwisters) {
  ASSERT_GE(all_.size(), 5u);
  for (const auto& seed : all_) {
    NumpyRandom random = Seeded(seed);
    ExpectDraws(seed["mt19937_uint32"], [&] { return random.NextWord(); });
  }
}

TEST_F(NumpyVectors, DoublesTakeTwoWordsEach) {
  for (const auto& seed : all_) {
    NumpyRandom random = Seeded(seed);
    ExpectDraws(seed["rand_double"], [&] { return random.NextDouble(); });
  }
}

TEST_F(NumpyVectors, UniformScalesADouble) {
  for (const auto& seed : all_) {
    NumpyRandom random = Seeded(seed);
    ExpectDraws(seed["uniform_m05_05"], [&] { return random.Uniform(-0.5, 0.5); });
  }
}

TEST_F(NumpyVectors, NormalsComeInPairsSecondFirst) {
  for (const auto& seed : all_) {
    NumpyRandom random = Seeded(seed);
    ExpectDraws(seed["normal_0_1"], [&] { return random.Normal(0.0, 1.0); });
  }
}

TEST_F(NumpyVectors, TheSecondNormalOfAPairOutlivesOtherDraws) {
  for (const auto& seed : all_) {
    NumpyRandom random = Seeded(seed);
    ExpectDraws(seed["normal_0_05_first3"], [&] { return random.Normal(0.0, 0.5); });
    EXPECT_EQ(random.NextDouble(), seed["rand_after_3_normals"].get<double>());
    ExpectDraws(seed["normal_0_05_next2_after_that_rand"], [&] { return random.Normal(0.0, 0.5); });
  }
}

TEST_F(NumpyVectors, ShuffleSwapsFromTheEnd) {
  for (const auto& seed : all_) {
    for (const auto& [size, expected] : seed["shuffle_of_arange"].items()) {
      NumpyRandom random = Seeded(seed);
      std::vector<uint64_t> values(std::stoul(size));
      std::iota(values.begin(), values.end(), uint64_t{0});
      random.Shuffle(std::span(values));
      EXPECT_EQ(values, expected.get<std::vector<uint64_t>>());
    }
  }
}

TEST_F(NumpyVectors, PermutationShufflesARange) {
  for (const auto& seed : all_) {
    EXPECT_EQ(Seeded(seed).Permutation(16), seed["permutation_16"].get<std::vector<uint64_t>>());
  }
}

TEST_F(NumpyVectors, IntegersAreMaskedAndRejected) {
  for (const auto& seed : all_) {
    NumpyRandom random = Seeded(seed);
    ExpectDraws(seed["randint_0_23"], [&] { return random.Below(23); });
  }
}

TEST(NumpyRandom, TheTenThousandthWordIsTheStandards) {
  NumpyRandom random(5489);  // ISO C++ [rand.predef] names this word of mt19937.
  for (int i = 1; i < 10000; ++i) random.NextWord();
  EXPECT_EQ(random.NextWord(), 4123659995u);
}

TEST(NumpyRandom, BelowOneDrawsNothing) {
  NumpyRandom random(1);
  EXPECT_EQ(random.Below(1), 0u);
  EXPECT_EQ(random.NextWord(), NumpyRandom(1).NextWord());
}

TEST(NumpyRandom, LimitsAbove32BitsTakeTwoWordsHighFirst) {
  NumpyRandom words(0);
  const uint64_t high = words.NextWord(), low = words.NextWord();
  NumpyRandom random(0);
  EXPECT_EQ(random.Below(uint64_t{1} << 40), (high << 32 | low) & 0xffffffffffu);
}

RC_GTEST_PROP(NumpyRandomProperty, SkippingIsDrawingWithoutLooking, (uint32_t seed)) {
  const auto before = *rc::gen::inRange(0, 700);
  const auto skipped = *rc::gen::inRange(0, 2000);
  NumpyRandom drawn(seed), jumped(seed);
  for (int i = 0; i < before; ++i) {
    drawn.NextWord();  // Words, so that doubles straddle the end of a block too.
    jumped.NextWord();
  }
  for (int i = 0; i < skipped; ++i) drawn.NextDouble();
  jumped.SkipDoubles(skipped);
  RC_ASSERT(drawn.NextDouble() == jumped.NextDouble());
}

TEST(NumpyDraws, AtStandsRightBeforeTheDraw) {
  constexpr uint64_t kStride = NumpyDraws::kStride;
  std::vector<double> draws;
  NumpyRandom random(123);
  for (uint64_t k = 0; k < 3 * kStride + 10; ++k) draws.push_back(random.NextDouble());

  const NumpyDraws by_number(123);
  for (const uint64_t border : {3 * kStride, kStride, 2 * kStride}) {  // Not in order.
    for (uint64_t k = border - 5; k < border + 5; ++k) {
      EXPECT_EQ(by_number.At(k).NextDouble(), draws[k]) << k;
    }
  }
  for (uint64_t k = 0; k < draws.size(); k += 997) {
    EXPECT_EQ(by_number.At(k).NextDouble(), draws[k]) << k;
  }
}

TEST(NumpyDraws, DrawsFollowOnAcrossStrides) {
  const NumpyDraws draws(7);
  NumpyRandom far = draws.At(2 * NumpyDraws::kStride - 1);
  far.NextDouble();
  EXPECT_EQ(far.NextDouble(), draws.At(2 * NumpyDraws::kStride).NextDouble());
}

TEST(NumpyDraws, ThreadsMayAskForAnyDraw) {
  const NumpyDraws shared(99);
  std::vector<double> seen(4);
  std::vector<std::thread> threads;
  for (uint64_t t = 0; t < seen.size(); ++t) {
    threads.emplace_back([&, t] { seen[t] = shared.At((4 - t) * 70000).NextDouble(); });
  }
  for (auto& thread : threads) thread.join();
  for (uint64_t t = 0; t < seen.size(); ++t) {
    EXPECT_EQ(seen[t], NumpyDraws(99).At((4 - t) * 70000).NextDouble());
  }
}

TEST(NumpyDrawsDeathTest, DrawsBeyondTheMostAreAProgrammersMistake) {
  const NumpyDraws draws(1);
  EXPECT_DEATH(draws.At(NumpyDraws::kMaxDraws + 1), "kMaxDraws");
}

}  // namespace
}  // namespace rowhouse
