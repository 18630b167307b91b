#include "common/scatter.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <vector>

#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

RC_GTEST_PROP(ScatterProperty, EveryIndexHasItsOwnPlace, (uint64_t key)) {
  const auto size = *rc::gen::inRange<uint64_t>(1, 3000);
  const Scatter scatter(size, key);
  std::vector<bool> taken(size);
  for (uint64_t i = 0; i < size; ++i) {
    const uint64_t place = scatter(i);
    RC_ASSERT(place < size);
    RC_ASSERT(!taken[place]);
    taken[place] = true;
    RC_ASSERT(scatter.Inverse(place) == i);
  }
}

TEST(Scatter, TheFirstIndexesLieAllOverTheRange) {
  for (const uint64_t size : {uint64_t{1000}, uint64_t{1000000}, uint64_t{1} << 40}) {
    const Scatter scatter(size, 5);
    std::vector<int> tenths(10);
    for (uint64_t i = 0; i < 200; ++i) {
      ++tenths[static_cast<size_t>(static_cast<double>(scatter(i)) / static_cast<double>(size) *
                                   10.0)];
    }
    for (const int count : tenths) {  // 20 expected, standard deviation 4.2.
      EXPECT_GE(count, 3) << size;
      EXPECT_LE(count, 45) << size;
    }
  }
}

TEST(Scatter, AnotherKeyScattersOtherwise) {
  int same = 0;
  for (uint64_t i = 0; i < 1000; ++i) {
    same += Scatter(1000, 1)(i) == Scatter(1000, 2)(i) ? 1 : 0;
  }
  EXPECT_LT(same, 20);
}

TEST(Scatter, TheLargestRangeWorks) {
  const Scatter scatter(uint64_t{1} << 63, 9);
  EXPECT_NE(scatter(0), scatter(1));
  EXPECT_LT(scatter((uint64_t{1} << 63) - 1), uint64_t{1} << 63);
  for (const uint64_t i : {uint64_t{0}, uint64_t{12345}, (uint64_t{1} << 63) - 1}) {
    EXPECT_EQ(scatter.Inverse(scatter(i)), i);
  }
}

}  // namespace
}  // namespace rowhouse
