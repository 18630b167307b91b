// LineChart: lines over logarithmic axes as an SVG picture, for documents.
//
// Threads: plain data.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace rowhouse {

struct LineChart {
  struct Line {
    std::string name;
    std::vector<std::pair<double, double>> points;  // x > 0, y > 0
    bool is_dashed = false;
  };
  std::string title;
  std::string x, y;  // what the axes say
  std::vector<Line> lines;
};

// Panels side by side, over equal axes. Lines of equal names have equal colours,
// and the legend names each once. The same text for the same charts.
std::string SvgOf(const std::vector<LineChart>& panels);

}  // namespace rowhouse
