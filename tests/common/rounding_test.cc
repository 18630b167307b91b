#include "common/rounding.h"

#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

TEST(RoundHalfEven, IsNumpysRound) {
  const auto pairs = LoadVectors("numpy_rng.json")["np_round_half_even"];
  ASSERT_GE(pairs.size(), 7u);
  for (const auto& pair : pairs) {
    EXPECT_EQ(RoundHalfEven(pair[0].get<double>()), pair[1].get<double>()) << pair[0];
  }
}

}  // namespace
}  // namespace rowhouse
