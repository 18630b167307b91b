// rowhouse plan --accountability: calibrates this machine, trains a grid of configurations for
// real, and says how far the cost model's predictions are off. Code 1 if a target is missed.
#include <fmt/ranges.h>

#include <algorithm>

#include "launch/accountability/verdict.h"
#include "launch/bench/child_run.h"
#include "launch/command_line/plan_mode.h"
#include "launch/command_line/verb_flags.h"
#include "launch/prediction/machine_of_run.h"

namespace rowhouse {
namespace {

constexpr const char* kAccountabilityFlag = "accountability";
constexpr const char* kQuickFlag = "quick";
constexpr const char* kOnlyNamesFlag = "only";

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
    AddVerbFlag({.name = kOnlyNamesFlag,
                 .verbs = kPlan,
                 .help = "With accountability: only configurations and plans whose name has this "
                         "in it",
                 .section = kLabSection}));

struct Request {
  bool is_quick = false;
  std::string only;         // in names; "": all
  std::string calibration;  // a file; "": the machine is calibrated

  bool Wants(const std::string& name) const { return name.find(only) != std::string::npos; }
};

// A quick run predicts by rough times: each point is measured a few times, once.
Result<Calibration> CalibrateFor(const Request& request, const MeasuringSession& session) {
  if (!request.calibration.empty()) {
    RETURN_IF_ERROR(session.Say("kernels are not judged: they are those of --calibration"));
    ASSIGN_OR_RETURN(CalibratedMachine known, MachineOf(request.calibration));
    return Calibration{.machine = std::move(known.machine)};
  }
  CalibrationOptions options{.judges = !request.is_quick};
  if (request.is_quick) {
    options.passes = 1;
    options.point_ms = 0;
  }
  ASSIGN_OR_RETURN(Calibration calibration, session.Measure(options));
  RETURN_IF_ERROR(calibration.cut_off);
  return calibration;
}

std::string NameOf(const RankingTest& test) { return "plans: " + test.name; }

// Whether --only names anything.
Status CheckOnly(const Request& request) {
  std::vector<std::string> names;
  for (const TrainedConfig& config : request.is_quick ? QuickConfigs() : AccuracyConfigs()) {
    names.push_back(config.name);
  }
  if (!request.is_quick) {
    for (const RankingTest& test : RankingTests()) names.push_back(NameOf(test));
  }
  if (std::ranges::any_of(names, [&](const auto& name) { return request.Wants(name); })) {
    return OkStatus();
  }
  return UsageError("--only={} is in no name; there are {}", request.only, fmt::join(names, "; "));
}

Result<Accountability> Measure(const Request& request, const MeasuringSession& session) {
  Accountability all;
  all.is_quick = request.is_quick;
  all.is_part = !request.only.empty();
  ASSIGN_OR_RETURN(all.calibration, CalibrateFor(request, session));
  Machine& machine = all.calibration.machine;
  machine = WithTypicalInStep(std::move(machine));
  std::vector<ReferenceRun> references;
  if (!request.is_quick) {
    ASSIGN_OR_RETURN(references,
                     TrainReferences([&](const std::string& name) { return session.Say(name); }));
    RETURN_IF_ERROR(FitInStep(references, &machine));
  }
  const AccountOptions options =
      request.is_quick ? AccountOptions{.runs = 1, .attempts = 1} : AccountOptions{};
  SlowdownMeter slowdown(references.empty() ? nullptr : &references.front());
  for (const TrainedConfig& config : request.is_quick ? QuickConfigs() : AccuracyConfigs()) {
    if (!request.Wants(config.name)) continue;
    RETURN_IF_ERROR(session.Say(config.name));
    ASSIGN_OR_RETURN(AccountedRun run, Account(config, machine, options, &slowdown));
    RETURN_IF_ERROR(session.Say(fmt::format("  {:.2f} ms a step predicted, {:.2f} measured",
                                            run.predicted.ms, run.measured.ms)));
    all.runs.push_back(std::move(run));
  }
  for (const RankingTest& test : RankingTests()) {
    if (request.is_quick || !request.Wants(NameOf(test))) continue;
    RETURN_IF_ERROR(session.Say(NameOf(test)));
    ASSIGN_OR_RETURN(RankingOutcome outcome, RunRankingTest(test, machine, &slowdown));
    all.choices.push_back(std::move(outcome));
  }
  all.seconds = session.seconds();
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
                        .only = command_line.Value(kOnlyNamesFlag),
                        .calibration = settings.sharding.calibration};
  RETURN_IF_ERROR(CheckOnly(request));
  const MeasuringSession session(json);
  RETURN_IF_ERROR(session.Say(request.is_quick
                                  ? "this takes some seconds"
                                  : "this takes about 10 minutes; nothing else should run"));
  ASSIGN_OR_RETURN(const Accountability all, Measure(request, session));
  RETURN_IF_ERROR(DeliverFigures(json, AccountabilityFigures(all), /*indent=*/1));
  return Verdict(all);
}

REGISTER_MEMBER(AddPlanMode({.flag = kAccountabilityFlag, .run = RunAccountability}) &&
                AddPlanOption(kQuickFlag, {kAccountabilityFlag}) &&
                AddPlanOption(kOnlyNamesFlag, {kAccountabilityFlag}));

}  // namespace
}  // namespace rowhouse
