// rowhouse plan --simulate: the run as a simulation of it, step time and each rank.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <span>
#include <utility>
#include <vector>

#include "common/json_text.h"
#include "launch/command_line/plan_mode.h"
#include "launch/command_line/verb_flags.h"
#include "launch/figures/figure_text.h"
#include "launch/figures/json_output.h"
#include "launch/figures/text_table.h"
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

std::string Ms(double ms) { return fmt::format("{:.3f}", ms); }

TextTable TableOfPhases(const StepCost& predicted, const SimulatedRun& simulated) {
  TextTable table = {.columns = {{.name = "phase"},
                                 {.name = "ms, summed up", .is_number = true},
                                 {.name = "ms, simulated", .is_number = true}},
                     .rows = {}};
  ForEachPredictedPhase([&](const auto& phase) {
    table.rows.push_back(
        {phase.name, Ms(predicted.phases.*phase.value), Ms(simulated.phases.*phase.value)});
  });
  table.rows.push_back({"step", Ms(predicted.ms), Ms(simulated.mean_step_ms)});
  return table;
}

using Figure = double SimulatedRank::*;
struct NamedFigure {
  const char* name;
  Figure figure;
  double scale;
  int digits;
};
constexpr NamedFigure kFigures[] = {{"rows a step", &SimulatedRank::load, 1, 0},
                                    {"MiB a step", &SimulatedRank::bytes, 1.0 / (1 << 20), 3},
                                    {"busy %", &SimulatedRank::busy_share, 100, 1},
                                    {"longest queue", &SimulatedRank::longest_queue, 1, 0},
                                    {"mean wait ms", &SimulatedRank::mean_wait_ms, 1, 3}};

void AddRow(std::string name, const auto& figure_of, TextTable* table) {
  std::vector<std::string> row = {std::move(name)};
  for (const NamedFigure& figure : kFigures) {
    row.push_back(fmt::format("{:.{}f}", figure_of(figure.figure) * figure.scale, figure.digits));
  }
  table->rows.push_back(std::move(row));
}

// Each rank; of more than `most` the largest and mean.
void AddRanks(const char* name, std::span<const SimulatedRank> ranks, size_t most,
              TextTable* table) {
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

TextTable TableOfRanks(const SimulatedRun& simulated, size_t most) {
  TextTable table = {.columns = {{.name = "rank"}}, .rows = {}};
  for (const NamedFigure& figure : kFigures) {
    table.columns.push_back({.name = figure.name, .is_number = true});
  }
  AddRanks("PS node", simulated.ps, most, &table);
  AddRanks("worker", simulated.workers, most, &table);
  return table;
}

OrderedJson RanksToJson(std::span<const SimulatedRank> ranks) {
  OrderedJson list = OrderedJson::array();
  for (const SimulatedRank& rank : ranks) {
    list.push_back({{"load", rank.load},
                    {"bytes", rank.bytes},
                    {"busy_share", rank.busy_share},
                    {"longest_queue", rank.longest_queue},
                    {"mean_wait_ms", rank.mean_wait_ms}});
  }
  return list;
}

OrderedJson SimulatedPhases(const StepPhases& phases) {
  OrderedJson json;
  ForEachPredictedPhase([&](const auto& phase) { json[phase.name] = phases.*phase.value; });
  return json;
}

// `predicted`: of the same run, without queues and waiting.
std::string SimulationText(const LabRun& run, const SimulatorOptions& options,
                           const StepCost& predicted, const SimulatedRun& simulated) {
  constexpr size_t kShownRanks = 16;
  std::string text = LabRunText(run);
  text +=
      fmt::format("simulation: {}; {} events\n\n", SimulatorOptionsText(options), simulated.events);
  text += fmt::format(
      "step: {} ms at the median, {} on average, 95 % take at most {}; {:.0f} samples/s, {} "
      "on the wire a step\n\n",
      Ms(simulated.median_step_ms), Ms(simulated.mean_step_ms), Ms(simulated.p95_step_ms),
      simulated.samples_per_second, BytesText(simulated.wire_bytes));
  text += TableAsText(TableOfPhases(predicted, simulated)) + "\n" +
          TableAsText(TableOfRanks(simulated, kShownRanks));
  if (predicted.is_oversubscribed) {
    text += fmt::format("too few cores: about {:.0f} threads of a host want one at once\n",
                        predicted.busy_threads);
  }
  return text;
}

OrderedJson SimulationToJson(const LabRun& run, const SimulatorOptions& options,
                             const StepCost& predicted, const SimulatedRun& simulated) {
  const ClusterShape& cluster = run.cluster;
  return {{"rowhouse_simulation", 1},
          {"cluster",
           {{"ps", cluster.ps},
            {"shards_per_ps", cluster.shards_per_ps},
            {"workers", cluster.workers},
            {"threads", cluster.threads},
            {"hosts", cluster.hosts},
            {"network_gbits", cluster.network_gbits},
            {"round_trip_us", cluster.round_trip_us}}},
          {"calibration", run.machine.path},
          {"samples", run.workload.step.samples},
          {"steps", options.steps},
          {"seed", options.seed},
          {"jitter", options.jitter},
          {"median_step_ms", simulated.median_step_ms},
          {"mean_step_ms", simulated.mean_step_ms},
          {"p95_step_ms", simulated.p95_step_ms},
          {"samples_per_second", simulated.samples_per_second},
          {"wire_bytes", simulated.wire_bytes},
          {"summed_up_ms", predicted.ms},
          {"is_oversubscribed", predicted.is_oversubscribed},
          {"phases", SimulatedPhases(simulated.phases)},
          {"ps", RanksToJson(simulated.ps)},
          {"workers", RanksToJson(simulated.workers)},
          {"events", simulated.events}};
}

Status RunSimulate(const CommandLine& command_line, const Settings& settings) {
  ASSIGN_OR_RETURN(const SimulatorOptions options, SimulatorOptionsOf(command_line));
  ASSIGN_OR_RETURN(const LabRun run, LabRunOf(command_line, settings));
  ASSIGN_OR_RETURN(const CandidatePlan plan, MakeCandidate(run, ConfiguredName(settings)));
  if (!plan.refused.empty()) return UsageError("{}", plan.refused);
  ASSIGN_OR_RETURN(const SimulatedRun simulated,
                   Simulate(run.workload, plan.plan, run.cluster, run.machine.machine, options));
  OrderedJson json = SimulationToJson(run, options, plan.cost, simulated);
  std::string text = SimulationText(run, options, plan.cost, simulated);
  if (const std::string reports = command_line.Value("reports"); !reports.empty()) {
    ASSIGN_OR_RETURN(const MeasuredRun measured,
                     ReadMeasuredRun(reports, run.cluster, run.settings.tables));
    json["beside"] = BesideToJson(simulated, measured);
    text += BesideText(simulated, measured);
  }
  RETURN_IF_ERROR(DeliverFigures(command_line.Value(kJsonFlag), DumpJson(json, 2) + "\n", text));
  if (command_line.Value("html").empty()) return OkStatus();  // --reports is for the text, too
  const std::vector<std::pair<std::string, std::string>> assumptions = {
      {"plan", plan.title}, {"simulation", SimulatorOptionsText(options)}};
  OrderedJson page = {
      {"title", "Simulated run"},
      {"subtitle", fmt::format("{:.3f} ms a step at the median, {:.0f} samples a second",
                               simulated.median_step_ms, simulated.samples_per_second)},
      {"assumptions", assumptions},
      {"grids", OrderedJson::array({PageGrid("Phases", "", TableOfPhases(plan.cost, simulated)),
                                    PageGrid("Ranks", "", TableOfRanks(simulated, SIZE_MAX))})}};
  page.update(LabRunToJson(run));
  return WriteLabPage(command_line, std::move(page));
}

REGISTER_MEMBER(AddPlanMode({.flag = std::string(kSimulateFlag), .run = RunSimulate}));

}  // namespace
}  // namespace rowhouse
