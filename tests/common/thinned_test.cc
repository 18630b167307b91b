#include "common/median.h"
#include "tests/testing/testing.h"
#include "worker/train/step_clock.h"

namespace rowhouse {
namespace {

TEST(Thinned, KeepsAllOfAShortSeries) {
  Thinned<float> series;
  for (int i = 0; i < 1000; ++i) series.Add(static_cast<float>(i));
  EXPECT_EQ(series.values().size(), 1000u);
  EXPECT_EQ(MedianOf(series.values()), 499.5);
}

TEST(Thinned, IsBoundedAndEvenOverALongOne) {
  Thinned<float> series;
  constexpr uint32_t kMany = 3'000'000;
  for (uint32_t i = 0; i < kMany; ++i) series.Add(static_cast<float>(i));
  const std::vector<float>& kept = series.values();
  EXPECT_LT(kept.size(), Thinned<float>::kMax);
  EXPECT_GE(kept.size(), Thinned<float>::kMax / 2);
  for (size_t i = 0; i < kept.size(); ++i) ASSERT_EQ(kept[i], kept[1] * static_cast<float>(i));
  EXPECT_NEAR(MedianOf(kept), kMany / 2.0, kMany * 0.001);
}

}  // namespace
}  // namespace rowhouse
