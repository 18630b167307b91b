#include "common/random.h"

#include <bit>

#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

// First outputs of SplitMix64 from state 1234567, as its authors' reference program prints them.
TEST(Mix64, WalksTheSequenceOfSplitMix64) {
  const uint64_t expected[] = {6457827717110365317u, 3203168211198807973u, 9817491932198370423u,
                               4593380528125082431u, 16408922859458223821u};
  uint64_t state = 1234567;
  for (const uint64_t value : expected) EXPECT_EQ(Mix64(state += kMixIncrement), value);
}

TEST(Mix64, OneFlippedBitFlipsAboutHalfOfTheOutput) {
  int flipped = 0;
  for (int bit = 0; bit < 64; ++bit) {
    flipped += std::popcount(Mix64(99) ^ Mix64(99 ^ (uint64_t{1} << bit)));
  }
  EXPECT_NEAR(flipped, 64 * 32, 150);  // Binomial(4096, 1/2): sigma is 32.
}

}  // namespace
}  // namespace rowhouse
