// rowhouse plan --scaling: a run on 1 to 1,024 workers and 1 to 256 PS nodes, simulated; with --svg
// as pictures.
#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <span>

#include "common/counted.h"
#include "common/json_text.h"
#include "common/output_path.h"
#include "common/read_value.h"
#include "launch/lab/candidate_plans.h"
#include "launch/lab/lab_page.h"
#include "launch/lab/line_chart.h"
#include "launch/lab/scaling_sweep.h"
#include "launch/lab/simulator_flags.h"
#include "launch/plan/auto_plan.h"
#include "launch/plan/plan_mode.h"
#include "launch/report/json_output.h"
#include "launch/report/text_table.h"
#include "launch/settings/verb_flags.h"

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
    AddVerbFlag({.name = "svg",
                 .verbs = kPlan,
                 .help = "A folder: --scaling draws its pictures there, scaling_weak.svg and "
                         "scaling_strong.svg",
                 .section = kLabSection}) &&
    AddPlanOption("samples_per_worker", {std::string(kScalingFlag)}) &&
    AddPlanOption("svg", {std::string(kScalingFlag)}));

Result<ScalingOptions> ScalingOptionsOf(const CommandLine& command_line, const LabRun& run) {
  ScalingOptions options{.ps = {1, 4, 16, 64, 256}, .networks_gbits = {25, 100}};
  for (uint32_t workers = 1; workers <= 1024; workers *= 2) options.workers.push_back(workers);
  if (run.cluster.network_gbits > 0) options.networks_gbits = {run.cluster.network_gbits};
  if (run.cluster.round_trip_us > 0) options.round_trip_us = run.cluster.round_trip_us;
  if (const std::string text = command_line.Value("samples_per_worker"); !text.empty()) {
    const auto samples = ReadWhole(text);
    if (!samples || *samples < 1 || *samples > 1'000'000'000) {
      return UsageError("--samples_per_worker={}: expected a whole number from 1 to 1000000000",
                        text);
    }
    options.samples_per_worker = *samples;
  }
  ASSIGN_OR_RETURN(options.simulator, SimulatorOptionsOf(command_line, {.steps = 20}));
  return options;
}

std::string NameOf(bool is_weak) { return is_weak ? "weak" : "strong"; }

// Samples a second: a line for each number of workers, a column for each of PS nodes.
std::string ScalingTable(std::span<const ScalingPoint> points, const ScalingOptions& options,
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
  return TableAsText(table);
}

std::string ScalingText(const LabRun& run, const ScalingOptions& options,
                        std::span<const ScalingPoint> points) {
  const uint32_t cores = run.cluster.cores_per_host;
  std::string text = fmt::format(
      "clusters: {} to {} PS nodes of {}, {} to {} workers of {}, each on a host of its own of "
      "{}, {:g} us round trip\n",
      options.ps.front(), options.ps.back(), Counted(run.cluster.shards_per_ps, "shard"),
      options.workers.front(), options.workers.back(), Counted(run.cluster.threads, "thread"),
      Counted(cores > 0 ? cores : run.machine.machine.cores, "core"), options.round_trip_us);
  text += LabRunNotes(run);
  text += fmt::format("simulation: {}\n", SimulatorOptionsText(options.simulator));
  text +=
      fmt::format("plans: {}\n", IsPlannedAnew(run)
                                     ? "the planner's, for the cluster and the batch of each point"
                                     : ConfiguredName(run.settings));
  if (!run.workload.lru_miss_ratio.empty()) {
    text +=
        "the trace: as many lookups a sample, and spread as there, at every point; hit rates of "
        "weak scaling by that spread, of strong scaling by the curves of the trace\n";
  }
  for (const bool is_weak : {true, false}) {
    for (const double gbits : options.networks_gbits) {
      text += fmt::format("\nSamples a second, {} scaling, {} samples {}, {:g} Gbit/s:\n\n",
                          NameOf(is_weak),
                          is_weak ? options.samples_per_worker : run.workload.step.samples,
                          is_weak ? "a worker" : "a step", gbits);
      text += ScalingTable(points, options, is_weak, gbits);
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

LineChart::Line ScalingLine(std::span<const ScalingPoint> points, bool is_weak, double gbits,
                            uint32_t ps) {
  LineChart::Line line{.name = fmt::format("{} PS node{}", ps, ps == 1 ? "" : "s"), .points = {}};
  for (const ScalingPoint& point : points) {
    if (point.is_weak == is_weak && point.network_gbits == gbits && point.ps == ps) {
      line.points.emplace_back(point.workers, point.run.samples_per_second);
    }
  }
  return line;
}

std::vector<LineChart> ChartsOf(const ScalingOptions& options, std::span<const ScalingPoint> points,
                                bool is_weak) {
  std::vector<LineChart> charts;
  for (const double gbits : options.networks_gbits) {
    LineChart chart{.title = fmt::format("{} scaling, {:g} Gbit/s", NameOf(is_weak), gbits),
                    .x = "workers",
                    .y = "samples a second",
                    .lines = {}};
    for (const uint32_t ps : options.ps)
      chart.lines.push_back(ScalingLine(points, is_weak, gbits, ps));
    // As if nothing delayed more workers: of one worker, with the best number of PS nodes.
    if (is_weak) {
      double one = 0;
      for (const LineChart::Line& line : chart.lines) {
        one = std::max(one, line.points.front().second);
      }
      LineChart::Line ideal{.name = "n times one worker", .points = {}, .is_dashed = true};
      for (const uint32_t workers : options.workers) {
        ideal.points.emplace_back(workers, one * workers);
      }
      chart.lines.push_back(std::move(ideal));
    }
    charts.push_back(std::move(chart));
  }
  return charts;
}

// For --html, as lab_page.h says.
OrderedJson CurvesJson(const ScalingOptions& options, std::span<const ScalingPoint> points) {
  OrderedJson curves = OrderedJson::array();
  for (const bool is_weak : {true, false}) {
    for (const LineChart& chart : ChartsOf(options, points, is_weak)) {
      OrderedJson series = OrderedJson::array();
      for (const LineChart::Line& line : chart.lines) {
        OrderedJson of_line = OrderedJson::array();
        for (const auto& [x, y] : line.points) of_line.push_back(OrderedJson::array({x, y}));
        series.push_back({{"name", line.name}, {"points", std::move(of_line)}});
      }
      curves.push_back({{"title", chart.title},
                        {"note", ""},
                        {"x", chart.x},
                        {"y", chart.y},
                        {"x_is", "count"},
                        {"y_is", "count"},
                        {"series", std::move(series)}});
    }
  }
  return curves;
}

Status DrawPictures(const std::string& folder, const ScalingOptions& options,
                    std::span<const ScalingPoint> points) {
  for (const bool is_weak : {true, false}) {
    const std::string path = fmt::format("{}/scaling_{}.svg", folder, NameOf(is_weak));
    const Status written = WriteOutput(path, SvgOf(ChartsOf(options, points, is_weak)));
    if (written.code() == StatusCode::kNotFound) {
      return UsageError("--svg={}: {}", folder, written.message());
    }
    if (!written.ok()) return written.Annotate("--svg=" + folder);
  }
  return OkStatus();
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
  const std::string folder = command_line.Value("svg");
  if (folder.empty() || std::filesystem::is_directory(folder)) return OkStatus();
  return UsageError("--svg={}: there is no such folder", folder);
}

Status RunScaling(const CommandLine& command_line, const Settings& settings) {
  RETURN_IF_ERROR(CheckFlags(command_line));
  ASSIGN_OR_RETURN(const LabRun run, LabRunOf(command_line, settings));
  ASSIGN_OR_RETURN(const ScalingOptions options, ScalingOptionsOf(command_line, run));
  if (PlannerMethodOf(run.settings)) {
    fmt::print(stderr, "--scaling: a plan is looked for in each cluster, which takes a minute\n");
  }
  ASSIGN_OR_RETURN(const std::vector<ScalingPoint> points, SweepScaling(run, options));
  const OrderedJson json = ScalingToJson(run, options, points);
  if (const std::string folder = command_line.Value("svg"); !folder.empty()) {
    RETURN_IF_ERROR(DrawPictures(folder, options, points));
  }
  RETURN_IF_ERROR(DeliverFigures(command_line.Value(kJsonFlag), DumpJson(json, 2) + "\n",
                                 ScalingText(run, options, points)));
  return WriteLabPage(command_line,
                      {{"title", "Scaling"}, {"curves", CurvesJson(options, points)}});
}

REGISTER_MEMBER(AddPlanMode({.flag = std::string(kScalingFlag), .run = RunScaling}));

}  // namespace
}  // namespace rowhouse
