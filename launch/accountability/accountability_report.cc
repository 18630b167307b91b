#include "launch/accountability/accountability_report.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "launch/calibrate/kernel_judgement.h"
#include "launch/figures/figure_text.h"

namespace rowhouse {
namespace {

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
