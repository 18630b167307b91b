#include "worker/data/zipf.h"

#include <cmath>
#include <vector>

#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

TEST(Zipf, RanksComeAsOftenAsTheirProbabilitySays) {
  constexpr int kDraws = 100000;
  for (const double exponent : {0.0, 0.5, 1.0, 1.0 + 1e-10, 1.05, 2.0}) {
    for (const uint64_t ranks : {uint64_t{1}, uint64_t{2}, uint64_t{10}, uint64_t{200}}) {
      SCOPED_TRACE(testing::Message() << "exponent " << exponent << ", ranks " << ranks);
      const Zipf zipf(ranks, exponent);
      SplitMix64 bits(17);
      std::vector<double> seen(ranks + 1);
      for (int i = 0; i < kDraws; ++i) {
        const uint64_t rank = zipf.Draw(&bits);
        ASSERT_TRUE(rank >= 1 && rank <= ranks) << rank;
        ++seen[rank];
      }
      double total = 0.0;
      for (uint64_t k = 1; k <= ranks; ++k) total += std::pow(k, -exponent);
      double chi_square = 0.0;
      for (uint64_t k = 1; k <= ranks; ++k) {
        const double expected = kDraws * std::pow(k, -exponent) / total;
        chi_square += (seen[k] - expected) * (seen[k] - expected) / expected;
      }
      const double freedom = static_cast<double>(ranks - 1);  // Five standard deviations.
      EXPECT_LE(chi_square, freedom + 5.0 * std::sqrt(2.0 * freedom) + 1e-9);
    }
  }
}

TEST(Zipf, ATrillionRanksTakeNoMemoryAndReachFarDown) {
  constexpr uint64_t kRanks = 1000000000000;
  const Zipf zipf(kRanks, 1.0);
  SplitMix64 bits(3);
  constexpr int kDraws = 100000;
  int first = 0, below_a_million = 0, in_last_half = 0;
  for (int i = 0; i < kDraws; ++i) {
    const uint64_t rank = zipf.Draw(&bits);
    ASSERT_TRUE(rank >= 1 && rank <= kRanks) << rank;
    first += rank == 1 ? 1 : 0;
    below_a_million += rank <= 1000000 ? 1 : 0;
    in_last_half += rank > kRanks / 2 ? 1 : 0;
  }
  // H(10^12) = ln 10^12 + 0.5772 = 28.208; H(10^6) = 14.393; the last half holds ln 2.
  EXPECT_NEAR(first, kDraws / 28.208, 6 * std::sqrt(kDraws / 28.2));
  EXPECT_NEAR(below_a_million, kDraws * 14.393 / 28.208, 6 * 158);
  EXPECT_NEAR(in_last_half, kDraws * 0.69315 / 28.208, 6 * 49);
}

}  // namespace
}  // namespace rowhouse
