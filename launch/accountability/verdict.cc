#include "launch/accountability/verdict.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "launch/accountability/accounted_run.h"
#include "launch/bench/stop_signal.h"
#include "launch/calibrate/calibration.h"
#include "launch/calibrate/measured_kernel.h"
#include "launch/figures/figure_text.h"

namespace rowhouse {
namespace {

constexpr double kStepGmae = 0.15, kStepP90 = 0.35, kStepWorst = 0.60;
constexpr double kCounts = 0.02;
constexpr double kGoodChoices = 0.85;
constexpr size_t kMaxUnsteady = 2;
constexpr size_t kMinConfigs = 12, kMinContests = 8;
constexpr size_t kMinKernelPoints = 60;

class Errors {
 public:
  void Add(double predicted, double measured) {
    predicted_.push_back(predicted);
    measured_.push_back(measured);
  }
  PredictionError Of() const { return ErrorOf(predicted_, measured_); }

 private:
  std::vector<double> predicted_, measured_;
};

void AddKernels(std::span<const JudgedPoint> judged, std::vector<Target>* targets) {
  if (judged.empty()) return;
  const auto held_out =
      static_cast<double>(std::ranges::count(judged, false, &JudgedPoint::is_fitted));
  targets->push_back({.name = "points of kernels",
                      .value = static_cast<double>(judged.size()),
                      .limit = kMinKernelPoints,
                      .is_least = true,
                      .is_share = false});
  targets->push_back({.name = "share of them that fitted nothing",
                      .value = held_out / static_cast<double>(judged.size()),
                      .limit = 1.0 / 3,
                      .is_least = true});
  for (const auto& [group, error] : ErrorsOfGroups(judged)) {
    targets->push_back(
        {.name = "GMAE of kernels: " + group, .value = error.all.gmae, .limit = kKernelTarget});
  }
}

// Of a part nobody expects so many.
void AddCounts(const Accountability& all, const PredictionError& error,
               std::vector<Target>* targets) {
  if (all.is_part) return;
  targets->push_back({.name = "configurations that count",
                      .value = static_cast<double>(error.count),
                      .limit = kMinConfigs,
                      .is_least = true,
                      .is_share = false});
  targets->push_back({.name = "contests of plans",
                      .value = static_cast<double>(all.choices.size()),
                      .limit = kMinContests,
                      .is_least = true,
                      .is_share = false});
}

void AddTimes(const Accountability& all, std::vector<Target>* targets) {
  const PredictionError error = StepTimeError(all.runs);
  AddCounts(all, error, targets);
  if (error.count > 0) {
    targets->push_back({.name = "GMAE of step time", .value = error.gmae, .limit = kStepGmae});
    targets->push_back(
        {.name = "90th percentile of its errors", .value = error.p90, .limit = kStepP90});
    targets->push_back({.name = "its largest error", .value = error.largest, .limit = kStepWorst});
  }
  targets->push_back(
      {.name = "unsteady configurations",
       .value = static_cast<double>(std::ranges::count_if(all.runs, &AccountedRun::is_unsteady)),
       .limit = kMaxUnsteady,
       .is_share = false});
  if (all.choices.empty()) return;
  const auto good =
      static_cast<double>(std::ranges::count_if(all.choices, &ContestOutcome::is_good));
  targets->push_back({.name = "plans chosen well",
                      .value = good / static_cast<double>(all.choices.size()),
                      .limit = kGoodChoices,
                      .is_least = true});
}

std::vector<double> RatiosOfTurns(const ContestOutcome::Plan& a, const ContestOutcome::Plan& b) {
  std::vector<double> ratios;
  for (size_t turn = 0; turn < std::min(a.runs_ms.size(), b.runs_ms.size()); ++turn) {
    ratios.push_back(a.runs_ms[turn] / b.runs_ms[turn]);
  }
  return ratios;
}

using OrderedJson = nlohmann::ordered_json;

std::string Signed(double predicted, double measured) {
  return fmt::format("{:+.1f} %", 100 * RelativeError(predicted, measured));
}

double LoadErrorOf(const AccountedRun& run) { return LoadError(std::span(&run, 1)).largest; }

std::string ChoiceText(const ContestOutcome& choice) {
  std::string text = fmt::format(
      "  {}: {}\n", choice.name,
      choice.is_good() ? "chosen well"
                       : fmt::format("the choice costs {} more", PercentText(choice.regret() - 1)));
  if (!choice.is_told()) {
    text += fmt::format(
        "    ({} runs of each do not tell: the ratio to {} is known to within {})\n",
        choice.chosen().runs_ms.size(), choice.rival().name, PercentText(choice.error()));
  }
  for (const ContestOutcome::Plan& plan : choice.plans) {
    text += fmt::format("    {:<42}{:>9.2f}{:>9.2f}{:>9}{}{}\n", plan.name, plan.predicted_ms,
                        plan.measured_ms(), Signed(plan.predicted_ms, plan.measured_ms()),
                        &plan == &choice.chosen() ? "  predicted best" : "",
                        &plan == &choice.fastest() ? "  measured best" : "");
  }
  return text;
}

std::string TargetText(const Target& target) {
  const auto shown = [&](double value) {
    return target.is_share ? PercentText(value) : fmt::format("{:g}", value);
  };
  return fmt::format("  {:<40}{:>10}  {} {:<10}{}\n", target.name, shown(target.value),
                     target.is_least ? "at least" : "at most ", shown(target.limit),
                     target.is_met() ? "met" : "MISSED");
}

// null for the error of nothing.
OrderedJson OrNull(const PredictionError& error, double PredictionError::*figure) {
  return error.count == 0 ? OrderedJson(nullptr) : OrderedJson(error.*figure);
}

OrderedJson RunToJson(const AccountedRun& run) {
  OrderedJson phases = OrderedJson::object();
  ForEachPredictedPhase([&](const auto& phase) {
    phases[phase.name] = {{"predicted", run.predicted.phases.*phase.value},
                          {"measured", run.measured.SteadyPhase(phase.name)}};
  });
  OrderedJson nodes = OrderedJson::array();
  for (size_t n = 0; n < run.measured.rows_pulled.size() && n < run.predicted.ps.size(); ++n) {
    nodes.push_back({{"rows_pulled",
                      {{"predicted", run.predicted.ps[n].rows_pulled},
                       {"measured", run.measured.rows_pulled[n]}}}});
  }
  return {
      {"name", run.config.name},
      {"ps", run.config.ps},
      {"workers", run.config.workers},
      {"yaml", run.config.Yaml()},
      {"step_ms",
       {{"predicted", run.predicted.ms},
        {"measured", run.measured.ms},
        {"runs", run.runs_ms},
        {"spread", run.spread}}},
      {"wire_bytes",
       {{"predicted", run.predicted.wire_bytes}, {"measured", run.measured.wire_bytes}}},
      {"hit_rate", {{"predicted", run.predicted.hit_rate}, {"measured", run.measured.hit_rate}}},
      {"ps_nodes", std::move(nodes)},
      {"parked_ms", run.predicted.parked_ms},
      {"phases_ms", std::move(phases)},
      {"drift",
       {{"products", run.drift.products},
        {"memory", run.drift.memory},
        {"messages", run.drift.messages}}},
      {"attempts", run.attempts},
      {"counts", CountsInTime(run)},
      {"is_oversubscribed", run.predicted.is_oversubscribed},
      {"is_unsteady", run.is_unsteady()}};
}

OrderedJson ChoiceToJson(const ContestOutcome& choice) {
  OrderedJson plans = OrderedJson::array();
  for (const ContestOutcome::Plan& plan : choice.plans) {
    plans.push_back({{"name", plan.name},
                     {"predicted_ms", plan.predicted_ms},
                     {"measured_ms", plan.measured_ms()},
                     {"runs", plan.runs_ms}});
  }
  return {{"name", choice.name},
          {"predicted_best", choice.chosen().name},
          {"measured_best", choice.fastest().name},
          {"regret", choice.regret()},
          {"error", choice.error()},
          {"is_good", choice.is_good()},
          {"is_told", choice.is_told()},
          {"plans", std::move(plans)}};
}

PredictionError KernelsError(std::span<const JudgedPoint> judged) {
  std::vector<double> predicted, measured;
  for (const JudgedPoint& point : judged) {
    predicted.push_back(point.predicted_ns);
    measured.push_back(point.measured_ns);
  }
  return ErrorOf(predicted, measured);
}

}  // namespace

bool CountsInTime(const AccountedRun& run) {
  return !run.predicted.is_oversubscribed && !run.is_unsteady();
}

PredictionError StepTimeError(std::span<const AccountedRun> runs) {
  Errors errors;
  for (const AccountedRun& run : runs) {
    if (CountsInTime(run)) errors.Add(run.predicted.ms, run.measured.ms);
  }
  return errors.Of();
}

PredictionError BytesError(std::span<const AccountedRun> runs) {
  Errors errors;
  for (const AccountedRun& run : runs)
    errors.Add(run.predicted.wire_bytes, run.measured.wire_bytes);
  return errors.Of();
}

PredictionError LoadError(std::span<const AccountedRun> runs) {
  Errors errors;
  for (const AccountedRun& run : runs) {
    const size_t nodes = std::min(run.predicted.ps.size(), run.measured.rows_pulled.size());
    for (size_t n = 0; n < nodes; ++n) {
      errors.Add(run.predicted.ps[n].rows_pulled, run.measured.rows_pulled[n]);
    }
  }
  return errors.Of();
}

double LargestHitRateError(std::span<const AccountedRun> runs) {
  double largest = 0;
  for (const AccountedRun& run : runs) {
    largest = std::max(largest, std::abs(run.predicted.hit_rate - run.measured.hit_rate));
  }
  return largest;
}

std::vector<Target> TargetsOf(const Accountability& all) {
  std::vector<Target> targets;
  if (!all.is_quick) AddTimes(all, &targets);
  targets.push_back(
      {.name = "largest error of bytes", .value = BytesError(all.runs).largest, .limit = kCounts});
  targets.push_back(
      {.name = "largest error of load", .value = LoadError(all.runs).largest, .limit = kCounts});
  targets.push_back({.name = "largest error of hit rate",
                     .value = LargestHitRateError(all.runs),
                     .limit = kCounts});
  if (!all.is_quick) AddKernels(all.calibration.judged, &targets);
  return targets;
}

double ContestOutcome::Plan::measured_ms() const { return Percentile(runs_ms, 0.5); }

const ContestOutcome::Plan& ContestOutcome::chosen() const {
  return *std::ranges::min_element(plans, {}, &Plan::predicted_ms);
}

double ContestOutcome::RatioTo(const Plan& plan) const {
  return Percentile(RatiosOfTurns(chosen(), plan), 0.5);
}

// Of a normal distribution the quartiles are 1.35 standard deviations apart, and a median is off by
// 1.25 standard errors of the mean.
double ContestOutcome::error() const {
  const std::vector<double> ratios = RatiosOfTurns(chosen(), rival());
  const double deviation = (Percentile(ratios, 0.75) - Percentile(ratios, 0.25)) / 1.35;
  return 1.25 * deviation / std::sqrt(static_cast<double>(ratios.size())) / Percentile(ratios, 0.5);
}

const ContestOutcome::Plan& ContestOutcome::fastest() const {
  const Plan& other = rival();
  return RatioTo(other) > 1 ? other : chosen();
}

const ContestOutcome::Plan& ContestOutcome::rival() const {
  const Plan &best = chosen(), *rival = nullptr;
  for (const Plan& plan : plans) {
    if (&plan == &best) continue;
    if (rival == nullptr || RatioTo(plan) > RatioTo(*rival)) rival = &plan;
  }
  return rival == nullptr ? best : *rival;
}

bool ContestOutcome::is_good() const { return regret() <= kGoodRegret; }

Result<ContestOutcome> HoldContest(const PlanContest& contest, const Machine& machine,
                                   DriftMeter* drift) {
  ContestOutcome choice{.name = contest.name, .plans = {}};
  ASSIGN_OR_RETURN(const Drift since, drift->Measure());
  ASSIGN_OR_RETURN(const Machine now, Drifted(machine, since));
  for (const TrainedConfig& config : contest.plans) {
    ASSIGN_OR_RETURN(const StepCost cost, PredictConfig(config, now));
    choice.plans.push_back({.name = config.name, .predicted_ms = cost.ms, .runs_ms = {}});
  }
  for (int run = 0; run < kMaxContestRuns; ++run) {
    if (run >= kMinContestRuns && choice.is_told()) break;
    for (size_t p = 0; p < contest.plans.size(); ++p) {
      RETURN_IF_ERROR(StopSignal::Check());
      ASSIGN_OR_RETURN(const MeasuredStep step, TrainOnce(contest.plans[p]));
      choice.plans[p].runs_ms.push_back(step.ms);
    }
  }
  return choice;
}

std::string RunLine(const AccountedRun& run) {
  std::string note;
  if (run.predicted.is_oversubscribed) note = "  more busy threads than cores: apart";
  if (run.is_unsteady()) note = "  unsteady: apart";
  return fmt::format(
      "  {:<44}{:>9.2f}{:>9.2f}{:>9}{:>9}{:>9}{:>9}{:>9}{}\n", run.config.name, run.predicted.ms,
      run.measured.ms, Signed(run.predicted.ms, run.measured.ms), PercentText(run.spread),
      Signed(run.predicted.wire_bytes, run.measured.wire_bytes), PercentText(LoadErrorOf(run)),
      fmt::format("{:+.3f}", run.predicted.hit_rate - run.measured.hit_rate), note);
}

std::string RunLineHead() {
  return fmt::format("  {:<44}{:>9}{:>9}{:>9}{:>9}{:>9}{:>9}{:>9}\n", "configuration", "predicted",
                     "measured", "error", "spread", "bytes", "load", "hits");
}

std::string AccountabilityText(const Accountability& all) {
  std::string text = "\n" + RunLineHead();
  for (const AccountedRun& run : all.runs) text += RunLine(run);
  if (!all.choices.empty()) text += "\nPlans, ms a step, predicted and measured:\n\n";
  for (const ContestOutcome& choice : all.choices) text += ChoiceText(choice);
  if (!all.calibration.judged.empty()) text += "\n" + JudgementText(all.calibration.judged);
  text += "\nTargets:\n\n";
  for (const Target& target : TargetsOf(all)) text += TargetText(target);
  return text + fmt::format("\n{:.0f} s in all\n", all.seconds);
}

OrderedJson AccountabilityToJson(const Accountability& all) {
  const PredictionError time = StepTimeError(all.runs), bytes = BytesError(all.runs),
                        load = LoadError(all.runs), kernels = KernelsError(all.calibration.judged);
  OrderedJson rows = OrderedJson::array(), choices = OrderedJson::array(),
              targets = OrderedJson::array();
  for (const AccountedRun& run : all.runs) rows.push_back(RunToJson(run));
  for (const ContestOutcome& choice : all.choices) choices.push_back(ChoiceToJson(choice));
  for (const Target& target : TargetsOf(all)) {
    targets.push_back({{"name", target.name},
                       {"value", target.value},
                       {"limit", target.limit},
                       {"is_least", target.is_least},
                       {"is_met", target.is_met()}});
  }
  return {{"configs", all.runs.size()},
          {"gmae",
           {{"step_time", OrNull(time, &PredictionError::gmae)},
            {"bytes", OrNull(bytes, &PredictionError::gmae)},
            {"load", OrNull(load, &PredictionError::gmae)},
            {"kernels", OrNull(kernels, &PredictionError::gmae)}}},
          {"p90",
           {{"step_time", OrNull(time, &PredictionError::p90)},
            {"bytes", OrNull(bytes, &PredictionError::p90)},
            {"load", OrNull(load, &PredictionError::p90)},
            {"kernels", OrNull(kernels, &PredictionError::p90)}}},
          {"largest_hit_rate_error", LargestHitRateError(all.runs)},
          {"rows", std::move(rows)},
          {"choices", std::move(choices)},
          {"kernels", JudgementToJson(all.calibration.judged)},
          {"targets", std::move(targets)},
          {"machine",
           {{"host", all.calibration.machine.host},
            {"cpu", all.calibration.machine.cpu},
            {"cores", all.calibration.machine.cores}}},
          {"seconds", all.seconds}};
}

}  // namespace rowhouse
