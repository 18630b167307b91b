#include "launch/report/run_prediction.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "launch/prediction/machine_of_run.h"
#include "launch/prediction/workload_of_run.h"
#include "launch/report/actual_steps.h"
#include "launch/report/report.h"
#include "sharding/lab/traffic/step_traffic.h"

namespace rowhouse {
namespace {

using OrderedJson = nlohmann::ordered_json;

OrderedJson NumberOrNull(double value) {
  return std::isfinite(value) ? OrderedJson(value) : OrderedJson(nullptr);
}

OrderedJson Pair(double predicted, const std::optional<double>& actual) {
  return {{"predicted", NumberOrNull(predicted)},
          {"actual", actual ? NumberOrNull(*actual) : OrderedJson(nullptr)}};
}

OrderedJson PredictedPhases(const StepPhases& predicted, const std::vector<double>& measured) {
  OrderedJson json = OrderedJson::object();
  for (size_t p = 0; p < measured.size(); ++p) {
    const NamedStepPhase& phase = kNamedStepPhases[p];
    json[phase.name] = Pair(predicted.*phase.value, measured[p]);
  }
  return json;
}

// The model holds workers for alike.
OrderedJson PredictedWorkersToJson(const RunReport& report, const StepCost& cost) {
  const ActualSteps actual(report);
  OrderedJson list = OrderedJson::array();
  for (const RunReport::Worker& worker : report.workers) {
    list.push_back(
        {{"name", worker.name},
         {"step_ms", Pair(cost.ms, worker.median_step_ms)},
         {"phases_ms",
          PredictedPhases(cost.phases, actual.MedianPhases(worker.steps, worker.median_step_ms))}});
  }
  return list;
}

OrderedJson NodesToJson(const RunReport& report, const StepCost& cost) {
  const ActualSteps actual(report);
  const std::vector<RunReport::PsNode>& nodes = report.sharding.ps_nodes;
  OrderedJson list = OrderedJson::array();
  for (size_t n = 0; n < std::min(cost.ps.size(), nodes.size()); ++n) {
    const ShardCounters counted = actual.OfNode(n);
    const RankCost& predicted = cost.ps[n];
    list.push_back(
        {{"name", nodes[n].name},
         {"rows_pulled", Pair(predicted.rows_pulled, actual.RowsAStep(counted))},
         {"hit_rate", Pair(predicted.hit_rate, ActualSteps::HitRate(counted))},
         {"bytes", Pair(predicted.bytes_in + predicted.bytes_out, actual.WireBytesOfNode(n))},
         {"busy_ms", Pair(predicted.busy_ms, actual.BusyMsOfNode(n))}});
  }
  return list;
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
    list.push_back(
        {{"name", load.name},
         {"rows_pulled",
          Pair(predicted.rows_pulled, actual.AStep(static_cast<double>(load.pulled.total())))},
         {"hit_rate", Pair(predicted.hit_rate,
                           reads_ahead ? std::nullopt : ActualSteps::HitRate(load.pulled, 0))}});
  }
  return list;
}

// The machine's network is its loopback: a prediction over several hosts says so.
std::string HostsWarning(uint32_t hosts, std::string of_machine) {
  if (hosts <= 1) return of_machine;
  if (!of_machine.empty()) of_machine += "; ";
  return of_machine + fmt::format(
                          "the network between {} hosts is taken to be as fast as the one "
                          "inside this host",
                          hosts);
}

}  // namespace

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
  prediction.warning = HostsWarning(run.hosts, std::move(machine.warning));
  prediction.ids = IdsAreFrom(settings, /*has_trace=*/false);
  return prediction;
}

OrderedJson PredictionToJson(const RunReport& report) {
  if (!report.prediction) return nullptr;
  const RunPrediction& prediction = *report.prediction;
  const StepCost& cost = prediction.cost;
  const ActualSteps actual(report);
  return {{"calibration", prediction.calibration.empty() ? OrderedJson(nullptr)
                                                         : OrderedJson(prediction.calibration)},
          {"warning", prediction.warning},
          {"ids", prediction.ids},
          {"steps", report.totals.steps - report.totals.first_step},
          {"bound", std::string(BoundName(cost.bound))},
          {"busy_threads", NumberOrNull(cost.busy_threads)},
          {"is_oversubscribed", cost.is_oversubscribed},
          {"step_ms", Pair(cost.ms, report.totals.median_step_ms)},
          {"wire_bytes_per_step", Pair(cost.wire_bytes, report.totals.wire_bytes_per_step)},
          {"hit_rate", Pair(cost.hit_rate, ActualSteps::HitRate(actual.OfAll()))},
          {"phases_ms",
           PredictedPhases(cost.phases,
                           actual.MedianPhases(report.phases.steps, report.totals.median_step_ms))},
          {"workers", PredictedWorkersToJson(report, cost)},
          {"ps_nodes", NodesToJson(report, cost)},
          {"tables", PredictedTables(report, cost)}};
}

}  // namespace rowhouse
