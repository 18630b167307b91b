#include "launch/report/svg_plot.h"

#include <cmath>
#include <limits>
#include <regex>

#include "tests/testing/testing.h"
#include "tests/testing/well_formed.h"

namespace rowhouse {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

Plot Sample() {
  return {.title = "AUC by bytes",
          .description = "Larger is better.",
          .x_name = "bytes",
          .y_name = "AUC",
          .x_scale = PlotScale::kLog2,
          .x_unit = PlotUnit::kBytes,
          .series = {{.name = "plain", .points = {{1024.0, 0.75, "a"}}},
                     {.name = "hashed", .points = {{256.0, 0.70}, {512.0, 0.72}}, .is_line = true}},
          .references = {{"ceiling", 0.8}}};
}

size_t Count(const std::string& text, const std::string& what) {
  size_t count = 0;
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++count;
  return count;
}

// All of the plot, well-formed and inside the picture.
std::string Draw(const Plot& plot) {
  std::string svg = PlotToSvg(plot);
  EXPECT_EQ(MarkupFault(svg), "");
  EXPECT_THAT(svg, Not(HasSubstr("nan")));
  EXPECT_THAT(svg, Not(HasSubstr("inf")));
  static const std::regex kCoordinate("\\b(x|y|x1|y1|x2|y2)=\"([^\"]*)\"");
  for (std::sregex_iterator at(svg.begin(), svg.end(), kCoordinate), end; at != end; ++at) {
    const double value = std::stod((*at)[2]);
    EXPECT_GE(value, 0.0) << at->str();
    EXPECT_LE(value, (*at)[1].str()[0] == 'x' ? 720.0 : 420.0) << at->str();
  }
  return svg;
}

TEST(SvgPlot, HasNameDescriptionAndNothingFromElsewhere) {
  const std::string svg = Draw(Sample());
  EXPECT_THAT(svg, HasSubstr("viewBox=\"0 0 720 420\" width=\"100%\" role=\"img\""));
  EXPECT_THAT(svg, HasSubstr("<title>AUC by bytes</title>\n<desc>Larger is better.</desc>"));
  EXPECT_THAT(svg, HasSubstr("@media(prefers-color-scheme:dark)"));
  EXPECT_THAT(svg, Not(HasSubstr("url(")));
  EXPECT_THAT(svg, Not(HasSubstr("<script")));
  EXPECT_EQ(Count(svg, "http"), 1u) << "the name of the namespace only";
}

// Axis of x: log2 256 = 8 to 10, 6% of 2 at either end: [7.88, 10.12]. Of y: 0.70 to 0.80, so
// [0.694, 0.806]. The area: left 20 + 3 * 7.44 + 4.8 + 10 = 57.1, right 700, top 66 + 20 (one
// row of legend) = 86, bottom 420 - 52 = 368.
TEST(SvgPlot, MarksStandWhereTheirFiguresSay) {
  const std::string svg = Draw(Sample());
  // 57.1 + 642.9 * 0.12 / 2.24, 368 - 282 * 0.006 / 0.112.
  EXPECT_THAT(svg, HasSubstr("<path class=\"mark f1\" transform=\"translate(91.6 352.9)\""));
  // The middle: 9 of [7.88, 10.12]; 368 - 282 * 0.026 / 0.112.
  EXPECT_THAT(svg, HasSubstr("d=\"M91.6 352.9L378.6 302.5\""));
  EXPECT_THAT(svg, HasSubstr("<path class=\"mark f0\" transform=\"translate(665.6 227.0)\""));
  // 368 - 282 * 0.106 / 0.112, from side to side.
  EXPECT_THAT(svg, HasSubstr("<line class=\"reference\" x1=\"57.1\" y1=\"101.1\" x2=\"700.0\" "
                             "y2=\"101.1\"/>"));
  EXPECT_THAT(svg, HasSubstr(">ceiling 0.8</text>"));
  for (const char* tick : {"256 B", "512 B", "1 KiB", "0.70", "0.80"}) {
    EXPECT_THAT(svg, HasSubstr(std::string(">") + tick + "</text>"));
  }
}

TEST(SvgPlot, MarksSayTheirFigures) {
  const std::string svg = Draw(Sample());
  EXPECT_THAT(svg, HasSubstr("<title>plain, a: 1.00 KiB, 0.75</title>"));
  EXPECT_THAT(svg, HasSubstr("<title>hashed: 512 B, 0.72</title>"));
}

TEST(SvgPlot, EqualPlotsAreEqualBytes) { EXPECT_EQ(PlotToSvg(Sample()), PlotToSvg(Sample())); }

TEST(SvgPlot, SeriesDifferByColourAndByShape) {
  Plot plot = Sample();
  plot.series.clear();
  for (int i = 0; i < 12; ++i) {
    plot.series.push_back({.name = std::to_string(i), .points = {{1.0 + i, 1.0 * i}}});
  }
  const std::string svg = Draw(plot);
  static const std::regex kMark("<path class=\"mark (f.)\" transform=\"[^\"]*\" d=\"([^\"]*)\"");
  std::set<std::string> looks, colours, shapes;
  for (std::sregex_iterator at(svg.begin(), svg.end(), kMark), end; at != end; ++at) {
    looks.insert((*at)[1].str() + (*at)[2].str());
    colours.insert((*at)[1]);
    shapes.insert((*at)[2]);
  }
  EXPECT_EQ(looks.size(), 12u);
  EXPECT_EQ(colours.size(), 6u);
  EXPECT_EQ(shapes.size(), 6u);
}

TEST(SvgPlot, AnyTextIsEscaped) {
  const std::string bad = "<b>&\"'\x01\xFF";
  Plot plot = {.title = bad,
               .description = bad,
               .x_name = bad,
               .y_name = bad,
               .series = {{.name = bad, .points = {{1.0, 1.0, bad}}}},
               .references = {{bad, 1.0}}};
  const std::string svg = Draw(plot);
  EXPECT_THAT(svg, Not(HasSubstr("<b>")));
  EXPECT_GE(Count(svg, "&lt;b&gt;&amp;&quot;&#39;\xEF\xBF\xBD\xEF\xBF\xBD"), 8u);
}

TEST(SvgPlot, NoPointsIsSaid) {
  Plot plot = Sample();
  plot.series = {};
  plot.references = {};
  EXPECT_THAT(Draw(plot), HasSubstr(">no points to show</text>"));
  EXPECT_THAT(Draw(plot), Not(HasSubstr("class=\"grid\"")));
  plot.references = {{"ceiling", 0.8}};
  EXPECT_THAT(Draw(plot),
              testing::AllOf(HasSubstr(">no points to show</text>"),
                             HasSubstr(">ceiling 0.8</text>"), HasSubstr(">0.80</text>")));
}

TEST(SvgPlot, WhatCannotBeDrawnIsLeftOutAndSaid) {
  Plot plot = Sample();
  EXPECT_THAT(Draw(plot), Not(HasSubstr("Left out")));
  plot.series[0].points = {{kNan, 1.0}, {1.0, kNan}, {0.0, 1.0}, {-4.0, 1.0}};
  plot.references.push_back({"lost", kNan});
  const std::string sentence =
      "Left out: 4 points and 1 reference line without finite figures, or not above 0 on the "
      "logarithmic axis.";
  EXPECT_THAT(Draw(plot), testing::AllOf(HasSubstr(">" + sentence + "</text>"),
                                         HasSubstr("<desc>Larger is better. " + sentence)));
  plot = {.title = "t", .series = {{.name = "", .points = {{0.0, 0.0}, {1.0, kNan}}}}};
  EXPECT_THAT(Draw(plot), HasSubstr(">Left out: 1 point without finite figures.</text>"));
}

TEST(SvgPlot, ALineIsBrokenWhereAPointIsLeftOut) {
  Plot plot = {.title = "t",
               .series = {{.name = "loss",
                           .points = {{0.0, 0.0}, {1.0, 1.0}, {2.0, kNan}, {3.0, 1.0}, {4.0, -2.0}},
                           .is_line = true}}};
  EXPECT_TRUE(std::regex_search(
      Draw(plot), std::regex("class=\"line s0\" d=\"M[0-9. ]+L[0-9. ]+M[0-9. ]+L[0-9. ]+\"/>")));
}

TEST(SvgPlot, ALongLineHasAFewMarksAndEveryLabel) {
  PlotSeries series = {.name = "", .points = {}, .is_line = true};
  for (int i = 0; i < 1200; ++i) series.points.push_back({1.0 * i, 1.0 / (1 + i)});
  series.points[7].label = "seven";
  series.points[1150].y = kNan;
  series.points[1152].y = kNan;  // alone between two gaps: without a mark it would be nothing
  const std::string svg = Draw({.title = "t", .series = {series}});
  EXPECT_EQ(Count(svg, "class=\"mark"), 12u + 2u);
  EXPECT_THAT(svg, testing::AllOf(HasSubstr(">seven</text>"), HasSubstr("<title>1151, ")));
}

TEST(SvgPlot, EqualPointsShareOnePlaceAndTheirLabelsDoNot) {
  Plot plot = {.title = "t", .series = {{.name = "", .points = {}}}};
  for (int i = 0; i < 20; ++i) plot.series[0].points.push_back({3.0, 3.0, "run"});
  const std::string svg = Draw(plot);
  EXPECT_EQ(Count(svg, "class=\"mark"), 20u);
  // Around one place there is room for a few; the rest say their names in <title>.
  EXPECT_GE(Count(svg, ">run</text>"), 4u);
  EXPECT_LE(Count(svg, ">run</text>"), 8u);
  EXPECT_EQ(Count(svg, "<title>run: 3, 3</title>"), 20u);
}

TEST(SvgPlot, VeryLongNamesAreCutAndWholeInTheirTitles) {
  const std::string name(500, 'x');
  Plot plot = {.title = name, .x_name = name, .y_name = name};
  for (int i = 0; i < 30; ++i) {
    plot.series.push_back({.name = name, .points = {{1.0 * i, -1.0 * i, name}}});
    plot.references.push_back({name, -0.1 * i});
  }
  const std::string svg = Draw(plot);
  static const std::regex kText("<text[^>]*>([^<]*)</text>");
  for (std::sregex_iterator at(svg.begin(), svg.end(), kText), end; at != end; ++at) {
    EXPECT_LE((*at)[1].length(), 110) << at->str();
  }
  EXPECT_THAT(svg, HasSubstr("<title>" + name + ", " + name + ": 0, 0</title>"));
  EXPECT_THAT(svg, HasSubstr("<title>" + name + " -0.1</title>"));
  EXPECT_THAT(svg, HasSubstr(">and 25 more</text>"));
}

}  // namespace
}  // namespace rowhouse
