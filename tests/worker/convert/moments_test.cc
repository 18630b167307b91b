#include <gtest/gtest.h>

#include <limits>
#include <random>
#include <vector>

#include "worker/data/convert/passes.h"

namespace rowhouse {
namespace {

constexpr float kMissing = std::numeric_limits<float>::quiet_NaN();

TEST(Moments, AreOfTheValuesThatAreThere) {
  const std::vector<float> values = {1, 9, kMissing, 9, 3, 9, 5, 9};
  const Moments moments = Moments::Of(values, 0, 2);
  EXPECT_EQ(moments.count, 3u);
  EXPECT_DOUBLE_EQ(moments.mean, 3.0);
  EXPECT_DOUBLE_EQ(moments.deviation(), std::sqrt(8.0 / 3.0));
  EXPECT_EQ(Moments::Of(values, 1, 2).deviation(), 0.0);
  EXPECT_EQ(Moments().deviation(), 0.0);
}

TEST(Moments, OfPartsAddUpToThoseOfAll) {
  std::mt19937 random(3);
  std::normal_distribution<float> normal(1e4f, 2.0f);
  std::vector<float> all(1000);
  for (float& value : all) value = random() % 9 == 0 ? kMissing : normal(random);
  Moments sum;
  for (size_t first = 0, count = 0; first < all.size(); first += count) {
    count = std::min<size_t>(1 + first / 3, all.size() - first);
    sum.Add(Moments::Of(std::span(all).subspan(first, count), 0, 1));
  }
  const Moments once = Moments::Of(all, 0, 1);
  EXPECT_EQ(sum.count, once.count);
  EXPECT_NEAR(sum.mean, once.mean, 1e-9);
  EXPECT_NEAR(sum.deviation(), once.deviation(), 1e-9);
}

}  // namespace
}  // namespace rowhouse
