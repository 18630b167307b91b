// A scatter or line plot as SVG text, to stand in a page or as a file of its own.
//
// The same plot is the same bytes on every machine: fixed formats, no clock, no ids. It needs
// nothing from elsewhere and no script; colours follow the reader's light or dark mode; series
// differ by colour (Okabe and Ito, "Color Universal Design", 2008: apart for colour-blind readers)
// and by shape. A pointer that rests on a mark is told its name and figures. Names are any text:
// they are escaped, and shortened where room ends; the whole name is in the mark's <title>.
//
// What cannot be drawn (no finite number; not above 0 on a logarithmic axis) is left out, and a
// line beneath the plot says how much.
// Threads: any.
#pragma once

#include <string>
#include <vector>

#include "launch/report/plot_axis.h"

namespace rowhouse {

struct PlotPoint {
  double x = 0.0;
  double y = 0.0;
  std::string label = {};  // beside the mark where there is room
};

struct PlotSeries {
  std::string name;  // "": not in the legend
  std::vector<PlotPoint> points;
  // A line through the points in their order, broken where one is left out. Of more than 40
  // points, a dozen have marks, and those with labels.
  bool is_line = false;
};

// A horizontal line over the whole plot.
struct PlotReference {
  std::string name;
  double y = 0.0;
};

struct Plot {
  std::string title;
  std::string description;  // a sentence for who cannot see it
  std::string x_name;
  std::string y_name;
  PlotScale x_scale = PlotScale::kLinear;
  PlotUnit x_unit = PlotUnit::kNone;
  std::vector<PlotSeries> series;
  std::vector<PlotReference> references = {};
};

// An <svg> element of 720 x 420 units, as wide as what it stands in.
std::string PlotToSvg(const Plot& plot);

}  // namespace rowhouse
