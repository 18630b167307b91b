#include <cmath>

#include "sharding/rows/adam_factors.h"
#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

TEST(Power, ByHand) {
  EXPECT_EQ(Power(3.0, 0), 1.0);
  EXPECT_EQ(Power(3.0, 1), 3.0);
  EXPECT_EQ(Power(3.0, 5), 243.0);
  EXPECT_EQ(Power(0.0, 0), 1.0);
  EXPECT_EQ(Power(0.0, 7), 0.0);
  EXPECT_EQ(Power(0.5, 1000), 0x1p-1000);
  EXPECT_EQ(Power(0.5, uint64_t{1} << 63), 0.0);
  EXPECT_EQ(Power(1.0, UINT64_MAX), 1.0);
}

TEST(Power, IsThePower) {
  for (const uint64_t exponent : {2u, 3u, 10u, 999u, 100000u}) {
    const double expected = std::pow(0.999, static_cast<double>(exponent));
    EXPECT_NEAR(Power(0.999, exponent) / expected, 1.0, 1e-10) << exponent;
  }
}

// The bits themselves: squares from the smallest on, and no other order.
TEST(Power, HasTheBitsOfRepeatedSquaring) {
  const double b = 0.9, b2 = b * b, b4 = b2 * b2, b8 = b4 * b4;
  EXPECT_EQ(Power(b, 11), 1.0 * b * b2 * b8);
  EXPECT_EQ(Power(b, 12), 1.0 * b4 * b8);
}

}  // namespace
}  // namespace rowhouse
