#include "launch/lab/line_chart.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rowhouse {
namespace {

using testing::HasSubstr;

TEST(LineChart, PowersOfTheAxesLieEquallyFarApart) {
  // x to powers of 4 over 340 pixels from 70 on, y to powers of 10 over 260 pixels up from 294.
  const std::string svg = SvgOf({{.title = "t",
                                  .x = "workers",
                                  .y = "samples a second",
                                  .lines = {{"one", {{1, 10}, {4, 100}, {16, 1000}}}}}});
  EXPECT_THAT(svg, HasSubstr("points=\"70.0,294.0 240.0,164.0 410.0,34.0 \""));
  EXPECT_THAT(svg, HasSubstr(">1 k</text>"));
  EXPECT_THAT(svg, HasSubstr(">workers</text>"));
}

TEST(LineChart, NamesAreEscapedAndStandOnceInTheLegend) {
  const LineChart chart{.title = "a < b & c", .lines = {{"R&D", {{1, 1}, {2, 2}}}}};
  const std::string svg = SvgOf({chart, chart});
  EXPECT_THAT(svg, HasSubstr("a &lt; b &amp; c"));
  const size_t first = svg.find(">R&amp;D<");
  ASSERT_NE(first, std::string::npos);
  EXPECT_EQ(svg.find(">R&amp;D<", first + 1), std::string::npos);
}

TEST(LineChart, WithoutPointsItIsAPictureAllTheSame) {
  EXPECT_THAT(SvgOf({{.title = "empty"}}), HasSubstr("</svg>"));
}

}  // namespace
}  // namespace rowhouse
