#include "sharding/lab/traffic/memo.h"

#include <gtest/gtest.h>

namespace rowhouse {
namespace {

TEST(Memo, ComputesOnceForEachKey) {
  const Memo<2, double> memo(10);
  int computed = 0;
  const auto sum = [&](double a, double b) {
    return memo.Get({a, b}, [&] {
      ++computed;
      return a + b;
    });
  };
  EXPECT_EQ(sum(1, 2), 3);
  EXPECT_EQ(sum(1, 2), 3);
  EXPECT_EQ(sum(2, 1), 3);
  EXPECT_EQ(computed, 2);
}

TEST(Memo, CopiesShareWhatItHas) {
  const Memo<1, double> memo(10);
  const Memo<1, double> copy = memo;
  EXPECT_EQ(memo.Get({1}, [] { return 5.0; }), 5);
  EXPECT_EQ(copy.Get({1}, [] { return 6.0; }), 5);
}

TEST(Memo, ForgetsAllWhenItIsFull) {
  const Memo<1, double> memo(2);
  for (const double key : {1, 2, 3}) memo.Get({key}, [] { return 0.0; });
  EXPECT_EQ(memo.Get({3}, [] { return 1.0; }), 0);
  EXPECT_EQ(memo.Get({1}, [] { return 1.0; }), 1);
}

}  // namespace
}  // namespace rowhouse
