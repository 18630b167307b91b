// Bench: a figure of the system beside a yardstick measured in the same run.
//
// Absolute figures differ between machines and from minute to minute; the ratio of two that are
// measured next to each other does not. So each bench has a yardstick, the least work that could do
// the same job (moving the same bytes, gathering the same rows), and is judged by the ratio. Both
// are rates, so that more is better, and a target is the least ratio. Figures that are counted and
// not timed (hit ratios, bytes) are the same in every run. Also declared here: commands with a run
// function of their own (calibrate, regime).
//
// Threads: made, used and destroyed on one thread, one bench at a time.
// To add one, write launch/bench/<name>.cc; it registers itself by AddBench. A bench should take
// less than 5 seconds, with its making and kMeasuredPairs + 1 samples of each kind; those of the
// storage tier (tier_*) take a minute.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "common/registry.h"
#include "common/status.h"
#include "launch/command_line/command_line.h"
#include "launch/profile/run_profile.h"
#include "launch/settings/settings.h"

namespace rowhouse {

// Two samples taken one right after the other, in one unit. Both > 0.
struct BenchPair {
  double system = 0.0;
  double yardstick = 0.0;
};

// Medians over samples of the system and of the yardstick, in seconds: of the clock, and of the
// process on all CPUs. Two busy ends on two CPUs hide what either waits for.
struct BenchTimes {
  double wall = 0.0, cpu = 0.0, yardstick_wall = 0.0, yardstick_cpu = 0.0;
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
  std::string remark = "";       // appended to the yardstick's words
  std::optional<BenchTimes> times = {};

  // Whether the ratio reaches the target; nullopt without one.
  std::optional<bool> met() const;
};

// Requires at least one pair. The median of an even number is the mean of the middle two.
BenchFigure Summarise(std::string name, std::string unit, std::optional<double> target,
                      std::span<const BenchPair> pairs);

// Of two numbers that are counted, not sampled.
BenchFigure CountedFigure(std::string name, std::string unit, double measured, double yardstick,
                          std::optional<double> target = std::nullopt);

// A line of the table that is printed. `yardstick`: in words.
std::string FigureTableLine(const BenchFigure& figure, const std::string& yardstick);

// Options of all benches. Sizes are not among them: they are part of what a bench measures.
struct BenchOptions {
  std::string trace = "";  // a file of accesses, one number a line; "": its benches are left out
  // Pull and push report where their time went. The value of --profile
  // (launch/profile/run_profiler.h); "": not given.
  std::string profile = "";
  bool is_long = false;  // at the size that takes many minutes
  // Expensive fixtures by name, shared by benches of one run. Null: not shared.
  std::shared_ptr<std::map<std::string, std::shared_ptr<void>>> kept = nullptr;
};

class Bench {
 public:
  virtual ~Bench() = default;

  // One sample of each, > 0, in the bench's unit, of work that takes at least a tenth of a second.
  virtual Result<double> MeasureSystem() = 0;
  virtual Result<double> MeasureYardstick() = 0;

  // Called after the samples. remark(): appended to the yardstick's words. target(): used if the
  // declaration has none.
  virtual std::string remark() const { return ""; }
  virtual std::optional<double> target() const { return std::nullopt; }

  // Where the time of the samples went, if `options.profile` was given and it is known.
  virtual Result<std::optional<RunProfile>> Profile() { return std::optional<RunProfile>(); }
};

// Makes a Member of Bench, which has `Status Open()`, and opens it.
template <typename Member, typename... Args>
Result<std::unique_ptr<Bench>> MakeOpenBench(Args&&... args) {
  auto bench = std::make_unique<Member>(std::forward<Args>(args)...);
  RETURN_IF_ERROR(bench->Open());
  return std::unique_ptr<Bench>(std::move(bench));
}

struct BenchDeclaration {
  std::string name;
  std::string group = {};  // a name that stands for it, too, as "rows" for "bags"
  std::string what = {};   // its line in the list of benches: what is measured, and the yardstick
  std::string time = {};   // on two cores: "5 s"
  std::string unit = {};   // "rows/s"
  std::string yardstick = {};  // in words, for the table
  std::optional<double> target = {};
  bool reads_trace = false;
  bool has_profile = false;
  std::vector<std::string> flags = {};  // flags that only this bench reads
  bool is_hidden = false;               // not in the list: others start it as their ranks

  // Exactly one of make, count and run is set.
  // Pairs of samples.
  std::function<Result<std::unique_ptr<Bench>>(const BenchOptions&)> make = nullptr;
  // Figures that are counts. Empty if it needs an option that was not given; it has printed that.
  std::function<Result<std::vector<BenchFigure>>(const std::string& name, const BenchOptions&)>
      count = nullptr;
  // A command: it runs alone, has flags of its own and may write files.
  Status (*run)(const CommandLine& command_line, const Settings& settings) = nullptr;
};

// Registers it, at namespace scope.
bool AddBench(BenchDeclaration bench);

// All that are registered, by name.
const std::map<std::string, BenchDeclaration>& Benches();

// The command that the command line names, or null. kUsage if it names others beside it, or has a
// flag that only another bench reads.
Result<const BenchDeclaration*> BenchCommandOf(const CommandLine& command_line);

inline constexpr int kMeasuredPairs = 7;  // odd: the median is one of them

// Runs the named benches in that order and prints a line for each figure. "all" is all of them; a
// name that is no bench's, such as "tier", means all benches whose names begin with "tier_", and
// those of the group of that name. Without names it prints a line for each bench and command.
// `json`: the value of --json (launch/figures/json_output.h), for a list of
//   {name, measured, unit, yardstick, ratio, spread, target, met}
// of which the last two are null without a target, and of timed figures also
//   {wall, cpu, yardstick_wall, yardstick_cpu}. A missed target is no error. kUsage, and nothing
// is run, for an unknown name. An error of a bench ends the run, and nothing is written; a bench
// that is kUnavailable here is left out, and the reason printed.
Status RunBench(const std::vector<std::string>& names, const std::string& json,
                const BenchOptions& options = {});

}  // namespace rowhouse
