// Bench: one figure of the system beside what this machine allows, measured in one run.
//
// Absolute figures drift from machine to machine and from minute to minute; the ratio of two
// measured next to each other does not. So every bench brings its yardstick: the least work that
// could do the same job (moving the same bytes, gathering the same rows), and is judged by the
// ratio. Both are rates, so that more is better and a target is the least ratio.
//
// Threads: made, used and destroyed on one thread, never two benches at once.
// To add one, write launch/bench/<name>.cc; it registers itself here. A bench should take below
// 5 seconds: its making and kMeasuredPairs + 1 samples of each kind.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "common/registry.h"
#include "common/status.h"

namespace rowhouse {

// What every bench is given. Sizes are not among it: they are part of what a bench measures.
struct BenchOptions {};

class Bench {
 public:
  virtual ~Bench() = default;

  virtual std::string unit() const = 0;              // "rows/s"
  virtual std::string yardstick() const = 0;         // in words, for the table
  virtual std::optional<double> target() const = 0;  // least ratio; nullopt: none was set

  // One sample each, in units, of work that takes a tenth of a second or more. > 0.
  virtual Result<double> MeasureSystem() = 0;
  virtual Result<double> MeasureYardstick() = 0;
};

Registry<Bench, BenchOptions>& Benches();

inline constexpr int kMeasuredPairs = 7;  // odd: the median is one of them

// Runs the benches named, in that order (all, by name, if none is), prints a table line by line
// to stdout and, unless `json_path` is "", writes the same as a list of
//   {name, measured, unit, yardstick, ratio, spread, target, met}
// where `yardstick` is a figure in the same unit (see bench_figure.h). A missed target is no
// error. An unknown name is kUsage and nothing is run; an error of one bench ends the run, and
// nothing is written.
Status RunBench(const std::vector<std::string>& names, const std::string& json_path);

}  // namespace rowhouse
