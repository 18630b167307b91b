#include "common/median.h"

#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

TEST(MedianOf, IsTheMiddleOneOrTheMeanOfTheMiddleTwo) {
  EXPECT_EQ(MedianOf(std::vector<double>{7}), 7);
  EXPECT_EQ(MedianOf(std::vector<double>{3, 1, 9}), 3);
  EXPECT_EQ(MedianOf(std::vector<double>{9, 1, 4, 2}), 3);
  EXPECT_EQ(MedianOf(std::vector<float>{1, 2}), 1.5);
}

}  // namespace
}  // namespace rowhouse
