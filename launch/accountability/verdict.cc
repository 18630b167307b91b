#include "launch/accountability/verdict.h"

#include <algorithm>
#include <cmath>

#include "launch/bench/stop_signal.h"
#include "launch/calibrate/measured_kernel.h"
#include "launch/figures/figure_text.h"

namespace rowhouse {
namespace {

constexpr double kStepGmae = 0.15, kStepP90 = 0.35, kStepWorst = 0.60;
constexpr double kCounts = 0.02;
constexpr double kGoodChoices = 0.85;
constexpr size_t kMaxUnsteady = 2;
constexpr size_t kMinConfigs = 12, kMinRankings = 8;
constexpr size_t kMinKernelPoints = 60;

// `add(run, note)` calls note(predicted, measured) for what counts of a run.
template <typename Add>
PredictionError ErrorOver(std::span<const AccountedRun> runs, const Add& add) {
  std::vector<double> predicted, measured;
  const auto note = [&](double one_predicted, double one_measured) {
    predicted.push_back(one_predicted);
    measured.push_back(one_measured);
  };
  for (const AccountedRun& run : runs) add(run, note);
  return ErrorOf(predicted, measured);
}

// Targets of times, of which a quick run says nothing.
void AddTimes(const Accountability& all, std::vector<Target>* targets) {
  const auto count = [](size_t number) { return static_cast<double>(number); };
  const auto at_most = [&](const std::string& name, double value, double limit, bool is_share) {
    targets->push_back({.name = name, .value = value, .limit = limit, .is_share = is_share});
  };
  const auto at_least = [&](const std::string& name, double value, double limit, bool is_share) {
    at_most(name, value, limit, is_share);
    targets->back().is_least = true;
  };
  const PredictionError error = StepTimeError(all.runs);
  if (!all.is_part) {  // Of a part nobody expects that many.
    at_least("configurations that count", count(error.count), kMinConfigs, /*is_share=*/false);
    at_least("ranking tests of plans", count(all.choices.size()), kMinRankings,
             /*is_share=*/false);
  }
  if (error.count > 0) {
    at_most("GMAE of step time", error.gmae, kStepGmae, /*is_share=*/true);
    at_most("90th percentile of its errors", error.p90, kStepP90, /*is_share=*/true);
    at_most("its largest error", error.largest, kStepWorst, /*is_share=*/true);
  }
  at_most("unsteady configurations",
          static_cast<double>(std::ranges::count_if(all.runs, &AccountedRun::is_unsteady)),
          kMaxUnsteady, /*is_share=*/false);
  if (!all.choices.empty()) {
    const auto good = std::ranges::count_if(all.choices, &RankingOutcome::is_good);
    at_least("plans chosen well", static_cast<double>(good) / count(all.choices.size()),
             kGoodChoices, /*is_share=*/true);
  }
}

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

std::vector<double> RatiosOfTurns(const RankingOutcome::Plan& a, const RankingOutcome::Plan& b) {
  std::vector<double> ratios;
  for (size_t turn = 0; turn < std::min(a.runs_ms.size(), b.runs_ms.size()); ++turn) {
    ratios.push_back(a.runs_ms[turn] / b.runs_ms[turn]);
  }
  return ratios;
}

using OrderedJson = nlohmann::ordered_json;

std::string SignedPercent(double share) {
  return std::isfinite(share) ? fmt::format("{:+.1f} %", 100 * share) : "-";
}

FigureTable RunsTable(std::span<const AccountedRun> runs) {
  FigureTable table{.columns = {{"", "configuration"},
                                {"", "predicted", &FixedText<2>},
                                {"", "measured", &FixedText<2>},
                                {"", "error", &SignedPercent},
                                {"", "spread", &PercentText},
                                {"", "bytes", &SignedPercent},
                                {"", "load", &PercentText},
                                {"", "hits", &FixedText<3>},
                                {"", "counts"}}};
  for (const AccountedRun& run : runs) {
    const StepCost& predicted = run.predicted;
    const MeasuredStep& measured = run.measured;
    table.rows.push_back(
        {run.config.name, predicted.ms, measured.ms, RelativeError(predicted.ms, measured.ms),
         run.spread, RelativeError(predicted.wire_bytes, measured.wire_bytes),
         LoadError(std::span(&run, 1)).largest, predicted.hit_rate - measured.hit_rate,
         run.is_unsteady()             ? "no: unsteady"
         : predicted.is_oversubscribed ? "no: more busy threads than cores"
                                       : "yes"});
  }
  return table;
}

FigureTable PlansTable(std::span<const RankingOutcome> choices) {
  FigureTable table{.columns = {{"", "workload"},
                                {"", "plan"},
                                {"", "predicted", &FixedText<2>},
                                {"", "measured", &FixedText<2>},
                                {"", "error", &SignedPercent},
                                {"", "best by"}}};
  for (const RankingOutcome& choice : choices) {
    for (const RankingOutcome::Plan& plan : choice.plans) {
      std::vector<std::string> best;
      if (&plan == &choice.chosen()) best.push_back("prediction");
      if (&plan == &choice.fastest()) best.push_back("measurement");
      table.rows.push_back({choice.name, plan.name, plan.predicted_ms, plan.measured_ms(),
                            RelativeError(plan.predicted_ms, plan.measured_ms()), best});
    }
  }
  return table;
}

std::string ChoiceText(const RankingOutcome& choice) {
  std::string text = fmt::format(
      "{}: {}\n", choice.name,
      choice.is_good() ? "chosen well"
                       : fmt::format("the choice costs {} more", PercentText(choice.regret() - 1)));
  if (!choice.is_certain()) {
    text += fmt::format(
        "  ({} runs of each do not suffice: the ratio to {} is known to within {})\n",
        choice.chosen().runs_ms.size(), choice.rival().name, PercentText(choice.error()));
  }
  return text;
}

FigureTable TargetsTable(const std::vector<Target>& targets) {
  FigureTable table{.key = "targets",
                    .columns = {{"name", "target"},
                                {"value", ""},
                                {"limit", ""},
                                {"is_least", ""},
                                {"", "value"},
                                {"", "limit"},
                                {"is_met", ""},
                                {"", "is"}}};
  for (const Target& target : targets) {
    const auto shown = [&](double value) {
      return target.is_share ? PercentText(value) : fmt::format("{:g}", value);
    };
    table.rows.push_back({target.name, target.value, target.limit, target.is_least,
                          shown(target.value),
                          (target.is_least ? "at least " : "at most ") + shown(target.limit),
                          target.is_met(), target.is_met() ? "met" : "MISSED"});
  }
  return table;
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
       {{"products", run.slowdown.products},
        {"memory", run.slowdown.memory},
        {"messages", run.slowdown.messages}}},
      {"attempts", run.attempts},
      {"counts", CountsInTime(run)},
      {"is_oversubscribed", run.predicted.is_oversubscribed},
      {"is_unsteady", run.is_unsteady()}};
}

OrderedJson ChoiceToJson(const RankingOutcome& choice) {
  OrderedJson plans = OrderedJson::array();
  for (const RankingOutcome::Plan& plan : choice.plans) {
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
          {"is_told", choice.is_certain()},
          {"plans", std::move(plans)}};
}

}  // namespace

bool CountsInTime(const AccountedRun& run) {
  return !run.predicted.is_oversubscribed && !run.is_unsteady();
}

PredictionError StepTimeError(std::span<const AccountedRun> runs) {
  return ErrorOver(runs, [](const AccountedRun& run, const auto& note) {
    if (CountsInTime(run)) note(run.predicted.ms, run.measured.ms);
  });
}

PredictionError BytesError(std::span<const AccountedRun> runs) {
  return ErrorOver(runs, [](const AccountedRun& run, const auto& note) {
    note(run.predicted.wire_bytes, run.measured.wire_bytes);
  });
}

PredictionError LoadError(std::span<const AccountedRun> runs) {
  return ErrorOver(runs, [](const AccountedRun& run, const auto& note) {
    const size_t nodes = std::min(run.predicted.ps.size(), run.measured.rows_pulled.size());
    for (size_t n = 0; n < nodes; ++n) {
      note(run.predicted.ps[n].rows_pulled, run.measured.rows_pulled[n]);
    }
  });
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

double RankingOutcome::Plan::measured_ms() const { return Percentile(runs_ms, 0.5); }

const RankingOutcome::Plan& RankingOutcome::chosen() const {
  return *std::ranges::min_element(plans, {}, &Plan::predicted_ms);
}

double RankingOutcome::RatioTo(const Plan& plan) const {
  return Percentile(RatiosOfTurns(chosen(), plan), 0.5);
}

// Of a normal distribution the quartiles are 1.35 standard deviations apart, and a median is off by
// 1.25 standard errors of the mean.
double RankingOutcome::error() const {
  const std::vector<double> ratios = RatiosOfTurns(chosen(), rival());
  const double deviation = (Percentile(ratios, 0.75) - Percentile(ratios, 0.25)) / 1.35;
  return 1.25 * deviation / std::sqrt(static_cast<double>(ratios.size())) / Percentile(ratios, 0.5);
}

const RankingOutcome::Plan& RankingOutcome::fastest() const {
  const Plan& other = rival();
  return RatioTo(other) > 1 ? other : chosen();
}

const RankingOutcome::Plan& RankingOutcome::rival() const {
  const Plan &best = chosen(), *rival = nullptr;
  for (const Plan& plan : plans) {
    if (&plan == &best) continue;
    if (rival == nullptr || RatioTo(plan) > RatioTo(*rival)) rival = &plan;
  }
  return rival == nullptr ? best : *rival;
}

Result<RankingOutcome> RunRankingTest(const RankingTest& test, const Machine& machine,
                                      SlowdownMeter* slowdown) {
  RankingOutcome choice{.name = test.name, .plans = {}};
  ASSIGN_OR_RETURN(const Slowdown since, slowdown->Measure());
  ASSIGN_OR_RETURN(const Machine now, SlowedDown(machine, since));
  for (const TrainedConfig& config : test.plans) {
    ASSIGN_OR_RETURN(const StepCost cost, PredictConfig(config, now));
    choice.plans.push_back({.name = config.name, .predicted_ms = cost.ms, .runs_ms = {}});
  }
  for (int run = 0; run < kMaxRankingRuns; ++run) {
    if (run >= kMinRankingRuns && choice.is_certain()) break;
    for (size_t p = 0; p < test.plans.size(); ++p) {
      RETURN_IF_ERROR(StopSignal::Check());
      ASSIGN_OR_RETURN(const MeasuredStep step, TrainOnce(test.plans[p]));
      choice.plans[p].runs_ms.push_back(step.ms);
    }
  }
  return choice;
}

Figures AccountabilityFigures(const Accountability& all) {
  const std::pair<const char*, PredictionError> errors[] = {
      {"step_time", StepTimeError(all.runs)},
      {"bytes", BytesError(all.runs)},
      {"load", LoadError(all.runs)},
      {"kernels", ErrorOfPoints(all.calibration.judged)}};
  OrderedJson rows = OrderedJson::array(), choices = OrderedJson::array();
  for (const AccountedRun& run : all.runs) rows.push_back(RunToJson(run));
  for (const RankingOutcome& choice : all.choices) choices.push_back(ChoiceToJson(choice));
  const Figures kernel_figures = JudgementFigures(all.calibration.judged);
  Figures figures;
  figures.json["configs"] = all.runs.size();
  for (const auto& [name, error] : errors) {
    const bool is_any = error.count > 0;
    figures.json["gmae"][name] = is_any ? OrderedJson(error.gmae) : OrderedJson(nullptr);
    figures.json["p90"][name] = is_any ? OrderedJson(error.p90) : OrderedJson(nullptr);
  }
  figures.json["largest_hit_rate_error"] = LargestHitRateError(all.runs);
  figures.json["rows"] = std::move(rows);
  figures.json["choices"] = std::move(choices);
  figures.json["kernels"] = kernel_figures.json;
  figures.Say("\nms a step, and other errors:\n\n");
  figures.Add(RunsTable(all.runs));
  if (!all.choices.empty()) {
    figures.Say("\nPlans, ms a step:\n\n");
    figures.Add(PlansTable(all.choices));
    figures.Say("\n");
    for (const RankingOutcome& choice : all.choices) figures.Append(ChoiceText(choice));
  }
  if (!all.calibration.judged.empty()) figures.Append(FiguresAsText(kernel_figures));
  figures.Say("\n");
  figures.Add(TargetsTable(TargetsOf(all)));
  figures.Say("\n{:.0f} s in all\n", all.seconds);
  const Machine& machine = all.calibration.machine;
  figures.json["machine"] = {
      {"host", machine.host}, {"cpu", machine.cpu}, {"cores", machine.cores}};
  figures.json["seconds"] = all.seconds;
  return figures;
}

}  // namespace rowhouse
