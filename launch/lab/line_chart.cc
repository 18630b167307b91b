#include "launch/lab/line_chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace rowhouse {
namespace {

constexpr double kWidth = 340, kHeight = 260;                     // of a panel's axes
constexpr double kLeft = 70, kTop = 34, kGap = 24, kBottom = 46;  // around them
constexpr double kLegend = 150;                                   // at the right
constexpr const char* kColours[] = {"#1b6ca8", "#c8553d", "#3a7d44", "#8e5ea2",
                                    "#b8860b", "#4a4a4a", "#d16ba5", "#2a9d8f"};

std::string Escaped(const std::string& text) {
  std::string escaped;
  for (const char c : text) {
    switch (c) {
      case '&':
        escaped += "&amp;";
        break;
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      default:
        escaped += c;
    }
  }
  return escaped;
}

// A logarithmic axis from pixel `from` to pixel `to`.
struct Axis {
  double least = std::numeric_limits<double>::infinity(), most = 0;
  double base = 10;
  double from = 0, to = 0;

  void Include(double value) {
    least = std::min(least, value);
    most = std::max(most, value);
  }
  // To whole powers of the base.
  void Round() {
    if (most <= 0) least = most = 1;
    const double log = std::log(base);
    least = std::pow(base, std::floor(std::log(least) / log + 1e-9));
    most = std::pow(base, std::ceil(std::log(most) / log - 1e-9));
    if (most <= least) most = least * base;
  }
  double At(double value) const {
    return from + (to - from) * std::log(value / least) / std::log(most / least);
  }
};

std::string Short(double value) {
  for (const auto& [size, suffix] :
       {std::pair{1e9, " G"}, std::pair{1e6, " M"}, std::pair{1e3, " k"}}) {
    if (value >= size && std::fmod(value, size) == 0) {
      return fmt::format("{:g}{}", value / size, suffix);
    }
  }
  return fmt::format("{:g}", value);
}

std::string Text(double x, double y, const char* anchor, const std::string& text,
                 const std::string& more = "") {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\"{}>{}</text>\n", x, y,
                     anchor, more, Escaped(text));
}

std::string Rule(double x1, double y1, double x2, double y2) {
  return fmt::format(
      "<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"#d8d8d8\"/>\n", x1,
      y1, x2, y2);
}

const char* DashesOf(bool is_dashed) { return is_dashed ? " stroke-dasharray=\"5 4\"" : ""; }

class Picture {
 public:
  explicit Picture(const std::vector<LineChart>& panels) : panels_(panels) {
    x_.base = 4;
    for (const LineChart& panel : panels) {
      for (const LineChart::Line& line : panel.lines) {
        if (std::ranges::find(names_, line.name) == names_.end()) names_.push_back(line.name);
        for (const auto& [x, y] : line.points) x_.Include(x), y_.Include(y);
      }
    }
    x_.Round();
    y_.Round();
  }

  std::string Svg() {
    const double width = kLeft + static_cast<double>(panels_.size()) * (kWidth + kGap) + kLegend;
    std::string svg = fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {:.0f} {:.0f}\" width=\"{:.0f}\" "
        "font-family=\"sans-serif\" font-size=\"12\" fill=\"#222\">\n"
        "<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n",
        width, kTop + kHeight + kBottom, width);
    double left = kLeft;
    for (size_t p = 0; p < panels_.size(); ++p, left += kWidth + kGap) {
      svg += Panel(panels_[p], left, p == 0);
    }
    for (size_t n = 0; n < names_.size(); ++n) {
      const double y = kTop + 10 + 18 * static_cast<double>(n);
      svg += fmt::format(
          "<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"{}\" "
          "stroke-width=\"2\"{}/>\n",
          left, y, left + 20, y, ColourOf(names_[n]), DashesOf(IsDashed(names_[n])));
      svg += Text(left + 26, y + 4, "start", names_[n]);
    }
    return svg + "</svg>\n";
  }

 private:
  const char* ColourOf(const std::string& name) const {
    const auto at = static_cast<size_t>(std::ranges::find(names_, name) - names_.begin());
    return kColours[at % std::size(kColours)];
  }

  bool IsDashed(const std::string& name) const {
    for (const LineChart& panel : panels_) {
      for (const LineChart::Line& line : panel.lines) {
        if (line.name == name) return line.is_dashed;
      }
    }
    return false;
  }

  std::string Panel(const LineChart& panel, double left, bool is_first) {
    x_.from = left, x_.to = left + kWidth;
    y_.from = kTop + kHeight, y_.to = kTop;
    std::string svg =
        Text(left + kWidth / 2, kTop - 14, "middle", panel.title, " font-weight=\"bold\"");
    for (double x = x_.least; x <= x_.most * 1.001; x *= x_.base) {
      svg += Rule(x_.At(x), y_.from, x_.At(x), y_.to);
      svg += Text(x_.At(x), y_.from + 16, "middle", Short(x));
    }
    for (double y = y_.least; y <= y_.most * 1.001; y *= y_.base) {
      svg += Rule(x_.from, y_.At(y), x_.to, y_.At(y));
      if (is_first) svg += Text(left - 6, y_.At(y) + 4, "end", Short(y));
    }
    svg += Text(left + kWidth / 2, y_.from + 36, "middle", panel.x);
    if (is_first) {
      const double middle = kTop + kHeight / 2;
      svg += Text(16, middle, "middle", panel.y,
                  fmt::format(" transform=\"rotate(-90 16 {:.1f})\"", middle));
    }
    for (const LineChart::Line& line : panel.lines) {
      std::string points;
      for (const auto& [x, y] : line.points) {
        points += fmt::format("{:.1f},{:.1f} ", x_.At(x), y_.At(y));
      }
      svg += fmt::format(
          "<polyline points=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"2\"{}/>\n", points,
          ColourOf(line.name), DashesOf(line.is_dashed));
    }
    return svg;
  }

  const std::vector<LineChart>& panels_;
  std::vector<std::string> names_;  // of lines, as they come
  Axis x_, y_;
};

}  // namespace

std::string SvgOf(const std::vector<LineChart>& panels) { return Picture(panels).Svg(); }

}  // namespace rowhouse
