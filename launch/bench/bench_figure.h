// BenchFigure: the result of a bench, made of pairs of (system, yardstick), as text and as JSON.
//
// Threads: pure functions.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>

namespace rowhouse {

// Two samples taken one right after the other, in one unit. Both > 0.
struct BenchPair {
  double system = 0.0;
  double yardstick = 0.0;
};

struct BenchFigure {
  std::string name;
  std::string unit;              // "": a ratio
  double measured = 0.0;         // median of the system's samples
  double yardstick = 0.0;        // median of the yardstick's samples
  double ratio = 0.0;            // median of the pairs' ratios; not measured / yardstick
  double spread = 0.0;           // (largest - smallest) / median of the pairs' ratios
  std::optional<double> target;  // the least ratio

  // Whether the ratio reaches the target; nullopt without one.
  std::optional<bool> met() const;
};

// Requires at least one pair. The median of an even number is the mean of the middle two.
BenchFigure Summarise(std::string name, std::string unit, std::optional<double> target,
                      std::span<const BenchPair> pairs);

// Of two numbers that are counted, not sampled.
BenchFigure CountedFigure(std::string name, std::string unit, double measured, double yardstick,
                          std::optional<double> target = std::nullopt);

// {name, measured, unit, yardstick, ratio, spread, target, met}; without a target the last two are
// null.
nlohmann::ordered_json FigureToJson(const BenchFigure& figure);

// Lines of one table. `yardstick`: in words.
std::string FigureTableHead();
std::string FigureTableLine(const BenchFigure& figure, const std::string& yardstick);

}  // namespace rowhouse
