#include "common/random.h"

#include <array>
#include <bit>
#include <set>

#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

TEST(SplitMix64, DrawsAreThePublishedOnes) {
  SplitMix64 zero(0);
  EXPECT_EQ(zero.Next(), 0xe220a8397b1dcdafu);
  EXPECT_EQ(zero.Next(), 0x6e789e6aa1b965f4u);
  SplitMix64 other(1234567);
  EXPECT_EQ(other.Next(), 6457827717110365317u);
  EXPECT_EQ(other.Next(), 3203168211198807973u);
}

// Stored rows depend on these bits: a change here makes every old checkpoint another model.
TEST(MixBits, StaysWhatItWas) {
  EXPECT_EQ(Mix64(0), 0u);
  EXPECT_EQ(MixKey(123, 0), 0x581ed6583fe9f5b6u);
  EXPECT_EQ(MixBits(MixKey(123, 0), 7), 0xc76fec0389cde0afu);
}

TEST(MixBits, EachBitOfKeyAndCounterChangesAboutHalfTheResult) {
  for (int bit = 0; bit < 64; ++bit) {
    const uint64_t flip = uint64_t{1} << bit;
    int by_key = 0, by_counter = 0;
    for (uint64_t i = 0; i < 64; ++i) {
      by_key += std::popcount(MixBits(i, 5) ^ MixBits(i ^ flip, 5));
      by_counter += std::popcount(MixBits(5, i) ^ MixBits(5, i ^ flip));
    }
    EXPECT_NEAR(by_key / 64.0, 32.0, 3.0) << bit;  // One standard deviation is 0.5.
    EXPECT_NEAR(by_counter / 64.0, 32.0, 3.0) << bit;
  }
}

TEST(MixKey, SeedAndStreamDoNotTradePlaces) {
  std::set<uint64_t> keys;
  for (uint64_t seed = 0; seed < 50; ++seed) {
    for (uint64_t stream = 0; stream < 50; ++stream) keys.insert(MixKey(seed, stream));
  }
  EXPECT_EQ(keys.size(), 2500u);
}

TEST(ToUnitDouble, CoversZeroButNotOne) {
  EXPECT_EQ(ToUnitDouble(0), 0.0);
  EXPECT_EQ(ToUnitDouble(~uint64_t{0}), 1.0 - 0x1p-53);
}

TEST(ToNormal, HasTheMomentsOfAStandardNormal) {
  constexpr int kDraws = 100000;
  std::array<double, 5> moments{};
  for (uint64_t i = 0; i < kDraws; ++i) {
    const double z = ToNormal(MixBits(1, 2 * i), MixBits(1, 2 * i + 1));
    double power = 1.0;
    for (double& moment : moments) {
      moment += power / kDraws;
      power *= z;
    }
  }
  EXPECT_NEAR(moments[1], 0.0, 0.02);  // Six standard deviations each.
  EXPECT_NEAR(moments[2], 1.0, 0.03);
  EXPECT_NEAR(moments[3], 0.0, 0.08);
  EXPECT_NEAR(moments[4], 3.0, 0.2);
}

TEST(ToNormal, IsFiniteAtTheEdges) {
  EXPECT_TRUE(std::isfinite(ToNormal(0, 0)));
  EXPECT_EQ(ToNormal(~uint64_t{0}, 0), 0.0);
}

}  // namespace
}  // namespace rowhouse
