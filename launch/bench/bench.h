// Bench: a figure of the system beside a yardstick measured in the same run.
//
// Absolute figures differ between machines and from minute to minute; the ratio of two that are
// measured next to each other does not. So each bench has a yardstick, the least work that could do
// the same job (moving the same bytes, gathering the same rows), and is judged by the ratio. Both
// are rates, so that more is better, and a target is the least ratio. Figures that are counted and
// not timed (hit ratios, bytes) are the same in every run: AddCountBench.
//
// Threads: made, used and destroyed on one thread, one bench at a time.
// To add one, write launch/bench/<name>.cc; it registers itself here. A bench should take less than
// 5 seconds, with its making and kMeasuredPairs + 1 samples of each kind; those of the storage tier
// (tier_*) take a minute.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "common/register_member.h"
#include "common/registry.h"
#include "common/status.h"
#include "launch/profile/run_profile.h"

namespace rowhouse {

// Two samples taken one right after the other, in one unit. Both > 0.
struct BenchPair {
  double system = 0.0;
  double yardstick = 0.0;
};

// The result of a bench, made of pairs.
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

// Options of all benches. Sizes are not among them: they are part of what a bench measures.
struct BenchOptions {
  std::string trace = "";  // a file of accesses, one number a line; "": its benches are left out
  // Pull and push tell where their time went. The value of --profile
  // (launch/profile/run_profiler.h); "": not given.
  std::string profile = "";
  bool is_long = false;  // whether to run benches that take many minutes
  // By name, what took long to make and later benches of the run can use again. Null: nothing is
  // kept.
  std::shared_ptr<std::map<std::string, std::shared_ptr<void>>> kept = nullptr;
};

class Bench {
 public:
  virtual ~Bench() = default;

  virtual std::string unit() const = 0;       // "rows/s"
  virtual std::string yardstick() const = 0;  // in words, for the table
  // The least ratio; nullopt: none. Called after the samples, on which it may depend.
  virtual std::optional<double> target() const = 0;

  // One sample of each, > 0, in unit(), of work that takes at least a tenth of a second.
  virtual Result<double> MeasureSystem() = 0;
  virtual Result<double> MeasureYardstick() = 0;

  // Where the time of the samples went, if `options.profile` was given and it is known.
  virtual Result<std::optional<RunProfile>> Profile() { return std::optional<RunProfile>(); }

  // The figures; by default one, named as the bench, of kMeasuredPairs pairs. Empty if the bench
  // needs an option that was not given; it has printed that.
  virtual Result<std::vector<BenchFigure>> Measure(const std::string& name);
};

Registry<Bench, BenchOptions>& Benches();

// A bench's line in the list of benches.
struct BenchNote {
  std::string what;          // what is measured, and the yardstick
  std::string time;          // on two cores: "5 s"
  bool has_profile = false;  // it tells where its time went
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

// A bench whose figures are counts. `measure` gets its name.
using MeasureCounts =
    std::function<Result<std::vector<BenchFigure>>(const std::string& name, const BenchOptions&)>;
bool AddCountBench(const std::string& name, BenchNote note, const std::string& yardstick,
                   const MeasureCounts& measure);

// A line for each bench (name, time, what), and how to run them.
std::string BenchListText();

inline constexpr int kMeasuredPairs = 7;  // odd: the median is one of them

// Runs the named benches in that order and prints a line for each figure. "all" is all of them; a
// name that is no bench's, such as "tier", stands for all whose names begin with "tier_". Without
// names it prints BenchListText(). `json`: the value of --json (launch/figures/json_output.h), for
// a list of
//   {name, measured, unit, yardstick, ratio, spread, target, met}   (FigureToJson)
// A missed target is no error. kUsage, and nothing is run, for an unknown name. An error of a bench
// ends the run, and nothing is written; a bench that is kUnavailable here is left out, and the
// reason printed.
Status RunBench(const std::vector<std::string>& names, const std::string& json,
                const BenchOptions& options = {});

}  // namespace rowhouse
