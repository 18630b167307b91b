// rowhouse plan --scaling: a run on 1 to 1,024 workers and 1 to 256 PS nodes, simulated.
#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <span>

#include "common/counted.h"
#include "common/json_text.h"
#include "launch/command_line/plan_mode.h"
#include "launch/command_line/verb_flags.h"
#include "launch/figures/json_output.h"
#include "launch/figures/text_table.h"
#include "launch/lab/scaling_sweep.h"
#include "launch/lab/simulator_flags.h"
#include "launch/plan/candidate_plans.h"
#include "launch/plan/candidates_report.h"
#include "launch/plan/lab_page.h"
#include "launch/prediction/workload_of_run.h"
#include "launch/settings/strategy_settings.h"

namespace rowhouse {
namespace {

using OrderedJson = nlohmann::ordered_json;

constexpr std::string_view kScalingFlag = "scaling";

REGISTER_MEMBER(
    AddVerbFlag(
        {.name = kScalingFlag,
         .verbs = kPlan,
         .help = "Simulates the run on 1 to 1,024 workers and 1 to 256 PS nodes, each on a "
                 "host of its own, at 25 and 100 Gbit/s (--network_gbits: at that): samples "
                 "a second with the batch of the config (strong) and with "
                 "--samples_per_worker (weak)",
         .is_switch = true,
         .section = kLabSection}) &&
    AddVerbFlag({.name = "samples_per_worker",
                 .verbs = kPlan,
                 .help = "Of a step, where --scaling gives every worker equally many",
                 .default_text = "2048",
                 .section = kLabSection}) &&
    AddPlanOption("samples_per_worker", {std::string(kScalingFlag)}));

Result<ScalingOptions> ScalingOptionsOf(const CommandLine& command_line, const LabRun& run) {
  ScalingOptions options{.ps = {1, 4, 16, 64, 256}, .networks_gbits = {25, 100}};
  for (uint32_t workers = 1; workers <= 1024; workers *= 2) options.workers.push_back(workers);
  if (run.cluster.network_gbits > 0) options.networks_gbits = {run.cluster.network_gbits};
  if (run.cluster.round_trip_us > 0) options.round_trip_us = run.cluster.round_trip_us;
  RETURN_IF_ERROR(ReadFlag(command_line, "samples_per_worker",
                           WholeValue<uint64_t>(1, 1'000'000'000), &options.samples_per_worker));
  ASSIGN_OR_RETURN(options.simulator, SimulatorOptionsOf(command_line, {.steps = 20}));
  return options;
}

std::string NameOf(bool is_weak) { return is_weak ? "weak" : "strong"; }

// Samples a second: a line for each number of workers, a column for each of PS nodes.
TextTable ScalingTable(std::span<const ScalingPoint> points, const ScalingOptions& options,
                       bool is_weak, double gbits) {
  TextTable table = {.columns = {{.name = "workers", .is_number = true}}, .rows = {}};
  for (const uint32_t ps : options.ps) {
    table.columns.push_back({.name = fmt::format("{} PS", ps), .is_number = true});
  }
  for (const uint32_t workers : options.workers) {
    std::vector<std::string> row = {std::to_string(workers)};
    for (const ScalingPoint& point : points) {
      if (point.is_weak == is_weak && point.network_gbits == gbits && point.workers == workers) {
        row.push_back(fmt::format("{:.0f}", point.run.samples_per_second));
      }
    }
    if (row.size() == table.columns.size()) table.rows.push_back(std::move(row));
  }
  return table;
}

std::string PointsTitle(const LabRun& run, const ScalingOptions& options, bool is_weak,
                        double gbits) {
  return fmt::format("Samples a second, {} scaling, {} samples {}, {:g} Gbit/s", NameOf(is_weak),
                     is_weak ? options.samples_per_worker : run.workload.step.samples,
                     is_weak ? "a worker" : "a step", gbits);
}

std::string ClustersText(const LabRun& run, const ScalingOptions& options) {
  const uint32_t cores = run.cluster.cores_per_host;
  return fmt::format(
      "{} to {} PS nodes of {}, {} to {} workers of {}, each on a host of its own of {}, {:g} us "
      "round trip",
      options.ps.front(), options.ps.back(), Counted(run.cluster.shards_per_ps, "shard"),
      options.workers.front(), options.workers.back(), Counted(run.cluster.threads, "thread"),
      Counted(cores > 0 ? cores : run.machine.machine.cores, "core"), options.round_trip_us);
}

// What holds at every point: what it is of, and what is taken for it.
std::vector<std::pair<std::string, std::string>> Assumptions(const LabRun& run,
                                                             const ScalingOptions& options) {
  std::vector<std::pair<std::string, std::string>> list = {
      {"simulation", SimulatorOptionsText(options.simulator)},
      {"plans", IsPlannedAnew(run) ? "the planner's, for the cluster and the batch of each point"
                                   : ConfiguredName(run.settings)}};
  if (!run.workload.lru_miss_ratio.empty()) {
    list.emplace_back("the trace",
                      "as many lookups a sample, and spread as there, at every point; hit rates of "
                      "weak scaling by that spread, of strong scaling by the curves of the trace");
  }
  return list;
}

std::string ScalingText(const LabRun& run, const ScalingOptions& options,
                        std::span<const ScalingPoint> points) {
  std::string text = fmt::format("clusters: {}\n", ClustersText(run, options));
  text += LabRunNotes(run);
  for (const auto& [name, what] : Assumptions(run, options)) {
    text += fmt::format("{}: {}\n", name, what);
  }
  for (const bool is_weak : {true, false}) {
    for (const double gbits : options.networks_gbits) {
      text += fmt::format("\n{}:\n\n{}", PointsTitle(run, options, is_weak, gbits),
                          TableAsText(ScalingTable(points, options, is_weak, gbits)));
    }
  }
  return text;
}

OrderedJson ScalingToJson(const LabRun& run, const ScalingOptions& options,
                          std::span<const ScalingPoint> points) {
  OrderedJson json = {{"rowhouse_scaling", 1},
                      {"lookups", run.ids},
                      {"plan", ConfiguredName(run.settings)},
                      {"round_trip_us", options.round_trip_us},
                      {"steps", options.simulator.steps},
                      {"jitter", options.simulator.jitter},
                      {"points", OrderedJson::array()}};
  for (const ScalingPoint& point : points) {
    json["points"].push_back({{"scaling", NameOf(point.is_weak)},
                              {"network_gbits", point.network_gbits},
                              {"ps", point.ps},
                              {"workers", point.workers},
                              {"samples", point.samples},
                              {"median_step_ms", point.run.median_step_ms},
                              {"samples_per_second", point.run.samples_per_second},
                              {"summed_up_ms", point.predicted.ms},
                              {"bound", BoundName(point.predicted.bound)}});
  }
  return json;
}

// For --html, as lab_page.h says: samples a second over workers, a line for each number of PS
// nodes.
OrderedJson ScalingCurve(const ScalingOptions& options, std::span<const ScalingPoint> points,
                         bool is_weak, double gbits) {
  OrderedJson series = OrderedJson::array();
  double best_alone = 0;  // of one worker, with the best number of PS nodes
  for (const uint32_t ps : options.ps) {
    OrderedJson line = OrderedJson::array();
    for (const ScalingPoint& point : points) {
      if (point.is_weak != is_weak || point.network_gbits != gbits || point.ps != ps) continue;
      line.push_back({point.workers, point.run.samples_per_second});
      if (point.workers == 1) best_alone = std::max(best_alone, point.run.samples_per_second);
    }
    series.push_back({{"name", Counted(ps, "PS node")}, {"points", std::move(line)}});
  }
  // As if nothing delayed more workers.
  if (is_weak) {
    OrderedJson line = OrderedJson::array();
    for (const uint32_t workers : options.workers) line.push_back({workers, best_alone * workers});
    series.push_back({{"name", "n times one worker"}, {"points", std::move(line)}});
  }
  return {{"title", fmt::format("{} scaling, {:g} Gbit/s", NameOf(is_weak), gbits)},
          {"note", ""},
          {"x", "workers, logarithmic"},
          {"y", "samples a second, logarithmic"},
          {"x_is", "count"},
          {"y_is", "count"},
          {"is_log", true},
          {"series", std::move(series)}};
}

OrderedJson ScalingPage(const LabRun& run, const ScalingOptions& options,
                        std::span<const ScalingPoint> points) {
  OrderedJson page = {{"title", "Scaling"},
                      {"subtitle", ClustersText(run, options)},
                      {"assumptions", Assumptions(run, options)},
                      {"curves", OrderedJson::array()},
                      {"grids", OrderedJson::array()}};
  page.update(LabRunToJson(run));
  page.erase("cluster");  // Points have clusters of their own.
  for (const bool is_weak : {true, false}) {
    for (const double gbits : options.networks_gbits) {
      page["curves"].push_back(ScalingCurve(options, points, is_weak, gbits));
      page["grids"].push_back(PageGrid(PointsTitle(run, options, is_weak, gbits), "",
                                       ScalingTable(points, options, is_weak, gbits)));
    }
  }
  return page;
}

// Before the simulations, which take a while.
Status CheckFlags(const CommandLine& command_line) {
  RETURN_IF_ERROR(CheckLabPage(command_line));
  for (const char* const flag : {"workers", "hosts"}) {
    const std::string value = command_line.Value(flag);
    if (value.empty()) continue;
    return UsageError(
        "--{}={} has no effect on --scaling, which goes through clusters of all sizes; leave it "
        "out, or say --simulate for one cluster",
        flag, value);
  }
  return OkStatus();
}

Status RunScaling(const CommandLine& command_line, const Settings& settings) {
  RETURN_IF_ERROR(CheckFlags(command_line));
  ASSIGN_OR_RETURN(const LabRun run, LabRunOf(command_line, settings));
  ASSIGN_OR_RETURN(const ScalingOptions options, ScalingOptionsOf(command_line, run));
  if (AsksForPlanner(run.settings.sharding.plan)) {
    fmt::print(stderr, "--scaling: a plan is looked for in each cluster, which takes a minute\n");
  }
  ASSIGN_OR_RETURN(const std::vector<ScalingPoint> points, SweepScaling(run, options));
  const OrderedJson json = ScalingToJson(run, options, points);
  RETURN_IF_ERROR(DeliverFigures(command_line.Value(kJsonFlag), DumpJson(json, 2) + "\n",
                                 ScalingText(run, options, points)));
  return WriteLabPage(command_line, ScalingPage(run, options, points));
}

REGISTER_MEMBER(AddPlanMode({.flag = std::string(kScalingFlag), .run = RunScaling}));

}  // namespace
}  // namespace rowhouse
