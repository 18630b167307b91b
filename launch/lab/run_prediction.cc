#include "launch/lab/run_prediction.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "launch/lab/workload_of_run.h"
#include "launch/report/figure_text.h"
#include "launch/report/report.h"
#include "sharding/cost/named_phases.h"

namespace rowhouse {
namespace {

using Json = nlohmann::ordered_json;

Json Number(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

Json Pair(double predicted, const std::optional<double>& actual) {
  return {{"predicted", Number(predicted)}, {"actual", actual ? Number(*actual) : Json(nullptr)}};
}

// The report's counts, a step.
class Actual {
 public:
  explicit Actual(const RunReport& report)
      : report_(report),
        steps_(static_cast<double>(report.totals.steps - report.totals.first_step)) {}

  double AStep(double of_run) const { return steps_ > 0 ? of_run / steps_ : NAN; }

  // Of the shards of one PS node.
  ShardCounters OfNode(size_t node) const {
    const size_t shards = report_.shards.size() / report_.sharding.ps_nodes.size();
    ShardCounters sum;
    for (size_t s = node * shards; s < (node + 1) * shards; ++s) {
      sum.Add(report_.shards[s].counters);
    }
    return sum;
  }
  ShardCounters OfAll() const {
    ShardCounters sum;
    for (const RunReport::Shard& shard : report_.shards) sum.Add(shard.counters);
    return sum;
  }
  // Milliseconds of cores, a step, of the threads of the node's shards and of its store.
  double BusyMsOfNode(size_t node) const {
    const size_t shards = report_.shards.size() / report_.sharding.ps_nodes.size();
    uint64_t ns = 0;
    for (size_t s = node * shards; s < (node + 1) * shards; ++s) {
      const ShardTimes& times = report_.shards[s].times;
      for (const uint64_t phase : times.shard) ns += phase;
      ns -= times.ns(ShardPhase::kWait);
      for (const StorePhase phase : {StorePhase::kRead, StorePhase::kWrite}) ns += times.ns(phase);
    }
    return AStep(static_cast<double>(ns) * 1e-6);
  }
  // Rows that were read ahead of their step are in memory when they are pulled, but no hits.
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
  const RunReport& report_;
  const double steps_;
};

// Milliseconds of each phase in a median step. Means are of all steps, and the first ones, in which
// memory is new, take much longer: in their pulls, as the shards' memory is what is new. So the
// pull has what the other phases leave of the median step; but if they leave less than nothing, or
// the pull is no longer than that on average, all phases are scaled alike.
std::vector<double> MedianPhases(const RunReport& report) {
  const Actual actual(report);
  std::vector<double> ms;
  double sum = 0, pull = 0;
  for (const NamedStepPhase& phase : kNamedStepPhases) {
    ms.push_back(actual.AStep(report.phases.steps.*phase.value * 1e3));
    sum += ms.back();
    if (phase.value == &StepPhases::pull) pull = ms.back();
  }
  const double median = report.totals.median_step_ms.value_or(sum);
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

Json PhasesToJson(const RunReport& report, const PhaseCost& predicted) {
  const std::vector<double> measured = MedianPhases(report);
  Json json = Json::object();
  for (size_t p = 0; p < measured.size(); ++p) {
    const char* const name = kNamedStepPhases[p].name;
    json[name] = Pair(PhaseOf(predicted, name), measured[p]);
  }
  return json;
}

Json NodesToJson(const RunReport& report, const StepCost& cost) {
  const Actual actual(report);
  Json list = Json::array();
  for (size_t n = 0; n < std::min(cost.ps.size(), report.sharding.ps_nodes.size()); ++n) {
    const ShardCounters counted = actual.OfNode(n);
    const double pulled = actual.AStep(static_cast<double>(counted.pulled.total()));
    list.push_back({{"rows_pulled", Pair(cost.ps[n].rows_pulled, pulled)},
                    {"hit_rate", Pair(cost.ps[n].hit_rate, Actual::HitRate(counted))},
                    {"bytes", Pair(cost.ps[n].bytes_in + cost.ps[n].bytes_out, std::nullopt)},
                    {"busy_ms", Pair(cost.ps[n].busy_ms, actual.BusyMsOfNode(n))}});
  }
  return list;
}

Json TablesToJson(const RunReport& report, const StepCost& cost) {
  const Actual actual(report);
  const bool reads_ahead = actual.OfAll().rows_prefetched > 0;  // which no table counts
  const std::vector<TableSpec>& tables = report.settings.embedding.physical;
  Json list = Json::array();
  for (const RunReport::TableLoad& load : report.table_loads) {
    const auto table = std::ranges::find(tables, load.name, &TableSpec::name);
    if (table == tables.end()) continue;
    const TableCost& predicted = cost.tables[Raw(table->id)];
    list.push_back(
        {{"name", load.name},
         {"rows_pulled",
          Pair(predicted.rows_pulled, actual.AStep(static_cast<double>(load.pulled.total())))},
         {"hit_rate",
          Pair(predicted.hit_rate, reads_ahead ? std::nullopt : Actual::HitRate(load.pulled, 0))}});
  }
  return list;
}

// "12.3 / 11.9 ms (+3 %)".
std::string Beside(double predicted, double actual, const char* unit) {
  if (actual <= 0) return fmt::format("{:.4g} / - {}", predicted, unit);
  return fmt::format("{:.4g} / {:.4g} {} ({:+.0f} %)", predicted, actual, unit,
                     100 * (predicted / actual - 1));
}

}  // namespace

Result<RunPrediction> PredictRun(const Settings& settings, const Plan& plan,
                                 const RunToPredict& run) {
  RunPrediction prediction;
  ASSIGN_OR_RETURN(CalibratedMachine machine, MachineOf(settings.sharding.calibration));
  ASSIGN_OR_RETURN(Workload workload, WorkloadOf(settings, run.workers));
  workload.steps = run.steps;
  workload.storage.has_rows = run.goes_on;
  ClusterShape cluster = ClusterOf(settings, run.ps, run.shards_per_ps, run.workers);
  cluster.hosts = run.hosts;
  ASSIGN_OR_RETURN(prediction.cost, PredictStep(workload, plan, cluster, machine.machine));
  prediction.calibration = std::move(machine.path);
  prediction.warning = std::move(machine.warning);
  prediction.ids = IdsAreFrom(settings, /*has_trace=*/false);
  return prediction;
}

Json PredictionToJson(const RunReport& report) {
  if (!report.prediction) return nullptr;
  const RunPrediction& prediction = *report.prediction;
  const StepCost& cost = prediction.cost;
  const Actual actual(report);
  return {{"calibration",
           prediction.calibration.empty() ? Json(nullptr) : Json(prediction.calibration)},
          {"warning", prediction.warning},
          {"ids", prediction.ids},
          {"bound", std::string(BoundName(cost.bound))},
          {"busy_threads", Number(cost.busy_threads)},
          {"is_oversubscribed", cost.is_oversubscribed},
          {"step_ms", Pair(cost.ms, report.totals.median_step_ms)},
          {"wire_bytes_per_step", Pair(cost.wire_bytes, report.totals.wire_bytes_per_step)},
          {"hit_rate", Pair(cost.hit_rate, Actual::HitRate(actual.OfAll()))},
          {"phases_ms", PhasesToJson(report, cost.phases)},
          {"ps_nodes", NodesToJson(report, cost)},
          {"tables", TablesToJson(report, cost)}};
}

std::string PredictionText(const RunReport& report) {
  constexpr size_t kMaxNodesTold = 8;
  if (!report.prediction || !report.totals.median_step_ms) return "";
  const RunPrediction& prediction = *report.prediction;
  const StepCost& cost = prediction.cost;
  const Actual actual(report);
  const ShardCounters counted = actual.OfAll();
  std::string text = fmt::format(
      "predicted / actual: step {}, {}, {} / {} rows a step\n",
      Beside(cost.ms, *report.totals.median_step_ms, "ms"),
      Beside(cost.wire_bytes * 1e-6, report.totals.wire_bytes_per_step.value_or(0) * 1e-6, "MB"),
      CountText(cost.workers[0].rows_pulled * report.environment.workers),
      CountText(actual.AStep(static_cast<double>(counted.pulled.total()))));
  for (size_t n = 0; n < std::min(cost.ps.size(), kMaxNodesTold) && cost.ps.size() > 1; ++n) {
    const ShardCounters node = actual.OfNode(n);
    text += fmt::format("  PS node {}: {} / {} rows a step, from memory {:.1f} / {:.1f} %\n", n,
                        CountText(cost.ps[n].rows_pulled),
                        CountText(actual.AStep(static_cast<double>(node.pulled.total()))),
                        100 * cost.ps[n].hit_rate, 100 * Actual::HitRate(node).value_or(1.0));
  }
  text += fmt::format("  from memory {:.1f} / {:.1f} %; bound by {}; {}", 100 * cost.hit_rate,
                      100 * Actual::HitRate(counted).value_or(1.0), BoundName(cost.bound),
                      prediction.ids);
  if (cost.is_oversubscribed) text += "; more busy threads than cores";
  if (!prediction.warning.empty()) text += "\n  " + prediction.warning;
  return text + "\n";
}

}  // namespace rowhouse
