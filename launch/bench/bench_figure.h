// BenchFigure: what a bench found, from pairs of (system, yardstick) to a line for people and an
// object for programs.
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
  std::string unit;              // "": a part of 1
  double measured = 0.0;         // median of the system's samples
  double yardstick = 0.0;        // median of the yardstick's samples
  double ratio = 0.0;            // median of the pairs' ratios; not measured / yardstick
  double spread = 0.0;           // (largest - smallest) / median of the pairs' ratios
  std::optional<double> target;  // least ratio

  // Whether the ratio reaches the target; nullopt without one.
  std::optional<bool> met() const;
};

// Requires at least one pair. The median of an even number is the mean of the middle two.
BenchFigure Summarise(std::string name, std::string unit, std::optional<double> target,
                      std::span<const BenchPair> pairs);

// {name, measured, unit, yardstick, ratio, spread, target, met}; the last two null without target.
nlohmann::ordered_json FigureToJson(const BenchFigure& figure);

// Columns fit each other. `yardstick`: in words.
std::string FigureTableHead();
std::string FigureTableLine(const BenchFigure& figure, const std::string& yardstick);

}  // namespace rowhouse
