#include "launch/report/run_prediction.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "common/counted.h"
#include "common/median.h"
#include "common/wire/control.h"
#include "launch/figures/figure_text.h"
#include "launch/figures/json_members.h"
#include "launch/prediction/machine_of_run.h"
#include "launch/prediction/workload_of_run.h"
#include "launch/report/report.h"
#include "sharding/lab/traffic/step_traffic.h"

namespace rowhouse {

// ---- What was measured --------------------------------------------------------------------------

namespace {

using OrderedJson = nlohmann::ordered_json;

// A figure of a step.
struct PredictedFigure {
  double predicted = 0;
  std::optional<double> actual = {};
};

struct PredictedNode {
  std::string name;
  PredictedFigure rows_pulled, hit_rate, bytes, busy_ms;
};

// What a run's report says of a mean step, rank by rank, in the terms of the cost model.
class ActualSteps {
 public:
  // `report` outlives this.
  explicit ActualSteps(const RunReport& report)
      : report_(report),
        steps_(static_cast<double>(report.totals.steps - report.totals.first_step)) {}

  double steps() const { return steps_; }
  // NaN for a run without steps.
  double AStep(double of_run) const { return steps_ > 0 ? of_run / steps_ : NAN; }
  double RowsAStep(const ShardCounters& counters) const {
    return AStep(static_cast<double>(counters.pulled.total()));
  }

  ShardCounters OfAll() const { return Sum(0, report_.shards.size()); }

  // Of the PS nodes that are both predicted and measured. Bytes are those of frames between a node
  // and all workers, both ways; busy_ms the time of the threads of its shards and of its store,
  // from the first step to the last.
  std::vector<PredictedNode> Nodes(const StepCost& cost) const {
    const std::vector<RunReport::PsNode>& nodes = report_.sharding.ps_nodes;
    const size_t shards = nodes.empty() ? 0 : report_.shards.size() / nodes.size();
    std::vector<PredictedNode> figures;
    for (size_t n = 0; n < std::min(cost.ps.size(), nodes.size()); ++n) {
      const ShardCounters counted = Sum(n * shards, (n + 1) * shards);
      const RankCost& predicted = cost.ps[n];
      figures.push_back({.name = nodes[n].name,
                         .rows_pulled = {predicted.rows_pulled, RowsAStep(counted)},
                         .hit_rate = {predicted.hit_rate, HitRate(counted)},
                         .bytes = {predicted.bytes_in + predicted.bytes_out,
                                   AStep(static_cast<double>(nodes[n].wire_bytes))},
                         .busy_ms = {predicted.busy_ms, BusyMs(n * shards, (n + 1) * shards)}});
    }
    return figures;
  }

  // Milliseconds of each phase (kNamedStepPhases) in the median step of a worker. Means are of all
  // steps, and the first ones, in which memory is new, take much longer: in their pulls, as the
  // shards' memory is what is new. So the pull has what the other phases leave of the median step;
  // but if they leave less than nothing, or the pull is no longer than that on average, all phases
  // are scaled alike.
  std::vector<double> MedianPhases(const StepPhases& seconds,
                                   const std::optional<double>& median_ms) const {
    std::vector<double> ms;
    double sum = 0, pull = 0;
    for (const NamedStepPhase& phase : kNamedStepPhases) {
      ms.push_back(AStep(seconds.*phase.value * 1e3));
      sum += ms.back();
      if (phase.value == &StepPhases::pull) pull = ms.back();
    }
    const double median = median_ms.value_or(sum);
    const double left = median - (sum - pull);
    const bool is_of_pull = left > 0 && left < pull;
    for (size_t p = 0; p < ms.size(); ++p) {
      if (!is_of_pull) {
        ms[p] *= sum > 0 ? median / sum : 1;
      } else if (kNamedStepPhases[p].value == &StepPhases::pull) {
        ms[p] = left;
      }
    }
    return ms;
  }

  // Rows that were read ahead of their step are in memory when they are pulled, but no hits.
  // nullopt if no row was pulled.
  static std::optional<double> HitRate(const RowsPulled& pulled, uint64_t rows_read_ahead) {
    if (pulled.total() == 0) return std::nullopt;
    const auto hits = static_cast<double>(pulled.from_memory) -
                      static_cast<double>(std::min(pulled.from_memory, rows_read_ahead));
    return hits / static_cast<double>(pulled.total());
  }
  static std::optional<double> HitRate(const ShardCounters& shards) {
    return HitRate(shards.pulled, shards.rows_prefetched);
  }

 private:
  ShardCounters Sum(size_t first_shard, size_t end) const {
    ShardCounters sum;
    for (size_t s = first_shard; s < end; ++s) sum.Add(report_.shards[s].counters);
    return sum;
  }

  // nullopt if a shard did not say.
  std::optional<double> BusyMs(size_t first_shard, size_t end) const {
    uint64_t ns = 0;
    for (size_t s = first_shard; s < end; ++s) {
      const std::optional<ShardTimes>& times = report_.shards[s].training_times;
      if (!times) return std::nullopt;
      for (const uint64_t phase : times->shard) ns += phase;
      ns -= times->ns(ShardPhase::kWait);
      for (const StorePhase phase : {StorePhase::kRead, StorePhase::kWrite}) ns += times->ns(phase);
    }
    return AStep(static_cast<double>(ns) * 1e-6);
  }

  const RunReport& report_;
  const double steps_;
};

// ---- JSON ---------------------------------------------------------------------------------------

JSON_HAS_MEMBERS(PredictedFigure, predicted, actual);
JSON_HAS_MEMBERS(PredictedNode, name, rows_pulled, hit_rate, bytes, busy_ms);

OrderedJson PredictedPhases(const StepPhases& predicted, const std::vector<double>& measured) {
  OrderedJson json = OrderedJson::object();
  for (size_t p = 0; p < measured.size(); ++p) {
    const NamedStepPhase& phase = kNamedStepPhases[p];
    json[phase.name] = PredictedFigure{predicted.*phase.value, measured[p]};
  }
  return json;
}

OrderedJson PredictedTables(const RunReport& report, const StepCost& cost) {
  const ActualSteps actual(report);
  const bool reads_ahead = actual.OfAll().rows_prefetched > 0;  // which no table counts
  const std::vector<TableSpec>& tables = report.settings.embedding.physical;
  OrderedJson list = OrderedJson::array();
  for (const RunReport::TableLoad& load : report.table_loads) {
    const auto table = std::ranges::find(tables, load.name, &TableSpec::name);
    if (table == tables.end()) continue;
    const TableCost& predicted = cost.tables[Raw(table->id)];
    const double rows = actual.AStep(static_cast<double>(load.pulled.total()));
    const auto hits = reads_ahead ? std::nullopt : ActualSteps::HitRate(load.pulled, 0);
    list.push_back({{"name", load.name},
                    {"rows_pulled", PredictedFigure{predicted.rows_pulled, rows}},
                    {"hit_rate", PredictedFigure{predicted.hit_rate, hits}}});
  }
  return list;
}

}  // namespace

OrderedJson PredictionToJson(const RunReport& report) {
  if (!report.prediction) return nullptr;
  const RunPrediction& prediction = *report.prediction;
  const StepCost& cost = prediction.cost;
  const ActualSteps actual(report);
  const RunReport::Totals& totals = report.totals;
  // The model holds workers for alike.
  const auto of_worker = [&](const RunReport::Worker& worker) -> OrderedJson {
    return {{"name", worker.name},
            {"step_ms", PredictedFigure{cost.ms, worker.median_step_ms}},
            {"phases_ms", PredictedPhases(cost.phases, actual.MedianPhases(
                                                           worker.steps, worker.median_step_ms))}};
  };
  return {{"calibration", prediction.calibration.empty() ? OrderedJson(nullptr)
                                                         : OrderedJson(prediction.calibration)},
          {"warning", prediction.warning},
          {"ids", prediction.ids},
          {"steps", totals.steps - totals.first_step},
          {"bound", BoundName(cost.bound)},
          {"busy_threads", FigureOrNull(cost.busy_threads)},
          {"is_oversubscribed", cost.is_oversubscribed},
          {"step_ms", PredictedFigure{cost.ms, totals.median_step_ms}},
          {"wire_bytes_per_step", PredictedFigure{cost.wire_bytes, totals.wire_bytes_per_step}},
          {"hit_rate", PredictedFigure{cost.hit_rate, ActualSteps::HitRate(actual.OfAll())}},
          {"phases_ms", PredictedPhases(cost.phases, actual.MedianPhases(report.phases.steps,
                                                                         totals.median_step_ms))},
          {"workers", ListAsJson(report.workers, of_worker)},
          {"ps_nodes", actual.Nodes(cost)},
          {"tables", PredictedTables(report, cost)}};
}

// ---- Text ---------------------------------------------------------------------------------------

namespace {

// In fewer steps memory that is new is most of the time.
constexpr uint64_t kFewSteps = 10;

constexpr double kMiBOfByte = 1.0 / (1 << 20);

// "12.3 / 11.9 ms (+3 %)".
std::string Beside(const PredictedFigure& figure, const char* unit, double scale = 1) {
  const double predicted = figure.predicted * scale;
  if (!figure.actual || !(*figure.actual > 0)) return fmt::format("{:.4g} / - {}", predicted, unit);
  return fmt::format("{:.4g} / {:.4g} {} ({:+.0f} %)", predicted, *figure.actual * scale, unit,
                     100 * (figure.predicted / *figure.actual - 1));
}

// "98.0 / 97.9 %"; nobody knows of rows that were not pulled.
std::string HitsBeside(const PredictedFigure& rate) {
  if (!rate.actual) return "no rows pulled";
  return fmt::format("from memory {:.1f} / {:.1f} %", 100 * rate.predicted, 100 * *rate.actual);
}

// A figure of the ranks of one kind, a step.
struct RankFigure {
  const char* name = "";
  std::vector<double> predicted, actual;  // by rank; none of `actual`: not known
};

std::string Range(const std::vector<double>& values) {
  if (values.empty()) return "-";
  const auto [least, most] = std::ranges::minmax(values);
  return fmt::format("{:.4g}, {:.4g}, {:.4g}", least, MedianOf(values), most);
}

// "  64 workers, least, median and most:", and a line for each figure.
std::string RangesText(const std::string& ranks, const std::vector<RankFigure>& figures) {
  std::string text = fmt::format("  {}, least, median and most:\n", ranks);
  for (const RankFigure& figure : figures) {
    text +=
        fmt::format("    {} {} / {}\n", figure.name, Range(figure.predicted), Range(figure.actual));
  }
  return text;
}

std::string WorkersText(const RunReport& report, const StepCost& cost) {
  const ActualSteps actual(report);
  const auto phase_of = [&](const RunReport::Worker& worker, double StepPhases::*phase) {
    return actual.AStep(worker.steps.*phase * 1e3);
  };
  const size_t workers = report.workers.size();
  if (workers > kMaxShownRanks) {
    RankFigure step{.name = "ms a step", .predicted = std::vector<double>(workers, cost.ms)};
    RankFigure exchange{.name = "ms of it in the allreduce, with waiting",
                        .predicted = std::vector<double>(workers, cost.phases.allreduce)};
    for (const RunReport::Worker& worker : report.workers) {
      if (worker.median_step_ms) step.actual.push_back(*worker.median_step_ms);
      exchange.actual.push_back(phase_of(worker, &StepPhases::allreduce));
    }
    return RangesText(Counted(workers, "worker"), {step, exchange});
  }
  std::string text;
  for (const RunReport::Worker& worker : report.workers) {
    text +=
        fmt::format("  {}: step {}", worker.name, Beside({cost.ms, worker.median_step_ms}, "ms"));
    if (workers > 1) {
      text += fmt::format(", in the allreduce {:.3g} / {:.3g} ms", cost.phases.allreduce,
                          phase_of(worker, &StepPhases::allreduce));
    }
    text += "\n";
  }
  return text;
}

std::string NodesText(const std::vector<PredictedNode>& nodes) {
  if (nodes.size() <= kMaxShownRanks) {
    std::string text;
    for (const PredictedNode& node : nodes) {
      text +=
          fmt::format("  {}: {} / {} rows, {}, at work {}, {}\n", node.name,
                      CountText(node.rows_pulled.predicted), CountText(*node.rows_pulled.actual),
                      Beside(node.bytes, "MiB", kMiBOfByte), Beside(node.busy_ms, "ms"),
                      HitsBeside(node.hit_rate));
    }
    return text;
  }
  const auto of_nodes = [&](const char* name, PredictedFigure PredictedNode::*figure,
                            double scale = 1) {
    RankFigure ranks{.name = name};
    for (const PredictedNode& node : nodes) {
      ranks.predicted.push_back((node.*figure).predicted * scale);
      if ((node.*figure).actual) ranks.actual.push_back(*(node.*figure).actual * scale);
    }
    return ranks;
  };
  return RangesText(Counted(nodes.size(), "PS node"),
                    {of_nodes("rows a step", &PredictedNode::rows_pulled),
                     of_nodes("MiB a step", &PredictedNode::bytes, kMiBOfByte),
                     of_nodes("ms at work a step", &PredictedNode::busy_ms)});
}

}  // namespace

std::string PredictionText(const RunReport& report) {
  if (!report.prediction || !report.totals.median_step_ms) return "";
  const RunPrediction& prediction = *report.prediction;
  const StepCost& cost = prediction.cost;
  const ActualSteps actual(report);
  const ShardCounters counted = actual.OfAll();
  const PredictedFigure hit_rate{cost.hit_rate, ActualSteps::HitRate(counted)};
  std::string text =
      fmt::format("predicted / actual: step {}, {}, {} / {} rows a step\n",
                  Beside({cost.ms, report.totals.median_step_ms}, "ms"),
                  Beside({cost.wire_bytes, report.totals.wire_bytes_per_step}, "MiB", kMiBOfByte),
                  CountText(cost.workers[0].rows_pulled * report.environment.workers),
                  CountText(actual.RowsAStep(counted)));
  text += WorkersText(report, cost) + NodesText(actual.Nodes(cost));
  text += fmt::format("  {}; bound by {}; {}", HitsBeside(hit_rate), BoundName(cost.bound),
                      prediction.ids);
  if (cost.is_oversubscribed) text += "; more busy threads than cores";
  if (actual.steps() < kFewSteps) {
    text += fmt::format(
        "\n  only {}: the first steps of a run are slower, as their memory is new; the prediction "
        "leaves that out",
        Counted(static_cast<uint64_t>(actual.steps()), "step"));
  }
  if (!prediction.warning.empty()) text += "\n  " + prediction.warning;
  return text + "\n";
}

// ---- Predicting ---------------------------------------------------------------------------------

Result<RunPrediction> PredictRun(const Settings& settings, const Plan& plan,
                                 const RunToPredict& run) {
  RunPrediction prediction;
  ASSIGN_OR_RETURN(CalibratedMachine machine, MachineOf(settings.sharding.calibration));
  ASSIGN_OR_RETURN(Workload workload, WorkloadOf(settings, run.workers));
  workload.steps = run.steps;
  // The last step of an epoch may have fewer: sums of bytes and rows are those of mean steps.
  if (run.steps > 0 && run.samples > 0) {
    const uint64_t samples = std::max<uint64_t>(1, (run.samples + run.steps / 2) / run.steps);
    SetStep(samples, workload.step.workers, &workload);
  }
  workload.storage.has_rows = run.goes_on;
  ClusterShape cluster = ClusterOf(settings, run.ps, run.shards_per_ps, run.workers);
  cluster.hosts = run.hosts;
  cluster.cores_per_host = run.cores;
  ASSIGN_OR_RETURN(prediction.cost, PredictStep(workload, plan, cluster, machine.machine));
  prediction.calibration = std::move(machine.path);
  prediction.warning = std::move(machine.warning);
  if (run.hosts > 1) {  // The machine's network is its loopback.
    prediction.warning += fmt::format(
        "{}the network between {} hosts is taken to be as fast as the one inside this host",
        prediction.warning.empty() ? "" : "; ", run.hosts);
  }
  prediction.ids = IdsAreFrom(settings, /*has_trace=*/false);
  return prediction;
}

}  // namespace rowhouse
