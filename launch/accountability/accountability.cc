// rowhouse plan --accountability: calibrates this machine, trains a grid of configurations for
// real, and says how far the cost model's predictions are off. Code 1 if a target is missed.
#include <fmt/ranges.h>
#include <omp.h>

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "common/json_text.h"
#include "launch/accountability/verdict.h"
#include "launch/bench/child_run.h"
#include "launch/bench/stop_signal.h"
#include "launch/calibrate/stopwatch.h"
#include "launch/command_line/plan_mode.h"
#include "launch/command_line/verb_flags.h"
#include "launch/figures/json_output.h"
#include "launch/prediction/machine_of_run.h"
#include "launch/prediction/workload_of_run.h"

namespace rowhouse {
namespace {

constexpr const char* kAccountabilityFlag = "accountability";
constexpr const char* kQuickFlag = "quick";
constexpr const char* kOnlyFlag = "only";

REGISTER_MEMBER(
    AddVerbFlag({.name = kAccountabilityFlag,
                 .verbs = kPlan,
                 .help = "Holds the cost model to account on this machine: calibrates it, trains a "
                         "grid of models for real, and prints predicted beside measured time, "
                         "bytes, load and hit rate, and of several plans which the model would "
                         "have chosen. Takes 10 minutes. Code 1 if a target is missed. With "
                         "calibration: by that file, without judging kernels",
                 .is_switch = true,
                 .section = kLabSection}) &&
    AddVerbFlag({.name = kQuickFlag,
                 .verbs = kPlan,
                 .help = "With accountability: two small runs, of which only bytes, load and hit "
                         "rate are judged. Takes some seconds",
                 .is_switch = true,
                 .section = kLabSection}) &&
    AddVerbFlag({.name = kOnlyFlag,
                 .verbs = kPlan,
                 .help = "With accountability: only configurations and plans whose name has this "
                         "in it",
                 .section = kLabSection}));

// Says what is going on, and how long it has taken so far.
class Progress {
 public:
  explicit Progress(std::FILE* file) : file_(file) {}
  double seconds() const { return stopwatch_.Ns() / 1e9; }
  Status Say(const std::string& what) const {
    fmt::print(file_, "{:>5.0f} s  {}\n", seconds(), what);
    std::fflush(file_);
    return StopSignal::Check();
  }

 private:
  std::FILE* const file_;
  const Stopwatch stopwatch_;
};

struct Request {
  bool is_quick = false;
  std::string only;         // in names; "": all
  std::string calibration;  // a file; "": the machine is calibrated

  bool Wants(const std::string& name) const { return name.find(only) != std::string::npos; }
};

// A quick look predicts by rough times: each point is measured a few times, once.
Result<Calibration> CalibrateFor(const Request& request, const Progress& progress) {
  if (!request.calibration.empty()) {
    RETURN_IF_ERROR(progress.Say("kernels are not judged: they are those of --calibration"));
    ASSIGN_OR_RETURN(CalibratedMachine known, MachineOf(request.calibration));
    return Calibration{.machine = std::move(known.machine)};
  }
  CalibrationOptions options{.judges = !request.is_quick};
  if (request.is_quick) {
    options.passes = 1;
    options.point_ms = 0;
  }
  options.on_kernel = [&](const std::string& kernel, int pass, double) {
    return progress.Say(kernel + (pass > 0 ? ", again" : ""));
  };
  ASSIGN_OR_RETURN(Calibration calibration, Calibrate(options));
  RETURN_IF_ERROR(calibration.cut_off);
  return calibration;
}

std::string NameOf(const PlanContest& contest) { return "plans: " + contest.name; }

// Whether --only names anything.
Status CheckOnly(const Request& request) {
  std::vector<std::string> names;
  for (const TrainedConfig& config : request.is_quick ? QuickConfigs() : AccuracyConfigs()) {
    names.push_back(config.name);
  }
  if (!request.is_quick) {
    for (const PlanContest& contest : PlanContests()) names.push_back(NameOf(contest));
  }
  if (std::ranges::any_of(names, [&](const auto& name) { return request.Wants(name); })) {
    return OkStatus();
  }
  return UsageError("--only={} is in no name; there are {}", request.only, fmt::join(names, "; "));
}

Result<Accountability> Measure(const Request& request, const Progress& progress) {
  Accountability all;
  all.is_quick = request.is_quick;
  all.is_part = !request.only.empty();
  ASSIGN_OR_RETURN(all.calibration, CalibrateFor(request, progress));
  Machine& machine = all.calibration.machine;
  machine = WithTypicalInStep(std::move(machine));
  std::vector<ReferenceRun> references;
  if (!request.is_quick) {
    ASSIGN_OR_RETURN(references,
                     TrainReferences([&](const std::string& name) { return progress.Say(name); }));
    RETURN_IF_ERROR(FitInStep(references, &machine));
  }
  const AccountOptions options =
      request.is_quick ? AccountOptions{.runs = 1, .attempts = 1} : AccountOptions{};
  DriftMeter drift(references.empty() ? nullptr : &references.front());
  for (const TrainedConfig& config : request.is_quick ? QuickConfigs() : AccuracyConfigs()) {
    if (!request.Wants(config.name)) continue;
    RETURN_IF_ERROR(progress.Say(config.name));
    ASSIGN_OR_RETURN(AccountedRun run, Account(config, machine, options, &drift));
    const std::string line = RunLine(run);
    RETURN_IF_ERROR(progress.Say(line.substr(0, line.size() - 1)));
    all.runs.push_back(std::move(run));
  }
  for (const PlanContest& contest : PlanContests()) {
    if (request.is_quick || !request.Wants(NameOf(contest))) continue;
    RETURN_IF_ERROR(progress.Say(NameOf(contest)));
    ASSIGN_OR_RETURN(ContestOutcome outcome, HoldContest(contest, machine, &drift));
    all.choices.push_back(std::move(outcome));
  }
  all.seconds = progress.seconds();
  return all;
}

Status Verdict(const Accountability& all) {
  std::string missed;
  for (const Target& target : TargetsOf(all)) {
    if (!target.is_met()) missed += (missed.empty() ? "" : ", ") + target.name;
  }
  if (missed.empty()) return OkStatus();
  return MakeStatus(StatusCode::kInternal, "targets that were missed: {}", missed);
}

Status RunAccountability(const CommandLine& command_line, const Settings& settings) {
  RETURN_IF_ERROR(MpirunScript().status());
  const std::string json = command_line.Value(kJsonFlag);
  const Request request{.is_quick = command_line.Value(kQuickFlag) == "true",
                        .only = command_line.Value(kOnlyFlag),
                        .calibration = settings.sharding.calibration};
  RETURN_IF_ERROR(CheckOnly(request));
  const Progress progress(json == kJsonToStdout ? stderr : stdout);
  RETURN_IF_ERROR(progress.Say(request.is_quick
                                   ? "this takes some seconds"
                                   : "this takes about 10 minutes; nothing else should run"));
  const StopSignal stop_signal;
  omp_set_num_threads(1);  // As the runs have it.
  FLAGS_minloglevel =
      std::max(FLAGS_minloglevel, google::GLOG_WARNING);  // Stores say what they did.
  ASSIGN_OR_RETURN(const Accountability all, Measure(request, progress));
  RETURN_IF_ERROR(
      DeliverFigures(json, DumpJson(AccountabilityToJson(all), 1) + "\n", AccountabilityText(all)));
  return Verdict(all);
}

REGISTER_MEMBER(AddPlanMode({.flag = kAccountabilityFlag, .run = RunAccountability}) &&
                AddPlanOption(kQuickFlag, {kAccountabilityFlag}) &&
                AddPlanOption(kOnlyFlag, {kAccountabilityFlag}));

}  // namespace
}  // namespace rowhouse
