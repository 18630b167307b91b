#include "launch/bench/bench_figure.h"

#include <fmt/format.h>
#include <glog/logging.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "common/median.h"

namespace rowhouse {
namespace {

// Three digits and the unit's prefix: 5834000 rows/s is "5.83 M rows/s".
std::string WithPrefix(double value, const std::string& unit) {
  if (unit.empty()) return fmt::format("{:.3f}", value);  // a part of 1
  constexpr const char* kPrefixes[] = {"", "k ", "M ", "G ", "T "};
  size_t prefix = 0;
  for (; value >= 999.5 && prefix + 1 < std::size(kPrefixes); ++prefix) value /= 1000.0;
  return fmt::format("{:.3g} {}{}", value, kPrefixes[prefix], unit);
}

constexpr const char* kLineFormat = "{:<36}{:>18}{:>18}{:>8}{:>9}{:>9}{:>6}  {}";

}  // namespace

std::optional<bool> BenchFigure::met() const {
  if (!target) return std::nullopt;
  return ratio >= *target;
}

BenchFigure Summarise(std::string name, std::string unit, std::optional<double> target,
                      std::span<const BenchPair> pairs) {
  CHECK(!pairs.empty());
  std::vector<double> measured, yardsticks, ratios;
  for (const BenchPair& pair : pairs) {
    CHECK(pair.system > 0.0 && pair.yardstick > 0.0) << name;
    measured.push_back(pair.system);
    yardsticks.push_back(pair.yardstick);
    ratios.push_back(pair.system / pair.yardstick);
  }
  const auto [least, most] = std::minmax_element(ratios.begin(), ratios.end());
  const double ratio = MedianOf(ratios);
  return {.name = std::move(name),
          .unit = std::move(unit),
          .measured = MedianOf(std::move(measured)),
          .yardstick = MedianOf(std::move(yardsticks)),
          .ratio = ratio,
          .spread = (*most - *least) / ratio,
          .target = target};
}

BenchFigure CountedFigure(std::string name, std::string unit, double measured, double yardstick,
                          std::optional<double> target) {
  return {.name = std::move(name),
          .unit = std::move(unit),
          .measured = measured,
          .yardstick = yardstick,
          .ratio = measured / yardstick,
          .target = target};
}

nlohmann::ordered_json FigureToJson(const BenchFigure& figure) {
  nlohmann::ordered_json json = {{"name", figure.name},   {"measured", figure.measured},
                                 {"unit", figure.unit},   {"yardstick", figure.yardstick},
                                 {"ratio", figure.ratio}, {"spread", figure.spread},
                                 {"target", nullptr},     {"met", nullptr}};
  if (figure.target) json["target"] = *figure.target;
  if (const std::optional<bool> met = figure.met()) json["met"] = *met;
  return json;
}

std::string FigureTableHead() {
  return fmt::format(fmt::runtime(kLineFormat), "bench", "measured", "yardstick", "ratio", "spread",
                     "target", "met", "yardstick is");
}

std::string FigureTableLine(const BenchFigure& figure, const std::string& yardstick) {
  const std::optional<bool> met = figure.met();
  return fmt::format(fmt::runtime(kLineFormat), figure.name,
                     WithPrefix(figure.measured, figure.unit),
                     WithPrefix(figure.yardstick, figure.unit), fmt::format("{:.2f}", figure.ratio),
                     fmt::format("{:.2f}", figure.spread),
                     figure.target ? fmt::format("{:.2f}", *figure.target) : "-",
                     met ? (*met ? "yes" : "no") : "-", yardstick);
}

}  // namespace rowhouse
