// Bench: one figure of the system beside what this machine allows, measured in one run.
//
// Absolute figures drift from machine to machine and from minute to minute; the ratio of two
// measured next to each other does not. So every bench brings its yardstick: the least work that
// could do the same job (moving the same bytes, gathering the same rows), and is judged by the
// ratio. Both are rates, so that more is better and a target is the least ratio. What is counted
// and not timed (hit ratios, bytes) is the same in every run: a CountBench, with figures of its
// own.
//
// Threads: made, used and destroyed on one thread, never two benches at once.
// To add one, write launch/bench/<name>.cc; it registers itself here. A bench should take below
// 5 seconds: its making and kMeasuredPairs + 1 samples of each kind. Those of the storage tier
// (tier_*) take a minute each.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/registry.h"
#include "common/status.h"
#include "launch/bench/bench_figure.h"

namespace rowhouse {

// What every bench is given. Sizes are not among it: they are part of what a bench measures.
struct BenchOptions {
  std::string trace = "";  // a file of accesses, one number a line; "": benches of it are skipped
  bool is_long = false;    // those that take many minutes, too
  // What took long to make and later benches of the run can use, by name. Null: kept for nobody.
  std::shared_ptr<std::map<std::string, std::shared_ptr<void>>> kept = nullptr;
};

class Bench {
 public:
  virtual ~Bench() = default;

  virtual std::string unit() const = 0;       // "rows/s"
  virtual std::string yardstick() const = 0;  // in words, for the table
  // Least ratio; nullopt: none was set. Asked for after the samples, on which it may depend.
  virtual std::optional<double> target() const = 0;

  // One sample each, in units, of work that takes a tenth of a second or more. > 0.
  virtual Result<double> MeasureSystem() = 0;
  virtual Result<double> MeasureYardstick() = 0;

  // The figures, named after the bench: as a rule one, of kMeasuredPairs pairs. None: what it needs
  // was not given, which it has printed.
  virtual Result<std::vector<BenchFigure>> Measure(const std::string& name);
};

// A bench whose figures are counts. Instead of rates and pairs it has a Measure of its own.
class CountBench : public Bench {
 public:
  std::string unit() const final { return ""; }
  std::optional<double> target() const final { return std::nullopt; }
  Result<double> MeasureSystem() final;
  Result<double> MeasureYardstick() final;
  Result<std::vector<BenchFigure>> Measure(const std::string& name) override = 0;
};

Registry<Bench, BenchOptions>& Benches();

// What the list of benches says of one.
struct BenchNote {
  std::string what;  // is measured, beside what
  std::string time;  // it takes on two cores: "5 s"
};

bool AddBench(const std::string& name, BenchNote note,
              Registry<Bench, BenchOptions>::Factory factory);

template <typename Member>
bool AddBench(const std::string& name, BenchNote note) {
  return AddBench(name, std::move(note),
                  [](const BenchOptions& options) -> Result<std::unique_ptr<Bench>> {
                    return std::unique_ptr<Bench>(std::make_unique<Member>(options));
                  });
}

// A line a bench: name, time, what; and how to run them.
std::string BenchListText();

inline constexpr int kMeasuredPairs = 7;  // odd: the median is one of them

// Runs the benches named, in that order ("all" are all; "tier" stands for those whose names begin
// with "tier_", and so any such name that is none itself; no name: prints BenchListText() and runs
// none), prints a table line by line to stdout and sends the same where `json` says
// (launch/report/json_output.h), as a list of
//   {name, measured, unit, yardstick, ratio, spread, target, met}
// where `yardstick` is a figure in the same unit (see bench_figure.h). A missed target is no
// error. An unknown name is kUsage and nothing is run; an error of one bench ends the run, and
// nothing is written. One that cannot be made here (kUnavailable) is left out, with its reason.
Status RunBench(const std::vector<std::string>& names, const std::string& json,
                const BenchOptions& options = {});

}  // namespace rowhouse
