#include "launch/report/plot_axis.h"

#include <cmath>
#include <limits>
#include <set>

#include "tests/testing/testing.h"

// After gtest.
#include <rapidcheck/gtest.h>

namespace rowhouse {
namespace {

using testing::ElementsAre;

std::vector<std::string> Labels(std::vector<double> values, PlotScale scale = PlotScale::kLinear,
                                PlotUnit unit = PlotUnit::kNone) {
  std::vector<std::string> labels;
  const PlotAxis axis(values, scale, unit);
  for (const PlotAxis::Tick& tick : axis.ticks()) {
    labels.push_back(tick.label);
  }
  return labels;
}

TEST(PlotAxis, LinearTicksAreOneTwoOrFiveTimesAPowerOfTen) {
  EXPECT_THAT(Labels({0.0, 1.0}), ElementsAre("0", "0.2", "0.4", "0.6", "0.8", "1.0"));
  EXPECT_THAT(Labels({0.7803, 0.8123}),
              ElementsAre("0.780", "0.785", "0.790", "0.795", "0.800", "0.805", "0.810"));
  EXPECT_THAT(Labels({-3.0, 7.0}), ElementsAre("−2", "0", "2", "4", "6"));
  EXPECT_THAT(Labels({0.0, 50000.0}), ElementsAre("0", "10 k", "20 k", "30 k", "40 k", "50 k"));
  EXPECT_THAT(Labels({1e20, 3e20}),
              ElementsAre("1.0e+20", "1.5e+20", "2.0e+20", "2.5e+20", "3.0e+20"));
  EXPECT_THAT(Labels({0.0, 4e-9}), ElementsAre("0", "1e-09", "2e-09", "3e-09", "4e-09"));
}

TEST(PlotAxis, LogTicksArePowersOfTheBase) {
  EXPECT_THAT(Labels({1.0, 16.0}, PlotScale::kLog2), ElementsAre("1", "2", "4", "8", "16"));
  EXPECT_THAT(Labels({0.01, 100.0}, PlotScale::kLog10),
              ElementsAre("0.01", "0.1", "1", "10", "100"));
  EXPECT_THAT(Labels({1e4, 1e6}, PlotScale::kLog10), ElementsAre("10⁴", "10⁵", "10⁶"));
  EXPECT_THAT(Labels({std::ldexp(1.0, -1), std::ldexp(1.0, 15)}, PlotScale::kLog2),
              ElementsAre("2⁰", "2²", "2⁴", "2⁶", "2⁸", "2¹⁰", "2¹²", "2¹⁴"));
}

TEST(PlotAxis, BytesAreInTheirUnits) {
  EXPECT_THAT(Labels({524288.0, 2097152.0}, PlotScale::kLog2, PlotUnit::kBytes),
              ElementsAre("512 KiB", "1 MiB", "2 MiB"));
  EXPECT_THAT(Labels({1e2, 1e6}, PlotScale::kLog10, PlotUnit::kBytes),
              ElementsAre("100 B", "1 kB", "10 kB", "100 kB", "1 MB"));
  EXPECT_THAT(Labels({0.0, 1048576.0 * 4}, PlotScale::kLinear, PlotUnit::kBytes),
              ElementsAre("0", "1 MiB", "2 MiB", "3 MiB", "4 MiB"));
}

TEST(PlotAxis, OneValueAndEqualValuesGetRoomAroundThem) {
  for (const std::vector<double>& values :
       {std::vector<double>{0.8}, {0.8, 0.8}, {0.8, std::nextafter(0.8, 1.0)}, {-5.0}, {0.0}}) {
    const PlotAxis axis(values, PlotScale::kLinear, PlotUnit::kNone);
    EXPECT_NEAR(axis.Position(values[0]), 0.5, 1e-6) << values[0];
    EXPECT_GE(axis.ticks().size(), 3u) << values[0];
  }
  EXPECT_THAT(Labels({1024.0}, PlotScale::kLog2), ElementsAre("512", "1024", "2048"));
  EXPECT_THAT(Labels({1000.0, 1001.0}, PlotScale::kLog2), ElementsAre("512", "1024"));
  EXPECT_GE(Labels({}).size(), 3u);
  EXPECT_GE(Labels({}, PlotScale::kLog10).size(), 2u);
}

TEST(PlotAxis, WhatIsNeverNegativeHasNoNegativeEnd) {
  EXPECT_EQ(
      PlotAxis(std::vector<double>{0.0, 9.0}, PlotScale::kLinear, PlotUnit::kNone).Position(0.0),
      0.0);
  EXPECT_GT(
      PlotAxis(std::vector<double>{-1.0, 9.0}, PlotScale::kLinear, PlotUnit::kNone).Position(-1.0),
      0.0);
}

TEST(PlotAxis, SaysWhatItCannotShow) {
  const double inf = std::numeric_limits<double>::infinity();
  for (const PlotScale scale : {PlotScale::kLinear, PlotScale::kLog2, PlotScale::kLog10}) {
    for (const double value : {inf, -inf, std::nan(""), 1e308}) {
      EXPECT_FALSE(PlotAxis::CanShow(value, scale)) << value;
    }
    EXPECT_TRUE(PlotAxis::CanShow(1.0, scale));
    EXPECT_EQ(PlotAxis::CanShow(0.0, scale), scale == PlotScale::kLinear);
    EXPECT_EQ(PlotAxis::CanShow(-1.0, scale), scale == PlotScale::kLinear);
  }
}

// Whatever the figures: they lie on the axis, and its ticks are few, in order and told apart.
RC_GTEST_PROP(PlotAxis, TicksAreFewAndDifferentForAnyValues, ()) {
  const auto scale = *rc::gen::element(PlotScale::kLinear, PlotScale::kLog2, PlotScale::kLog10);
  const auto unit = *rc::gen::element(PlotUnit::kNone, PlotUnit::kBytes);
  const auto digits =
      *rc::gen::nonEmpty(rc::gen::container<std::vector<int>>(rc::gen::inRange(-1000000, 1000000)));
  const double magnitude = std::pow(10.0, *rc::gen::inRange(-290, 290));
  std::vector<double> values;
  for (const int digit : digits) {
    const double value = digit * magnitude;
    values.push_back(scale == PlotScale::kLinear ? value : std::fabs(value) + magnitude);
  }
  const PlotAxis axis(values, scale, unit);
  for (const double value : values) {
    RC_ASSERT(axis.Position(value) >= 0.0);
    RC_ASSERT(axis.Position(value) <= 1.0);
  }
  RC_ASSERT(axis.ticks().size() >= 2u);
  RC_ASSERT(axis.ticks().size() <= 10u);
  double before = -1.0;
  std::set<std::string> labels;
  for (const PlotAxis::Tick& tick : axis.ticks()) {
    RC_ASSERT(tick.position > before);
    RC_ASSERT(tick.position <= 1.0);
    RC_ASSERT(labels.insert(tick.label).second);
    before = tick.position;
  }
}

}  // namespace
}  // namespace rowhouse
