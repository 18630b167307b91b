// rowhouse plan --scaling: a run on 1 to 1,024 workers and 1 to 256 PS nodes, simulated.
#include "launch/lab/scaling.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <utility>

#include "common/counted.h"
#include "launch/command_line/plan_mode.h"
#include "launch/command_line/verb_flags.h"
#include "launch/figures/figure_text.h"
#include "launch/figures/json_members.h"
#include "launch/lab/simulator_flags.h"
#include "launch/plan/candidate_plans.h"
#include "launch/plan/candidates_report.h"
#include "launch/plan/lab_page.h"
#include "launch/prediction/auto_plan.h"
#include "launch/prediction/lab_run.h"
#include "launch/prediction/plan_of_run.h"
#include "launch/prediction/workload_of_run.h"
#include "launch/settings/strategy_settings.h"
#include "sharding/lab/traffic/step_traffic.h"

namespace rowhouse {

namespace {

// Plans of the points: by a strategy one for each number of PS nodes, by the planner one for each
// point, as it looks at workers, samples and network as well.
class PlansOfPoints {
 public:
  explicit PlansOfPoints(const LabRun& run) : run_(run) {}

  Status PlaceBefore(const std::vector<uint32_t>& ps) {
    if (PlansEachPoint(run_)) return OkStatus();
    if (const std::string& given = run_.settings.sharding.plan; !given.empty()) {
      return UsageError(
          "--plan={}: a plan is of one number of PS nodes, and --scaling simulates several; say "
          "--plan=auto, or --strategy=NAME",
          given);
    }
    for (const uint32_t nodes : ps) {
      ASSIGN_OR_RETURN(plans_[nodes],
                       PlanOf(run_.settings, nodes, run_.cluster.shards_per_ps, run_.counts()));
    }
    return OkStatus();
  }

  Result<Plan> For(const Workload& workload, const ClusterShape& cluster) const {
    if (const auto placed = plans_.find(cluster.ps); placed != plans_.end()) return placed->second;
    ASSIGN_OR_RETURN(PlannedRun planned,
                     AutoPlanOf(run_.settings, workload, cluster, run_.machine.machine));
    RETURN_IF_ERROR(CheckPlanOfRun(run_.settings, planned.plan, cluster.shards_per_ps));
    return std::move(planned.plan);
  }

 private:
  const LabRun& run_;
  std::map<uint32_t, Plan> plans_;  // by PS nodes
};

Result<ScalingPoint> Point(const LabRun& run, const ScalingOptions& options,
                           const PlansOfPoints& plans, ScalingPoint point) {
  Workload workload = run.workload;
  SetStep(point.samples, point.workers, &workload);
  // Curves of a trace are of steps as large as the config's.
  if (point.samples != run.workload.step.samples) workload.lru_miss_ratio.clear();
  ClusterShape cluster = run.cluster;
  cluster.round_trip_us = options.round_trip_us;
  cluster.network_gbits = point.network_gbits;
  cluster.hosts = point.hosts;
  cluster.ps = point.ps;
  cluster.workers = point.workers;
  cluster.threads = point.threads;
  const Machine& machine = run.machine.machine;
  ASSIGN_OR_RETURN(const Plan plan, plans.For(workload, cluster));
  ASSIGN_OR_RETURN(point.run, Simulate(workload, plan, cluster, machine, options.simulator));
  ASSIGN_OR_RETURN(point.predicted, PredictStep(workload, plan, cluster, machine));
  return point;
}

constexpr uint32_t kMaxWorkersOfHost = 64;

Status Annotated(const Status& status, const ScalingPoint& point) {
  return status.Annotate(fmt::format("{} PS and {} workers", point.ps, point.workers));
}

uint32_t CoresOf(const LabRun& run) {
  const uint32_t given = run.cluster.cores_per_host;
  return std::max(1u, given > 0 ? given : run.machine.machine.cores);
}

}  // namespace

bool PlansEachPoint(const LabRun& run) { return AsksForPlanner(run.settings.sharding.plan); }

Result<std::vector<ScalingPoint>> SweepScaling(const LabRun& run, const ScalingOptions& options) {
  PlansOfPoints plans(run);
  RETURN_IF_ERROR(plans.PlaceBefore(options.ps));
  std::vector<ScalingPoint> points;
  const uint64_t configured = run.workload.step.samples;
  for (const bool is_weak : {true, false}) {
    for (const double gbits : options.networks_gbits) {
      for (const uint32_t ps : options.ps) {
        for (const uint32_t workers : options.workers) {
          if (!is_weak && configured < workers) continue;
          const uint64_t samples = is_weak ? options.samples_per_worker * workers : configured;
          const ScalingPoint asked = {.is_weak = is_weak,
                                      .network_gbits = gbits,
                                      .hosts = ps + workers,
                                      .ps = ps,
                                      .workers = workers,
                                      .threads = run.cluster.threads,
                                      .samples = samples};
          Result<ScalingPoint> point = Point(run, options, plans, asked);
          if (!point.ok()) return Annotated(point.status(), asked);
          points.push_back(std::move(point).value());
        }
      }
    }
  }
  return points;
}

Result<std::vector<ScalingPoint>> SweepHosts(const LabRun& run, const ScalingOptions& options) {
  PlansOfPoints plans(run);
  RETURN_IF_ERROR(plans.PlaceBefore(options.hosts));
  std::vector<ScalingPoint> points;
  for (const double gbits : options.networks_gbits) {
    for (const uint32_t hosts : options.hosts) {
      std::optional<ScalingPoint> best;
      for (uint32_t of_host = 1; of_host <= std::min(CoresOf(run), kMaxWorkersOfHost);
           of_host *= 2) {
        const ScalingPoint asked = {.network_gbits = gbits,
                                    .hosts = hosts,
                                    .ps = hosts,
                                    .workers = hosts * of_host,
                                    .threads = CoresOf(run) / of_host,
                                    .samples = run.workload.step.samples};
        if (asked.workers > asked.samples) break;
        Result<ScalingPoint> point = Point(run, options, plans, asked);
        if (!point.ok()) return Annotated(point.status(), asked);
        if (best && best->run.mean_step_ms <= point.value().run.mean_step_ms) continue;
        best = std::move(point).value();
      }
      if (best) points.push_back(*std::move(best));
    }
  }
  return points;
}

// ---- The verb -----------------------------------------------------------------------------------

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
                 "--samples_per_worker (weak). Then the batch of the config on 1, 4 and 16 "
                 "hosts that each have a PS node and workers (--cores_per_host)",
         .is_switch = true,
         .section = kLabSection}) &&
    AddLabFlag("samples_per_worker", "Of a step, where --scaling gives every worker equally many",
               "2048") &&
    AddPlanOption("samples_per_worker", {std::string(kScalingFlag)}));

Result<ScalingOptions> ScalingOptionsOf(const CommandLine& command_line, const LabRun& run) {
  ScalingOptions options{
      .ps = {1, 4, 16, 64, 256}, .hosts = {1, 4, 16}, .networks_gbits = {25, 100}};
  for (uint32_t workers = 1; workers <= 1024; workers *= 2) options.workers.push_back(workers);
  if (run.cluster.network_gbits > 0) options.networks_gbits = {run.cluster.network_gbits};
  if (run.cluster.round_trip_us > 0) options.round_trip_us = run.cluster.round_trip_us;
  RETURN_IF_ERROR(ReadFlag(command_line, "samples_per_worker",
                           WholeValue<uint64_t>(1, 1'000'000'000), &options.samples_per_worker));
  ASSIGN_OR_RETURN(options.simulator, SimulatorOptionsOf(command_line, {.steps = 20}));
  return options;
}

std::string NameOf(bool is_weak) { return is_weak ? "weak" : "strong"; }

std::string PointsTitle(const LabRun& run, const ScalingOptions& options, bool is_weak,
                        double gbits) {
  return fmt::format("Samples a second, {} scaling, {} samples {}, {:g} Gbit/s", NameOf(is_weak),
                     is_weak ? options.samples_per_worker : run.workload.step.samples,
                     is_weak ? "a worker" : "a step", gbits);
}

// Samples a second: a line for each number of workers, a column for each of PS nodes.
FigureTable ScalingTable(const LabRun& run, std::span<const ScalingPoint> points,
                         const ScalingOptions& options, bool is_weak, double gbits) {
  FigureTable table{.title = PointsTitle(run, options, is_weak, gbits),
                    .columns = {{.title = "workers", .text = FixedText<0>}}};
  for (const uint32_t ps : options.ps) {
    table.columns.push_back({.title = fmt::format("{} PS", ps), .text = FixedText<0>});
  }
  for (const uint32_t workers : options.workers) {
    FigureTable::Row row = {workers};
    for (const ScalingPoint& point : points) {
      if (point.is_weak == is_weak && point.network_gbits == gbits && point.workers == workers) {
        row.emplace_back(point.run.samples_per_second);
      }
    }
    if (row.size() == table.columns.size()) table.rows.push_back(std::move(row));
  }
  return table;
}

// What a step takes longest for.
std::string_view LimitText(Bound bound) {
  constexpr std::array<std::string_view, 8> kTexts = {// in the order of Bound
                                                      "workers' own computing",
                                                      "pulls of rows",
                                                      "pushes of gradients",
                                                      "rows read from disk",
                                                      "the network",
                                                      "dense gradients summed over workers",
                                                      "reading samples",
                                                      "messages, whatever is in them"};
  return kTexts[static_cast<size_t>(bound)];
}

// What keeps a step from linear scaling most: of `times` as many hosts, the group of phases that
// takes longest beyond a `times`-th of its time `of_one`.
std::string_view LossText(const StepPhases& of_one, const StepPhases& phases, double times) {
  constexpr std::array<std::pair<PhaseGroup, std::string_view>, 6> kGroups = {
      {{PhaseGroup::kReading, "reading samples"},
       {PhaseGroup::kRows, "merging and pooling rows"},
       {PhaseGroup::kDense, "layers and interactions"},
       {PhaseGroup::kUpdate, "updating dense parameters"},
       {PhaseGroup::kExchange, "pulls and pushes"},
       {PhaseGroup::kAllreduce, "dense gradients summed over workers"}}};
  return std::ranges::max_element(kGroups, {},
                                  [&](const auto& group) {
                                    return phases.SumOf({group.first}) -
                                           of_one.SumOf({group.first}) / times;
                                  })
      ->second;
}

constexpr std::string_view kAnchor =
    "\nfor comparison: 65 % of linear at 4 hosts (DLRM on four nodes of Cooper Lake, Intel in "
    "MLPerf "
    "Training v0.7)\n";

// What more hosts of a kind bring.
void AddHosts(const LabRun& run, double gbits, std::span<const ScalingPoint> points,
              Figures* figures) {
  FigureTable table{
      .title = fmt::format("Hosts of {} with a PS node and workers each, {} samples a step, {:g} "
                           "Gbit/s",
                           Counted(CoresOf(run), "core"), run.workload.step.samples, gbits),
      .columns = {{.title = "hosts", .text = FixedText<0>},
                  {.title = "on each host"},
                  {.title = "ms a step", .text = FixedText<2>},
                  {.title = "samples a second", .text = CountText},
                  {.title = "of linear", .text = PercentText},
                  {.title = "most of a step is"},
                  {.title = "kept from linear most by"}}};
  const ScalingPoint* first = nullptr;  // with the fewest hosts
  for (const ScalingPoint& point : points) {
    if (point.network_gbits != gbits) continue;
    if (first == nullptr) first = &point;
    const double times = static_cast<double>(point.hosts) / first->hosts;
    OrderedJson loss;
    if (&point != first) loss = LossText(first->run.phases, point.run.phases, times);
    table.rows.push_back({point.hosts,
                          fmt::format("{}, {} of {}", Counted(run.cluster.shards_per_ps, "shard"),
                                      Counted(point.workers / point.hosts, "worker"),
                                      Counted(point.threads, "thread")),
                          point.run.mean_step_ms, point.run.samples_per_second,
                          first->run.mean_step_ms / (times * point.run.mean_step_ms),
                          LimitText(point.predicted.bound), std::move(loss)});
  }
  figures->Say("\n{}:\n\n", table.title);
  figures->Add(std::move(table));
}

std::string ClustersText(const LabRun& run, const ScalingOptions& options) {
  return fmt::format(
      "{} to {} PS nodes of {}, {} to {} workers of {}, each on a host of its own of {}, {:g} us "
      "round trip",
      options.ps.front(), options.ps.back(), Counted(run.cluster.shards_per_ps, "shard"),
      options.workers.front(), options.workers.back(), Counted(run.cluster.threads, "thread"),
      Counted(CoresOf(run), "core"), options.round_trip_us);
}

// What holds at every point: what it is of, and what is taken for it.
std::vector<std::pair<std::string, std::string>> Assumptions(const LabRun& run,
                                                             const ScalingOptions& options) {
  std::vector<std::pair<std::string, std::string>> list = {
      {"simulation", SimulatorOptionsText(options.simulator)},
      {"plans", PlansEachPoint(run) ? "the planner's, for the cluster and the batch of each point"
                                    : ConfiguredName(run.settings)}};
  if (!run.workload.lru_miss_ratio.empty()) {
    list.emplace_back("the trace",
                      "as many lookups a sample, and spread as there, at every point; hit rates of "
                      "weak scaling by that spread, of strong scaling by the curves of the trace");
  }
  return list;
}

OrderedJson PointToJson(const ScalingPoint& point) {
  return {{"scaling", NameOf(point.is_weak)},
          {"network_gbits", point.network_gbits},
          {"hosts", point.hosts},
          {"ps", point.ps},
          {"workers", point.workers},
          {"threads", point.threads},
          {"samples", point.samples},
          {"median_step_ms", point.run.median_step_ms},
          {"samples_per_second", point.run.samples_per_second},
          {"summed_up_ms", point.predicted.ms},
          {"bound", BoundName(point.predicted.bound)},
          {"phases", PhasesToJson(point.run.phases)}};
}

OrderedJson ScalingToJson(const LabRun& run, const ScalingOptions& options,
                          std::span<const ScalingPoint> points,
                          std::span<const ScalingPoint> of_hosts) {
  return {{"rowhouse_scaling", 1},
          {"lookups", run.ids},
          {"plan", ConfiguredName(run.settings)},
          {"round_trip_us", options.round_trip_us},
          {"steps", options.simulator.steps},
          {"jitter", options.simulator.jitter},
          {"points", ListAsJson(points, PointToJson)},
          {"hosts", ListAsJson(of_hosts, PointToJson)}};
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

Figures ScalingFigures(const LabRun& run, const ScalingOptions& options,
                       std::span<const ScalingPoint> points,
                       std::span<const ScalingPoint> of_hosts) {
  Figures figures{.title = "Scaling",
                  .subtitle = ClustersText(run, options),
                  .assumptions = Assumptions(run, options),
                  .json = ScalingToJson(run, options, points, of_hosts),
                  .page = LabRunToJson(run)};
  figures.page.erase("cluster");  // Points have clusters of their own.
  figures.page["curves"] = OrderedJson::array();
  figures.Say("clusters: {}\n{}", figures.subtitle, LabRunNotes(run));
  for (const auto& [name, what] : figures.assumptions) figures.Say("{}: {}\n", name, what);
  for (const bool is_weak : {true, false}) {
    for (const double gbits : options.networks_gbits) {
      figures.page["curves"].push_back(ScalingCurve(options, points, is_weak, gbits));
      figures.Say("\n{}:\n\n", PointsTitle(run, options, is_weak, gbits));
      figures.Add(ScalingTable(run, points, options, is_weak, gbits));
    }
  }
  for (const double gbits : options.networks_gbits) {
    AddHosts(run, gbits, of_hosts, &figures);
  }
  figures.Say("{}", kAnchor);
  return figures;
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
  ASSIGN_OR_RETURN(const std::vector<ScalingPoint> of_hosts, SweepHosts(run, options));
  return DeliverLabFigures(command_line, ScalingFigures(run, options, points, of_hosts));
}

REGISTER_MEMBER(AddPlanMode({.flag = std::string(kScalingFlag), .run = RunScaling}));

}  // namespace
}  // namespace rowhouse
