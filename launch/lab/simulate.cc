// rowhouse plan --simulate: the run as a simulation of it, step time and each rank.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <span>
#include <utility>

#include "launch/command_line/plan_mode.h"
#include "launch/command_line/verb_flags.h"
#include "launch/figures/figure_text.h"
#include "launch/figures/json_members.h"
#include "launch/lab/measured_beside.h"
#include "launch/lab/simulator_flags.h"
#include "launch/plan/candidate_plans.h"
#include "launch/plan/candidates_report.h"
#include "launch/plan/lab_page.h"
#include "launch/prediction/lab_run.h"

namespace rowhouse {
namespace {

using OrderedJson = nlohmann::ordered_json;

constexpr std::string_view kSimulateFlag = "simulate";

REGISTER_MEMBER(AddVerbFlag(
    {.name = kSimulateFlag,
     .verbs = kPlan,
     .help = "Simulates the run on a cluster of --ps PS nodes, --workers and --hosts: prints step "
             "time, and load, bytes and queues of each rank, with queues and waiting, which a sum "
             "of phases has not",
     .is_switch = true,
     .section = kLabSection}));

FigureTable TableOfPhases(const StepCost& predicted, const SimulatedRun& simulated) {
  FigureTable table{.title = "Phases",
                    .columns = {{.title = "phase"},
                                {.title = "ms, summed up", .text = FixedText<3>},
                                {.title = "ms, simulated", .text = FixedText<3>}}};
  ForEachPredictedPhase([&](const auto& phase) {
    table.rows.push_back(
        {phase.name, predicted.phases.*phase.value, simulated.phases.*phase.value});
  });
  table.rows.push_back({"step", predicted.ms, simulated.mean_step_ms});
  return table;
}

using Figure = double SimulatedRank::*;
struct NamedFigure {
  const char* title;
  NumberText text;
  Figure figure;
  double scale;
};
constexpr NamedFigure kFigures[] = {
    {"rows a step", FixedText<0>, &SimulatedRank::load, 1},
    {"MiB a step", FixedText<3>, &SimulatedRank::bytes, 1.0 / (1 << 20)},
    {"busy %", FixedText<1>, &SimulatedRank::busy_share, 100},
    {"longest queue", FixedText<0>, &SimulatedRank::longest_queue, 1},
    {"mean wait ms", FixedText<3>, &SimulatedRank::mean_wait_ms, 1}};

void AddRow(std::string name, const auto& figure_of, FigureTable* table) {
  FigureTable::Row& row = table->rows.emplace_back();
  row.emplace_back(std::move(name));
  for (const NamedFigure& figure : kFigures) {
    row.emplace_back(figure_of(figure.figure) * figure.scale);
  }
}

// Each rank; of more than `most` the largest and mean.
void AddRanks(const char* name, std::span<const SimulatedRank> ranks, size_t most,
              FigureTable* table) {
  if (ranks.size() <= most) {
    for (size_t r = 0; r < ranks.size(); ++r) {
      AddRow(
          fmt::format("{} {}", name, r), [&](Figure figure) { return ranks[r].*figure; }, table);
    }
    return;
  }
  const auto largest = [&](Figure figure) { return std::ranges::max(ranks, {}, figure).*figure; };
  const auto mean = [&](Figure figure) {
    double sum = 0;
    for (const SimulatedRank& rank : ranks) sum += rank.*figure;
    return sum / static_cast<double>(ranks.size());
  };
  AddRow(fmt::format("{}s, {}: max", name, ranks.size()), largest, table);
  AddRow(fmt::format("{}s, {}: mean", name, ranks.size()), mean, table);
}

FigureTable TableOfRanks(const SimulatedRun& simulated, size_t most) {
  FigureTable table{.title = "Ranks", .columns = {{.title = "rank"}}};
  for (const NamedFigure& figure : kFigures) {
    table.columns.push_back({.title = figure.title, .text = figure.text});
  }
  AddRanks("PS node", simulated.ps, most, &table);
  AddRanks("worker", simulated.workers, most, &table);
  return table;
}

OrderedJson RankToJson(const SimulatedRank& rank) {
  return MEMBERS_AS_JSON(rank, load, bytes, busy_share, longest_queue, mean_wait_ms);
}

// `predicted`: of the same run, without queues and waiting.
OrderedJson SimulationToJson(const LabRun& run, const SimulatorOptions& options,
                             const StepCost& predicted, const SimulatedRun& simulated) {
  OrderedJson json = {{"rowhouse_simulation", 1},
                      {"cluster", MEMBERS_AS_JSON(run.cluster, ps, shards_per_ps, workers, threads,
                                                  hosts, network_gbits, round_trip_us)},
                      {"calibration", run.machine.path},
                      {"samples", run.workload.step.samples}};
  json.update(MEMBERS_AS_JSON(options, steps, seed, jitter));
  json.update(MEMBERS_AS_JSON(simulated, median_step_ms, mean_step_ms, p95_step_ms,
                              samples_per_second, wire_bytes, events));
  json["summed_up_ms"] = predicted.ms;
  json["is_oversubscribed"] = predicted.is_oversubscribed;
  json["phases"] = PhasesToJson(simulated.phases);
  json["ps"] = ListAsJson(simulated.ps, RankToJson);
  json["workers"] = ListAsJson(simulated.workers, RankToJson);
  return json;
}

Figures SimulationFigures(const LabRun& run, const SimulatorOptions& options,
                          const CandidatePlan& plan, const SimulatedRun& simulated) {
  constexpr size_t kShownRanks = 16;
  Figures figures{
      .title = "Simulated run",
      .subtitle = fmt::format("{:.3f} ms a step at the median, {:.0f} samples a second",
                              simulated.median_step_ms, simulated.samples_per_second),
      .assumptions = {{"plan", plan.title}, {"simulation", SimulatorOptionsText(options)}},
      .json = SimulationToJson(run, options, plan.cost, simulated),
      .page = LabRunToJson(run)};
  figures.Say("{}simulation: {}; {} events\n\n", LabRunText(run), SimulatorOptionsText(options),
              simulated.events);
  figures.Say(
      "step: {:.3f} ms at the median, {:.3f} on average, 95 % take at most {:.3f}; {:.0f} "
      "samples/s, {} on the wire a step\n\n",
      simulated.median_step_ms, simulated.mean_step_ms, simulated.p95_step_ms,
      simulated.samples_per_second, BytesText(simulated.wire_bytes));
  figures.Add(TableOfPhases(plan.cost, simulated));
  figures.Append("\n");
  FigureTable shown = TableOfRanks(simulated, kShownRanks), all = TableOfRanks(simulated, SIZE_MAX);
  shown.max_page_rows = 0;
  all.max_text_rows = 0;
  figures.Add(std::move(shown));
  figures.Add(std::move(all));
  if (plan.cost.is_oversubscribed) {
    figures.Say("too few cores: about {:.0f} threads of a host want one at once\n",
                plan.cost.busy_threads);
  }
  return figures;
}

Status RunSimulate(const CommandLine& command_line, const Settings& settings) {
  ASSIGN_OR_RETURN(const SimulatorOptions options, SimulatorOptionsOf(command_line));
  ASSIGN_OR_RETURN(const LabRun run, LabRunOf(command_line, settings));
  ASSIGN_OR_RETURN(const CandidatePlan plan, MakeCandidate(run, ConfiguredName(settings)));
  if (!plan.refused.empty()) return UsageError("{}", plan.refused);
  ASSIGN_OR_RETURN(const SimulatedRun simulated,
                   Simulate(run.workload, plan.plan, run.cluster, run.machine.machine, options));
  Figures figures = SimulationFigures(run, options, plan, simulated);
  if (const std::string reports = command_line.Value("reports"); !reports.empty()) {
    ASSIGN_OR_RETURN(const MeasuredRun measured,
                     ReadMeasuredRun(reports, run.cluster, run.settings.tables));
    AddBeside(simulated, measured, &figures);
  }
  return DeliverLabFigures(command_line, figures);
}

REGISTER_MEMBER(AddPlanMode({.flag = std::string(kSimulateFlag), .run = RunSimulate}));

}  // namespace
}  // namespace rowhouse
