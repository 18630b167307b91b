#include "launch/lab/simulation_report.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <span>
#include <utility>

#include "launch/lab/simulator_flags.h"
#include "launch/report/text_table.h"
#include "sharding/cost/named_phases.h"

namespace rowhouse {
namespace {

using OrderedJson = nlohmann::ordered_json;

constexpr size_t kShownRanks = 16;

std::string Ms(double ms) { return fmt::format("{:.3f}", ms); }

TextTable TableOfPhases(const StepCost& predicted, const SimulatedRun& simulated) {
  TextTable table = {.columns = {{.name = "phase"},
                                 {.name = "ms, summed up", .is_number = true},
                                 {.name = "ms, simulated", .is_number = true}},
                     .rows = {}};
  for (const auto& [name, phase] : kNamedPhaseCosts) {
    table.rows.push_back({name, Ms(predicted.phases.*phase), Ms(simulated.phases.*phase)});
  }
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
                                    {"MB a step", &SimulatedRank::bytes, 1e-6, 3},
                                    {"busy %", &SimulatedRank::busy_share, 100, 1},
                                    {"longest queue", &SimulatedRank::longest_queue, 1, 0},
                                    {"mean wait ms", &SimulatedRank::mean_wait_ms, 1, 3}};

void AddRow(TextTable* table, std::string name, const auto& figure_of) {
  std::vector<std::string> row = {std::move(name)};
  for (const NamedFigure& figure : kFigures) {
    row.push_back(fmt::format("{:.{}f}", figure_of(figure.figure) * figure.scale, figure.digits));
  }
  table->rows.push_back(std::move(row));
}

// Each rank, or the largest and mean of many.
void AddRanks(TextTable* table, const char* name, std::span<const SimulatedRank> ranks) {
  if (ranks.size() <= kShownRanks) {
    for (size_t r = 0; r < ranks.size(); ++r) {
      AddRow(table, fmt::format("{} {}", name, r), [&](Figure figure) { return ranks[r].*figure; });
    }
    return;
  }
  AddRow(table, fmt::format("{}s, {}: max", name, ranks.size()),
         [&](Figure figure) { return std::ranges::max(ranks, {}, figure).*figure; });
  AddRow(table, fmt::format("{}s, {}: mean", name, ranks.size()), [&](Figure figure) {
    double sum = 0;
    for (const SimulatedRank& rank : ranks) sum += rank.*figure;
    return sum / static_cast<double>(ranks.size());
  });
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

OrderedJson SimulatedPhases(const PhaseCost& phases) {
  OrderedJson json;
  for (const auto& [name, phase] : kNamedPhaseCosts) json[name] = phases.*phase;
  return json;
}

}  // namespace

std::string SimulationText(const LabRun& run, const SimulatorOptions& options,
                           const StepCost& predicted, const SimulatedRun& simulated) {
  TextTable ranks = {.columns = {{.name = "rank"}}, .rows = {}};
  for (const NamedFigure& figure : kFigures) {
    ranks.columns.push_back({.name = figure.name, .is_number = true});
  }
  AddRanks(&ranks, "PS node", simulated.ps);
  AddRanks(&ranks, "worker", simulated.workers);
  std::string text = LabRunText(run);
  text +=
      fmt::format("simulation: {}; {} events\n\n", SimulatorOptionsText(options), simulated.events);
  text += fmt::format(
      "step: {} ms at the median, {} on average, 95 % take at most {}; {:.0f} samples/s, {:.3f} MB "
      "on the wire a step\n\n",
      Ms(simulated.median_step_ms), Ms(simulated.mean_step_ms), Ms(simulated.p95_step_ms),
      simulated.samples_per_second, simulated.wire_bytes / 1e6);
  text += TableAsText(TableOfPhases(predicted, simulated)) + "\n" + TableAsText(ranks);
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
          {"straggler_share", options.straggler_share},
          {"straggler_factor", options.straggler_factor},
          {"staleness", options.staleness},
          {"overlaps", options.overlaps},
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

}  // namespace rowhouse
