#include "launch/report/report.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "common/json_text.h"
#include "common/read_value.h"
#include "launch/command_line/version.h"
#include "launch/figures/page.h"
#include "launch/figures/report_file.h"
#include "launch/prediction/traffic_report.h"
#include "launch/settings/setting_fields.h"
#include "launch/settings/strategy_settings.h"
#include "sharding/tables/table_sizes.h"

namespace rowhouse {
namespace {

using OrderedJson = nlohmann::ordered_json;

// JSON has no NaN or infinity: null stands for them.
OrderedJson FiniteOrNull(double value) {
  return std::isfinite(value) ? OrderedJson(value) : OrderedJson(nullptr);
}
OrderedJson FiniteOrNull(const std::optional<double>& value) {
  return value ? FiniteOrNull(*value) : OrderedJson(nullptr);
}

OrderedJson NumberFromText(const std::string& text) {
  if (const auto whole = ReadWhole(text)) return *whole;
  if (const auto integer = ReadInteger(text)) return *integer;
  const auto real = ReadReal(text);
  CHECK(real.has_value()) << "a setting that is a number prints as \"" << text << "\"";
  return *real;
}

OrderedJson FieldToJson(const SettingField& field, const std::string& text) {
  OrderedJson list = OrderedJson::array();
  switch (field.kind) {
    case SettingKind::kBool:
      return text == "true";
    case SettingKind::kNumber:
      return NumberFromText(text);
    case SettingKind::kText:
      return text;
    case SettingKind::kNumberList:
      for (const std::string& item : SplitList(text)) list.push_back(NumberFromText(item));
      return list;
    case SettingKind::kTextList:
      for (const std::string& item : SplitAtCommas(text)) list.push_back(item);
      return list;
  }
  return nullptr;
}

OrderedJson TablesToJson(const std::vector<LogicalTable>& tables) {
  OrderedJson list = OrderedJson::array();
  for (const LogicalTable& table : tables) {
    list.push_back({{"name", table.name},
                    {"rows", table.rows},
                    {"dim", table.dim},
                    {"kind", table.kind},
                    {"optimizer", table.optimizer},
                    {"initialiser", table.initialiser}});
  }
  return list;
}

OrderedJson ModelBytesToJson(const Settings& settings) {
  const ModelSizes sizes = SizesOf(settings.embedding);
  return {{"rows", sizes.rows_and_projections()},
          {"state", sizes.bytes.state},
          {"plain_rows", sizes.plain_rows}};
}

OrderedJson EnvironmentToJson(const RunReport::Environment& environment) {
  return {{"hosts", environment.hosts},
          {"cores", environment.cores},
          {"workers", environment.workers},
          {"ps_nodes", environment.ps_nodes},
          {"shards", environment.shards},
          {"started_at", environment.started_at},
          {"command_line", environment.command_line}};
}

OrderedJson RunsToJson(const std::vector<RunReport::Run>& runs) {
  OrderedJson list = OrderedJson::array();
  for (const RunReport::Run& run : runs) {
    list.push_back({{"started_at", run.started_at},
                    {"first_step", run.first_step},
                    {"steps", run.steps},
                    {"samples", run.samples},
                    {"seconds", FiniteOrNull(run.seconds)},
                    {"data", run.data},
                    {"data_digest", run.data_digest}});
  }
  return list;
}

OrderedJson CurveToJson(const std::vector<RunReport::CurvePoint>& curve) {
  OrderedJson list = OrderedJson::array();
  for (const RunReport::CurvePoint& point : curve) {
    list.push_back({{"step", point.step},
                    {"epoch", point.epoch},
                    {"loss", FiniteOrNull(point.loss)},
                    {"accuracy", FiniteOrNull(point.accuracy)},
                    {"samples_per_second", FiniteOrNull(point.samples_per_second)},
                    {"learning_rate", FiniteOrNull(point.learning_rate)}});
  }
  return list;
}

OrderedJson EvaluationsToJson(const std::vector<RunReport::Evaluation>& evaluations) {
  OrderedJson list = OrderedJson::array();
  for (const RunReport::Evaluation& evaluation : evaluations) {
    list.push_back({{"step", evaluation.step},
                    {"samples", evaluation.samples},
                    {"auc", FiniteOrNull(evaluation.auc)},
                    {"logloss", FiniteOrNull(evaluation.logloss)},
                    {"accuracy", FiniteOrNull(evaluation.accuracy)},
                    {"data_digest", fmt::format("{:016x}", evaluation.data_digest)}});
  }
  return list;
}

OrderedJson TotalsToJson(const RunReport::Totals& totals) {
  return {{"first_step", totals.first_step},
          {"steps", totals.steps},
          {"samples", totals.samples},
          {"seconds", FiniteOrNull(totals.seconds)},
          {"samples_per_second", FiniteOrNull(totals.samples_per_second)},
          {"test_auc_ceiling", FiniteOrNull(totals.test_auc_ceiling)},
          {"was_stopped", totals.was_stopped},
          {"median_step_ms", FiniteOrNull(totals.median_step_ms)},
          {"wire_bytes_per_step", FiniteOrNull(totals.wire_bytes_per_step)}};
}

OrderedJson PhasesToJson(const RunReport::Phases& phases) {
  const StepPhases& steps = phases.steps;
  return {{"start_seconds", FiniteOrNull(phases.start)},
          {"data_seconds", FiniteOrNull(steps.data)},
          {"pull_seconds", FiniteOrNull(steps.pull)},
          {"compute_seconds", FiniteOrNull(steps.compute())},
          {"push_seconds", FiniteOrNull(steps.push)},
          {"exchange_seconds", FiniteOrNull(steps.allreduce)},
          {"test_seconds", FiniteOrNull(phases.test)},
          {"save_seconds", FiniteOrNull(phases.save)}};
}

OrderedJson StepPhasesToJson(const StepPhases& phases) {
  OrderedJson json = OrderedJson::object();
  for (const NamedStepPhase& phase : kNamedStepPhases) {
    json[phase.name] = FiniteOrNull(phases.*phase.value);
  }
  return json;
}

OrderedJson WorkersToJson(const std::vector<RunReport::Worker>& workers) {
  OrderedJson list = OrderedJson::array();
  for (const RunReport::Worker& worker : workers) {
    list.push_back({{"name", worker.name},
                    {"median_step_ms", FiniteOrNull(worker.median_step_ms)},
                    {"step_phases", StepPhasesToJson(worker.steps)}});
  }
  return list;
}

// Seconds by phase; nothing the shard did not tell.
OrderedJson ShardTimesToJson(const ShardTimes& times) {
  OrderedJson json = OrderedJson::object();
  for (size_t p = 0; p < kShardPhaseNames.size(); ++p) {
    json[kShardPhaseNames[p]] = FiniteOrNull(static_cast<double>(times.shard[p]) * 1e-9);
  }
  for (const StorePhase p : {StorePhase::kRead, StorePhase::kWrite, StorePhase::kOther}) {
    json[fmt::format("store_{}", kStorePhaseNames[static_cast<size_t>(p)])] =
        FiniteOrNull(static_cast<double>(times.ns(p)) * 1e-9);
  }
  return json;
}

OrderedJson CheckpointsToJson(const std::optional<RunReport::Checkpoints>& checkpoints) {
  if (!checkpoints) return nullptr;
  return {{"made", checkpoints->made},
          {"without_room", checkpoints->without_room},
          {"seconds", FiniteOrNull(checkpoints->seconds)},
          {"longest_seconds", FiniteOrNull(checkpoints->longest_seconds)},
          {"last_bytes", checkpoints->last_bytes}};
}

void AddPulled(const RowsPulled& pulled, OrderedJson* json) {
  (*json)["rows_pulled"] = pulled.total();
  (*json)["rows_from_memory"] = pulled.from_memory;
  (*json)["rows_first_touched"] = pulled.first_touched;
  (*json)["rows_from_store"] = pulled.from_store;
}

OrderedJson TableLoadsToJson(const std::vector<RunReport::TableLoad>& tables) {
  OrderedJson list = OrderedJson::array();
  for (const RunReport::TableLoad& table : tables) {
    OrderedJson json = {{"name", table.name}};
    AddPulled(table.pulled, &json);
    json["rows_pushed"] = table.rows_pushed;
    list.push_back(std::move(json));
  }
  return list;
}

OrderedJson VersionsToJson() {
  OrderedJson json = OrderedJson::object();
  for (const auto& [name, version] : Versions()) json[name] = version;
  return json;
}

OrderedJson ShardingToJson(const Settings& settings, const RunReport::Sharding& sharding) {
  OrderedJson nodes = OrderedJson::array();
  for (const RunReport::PsNode& node : sharding.ps_nodes) {
    nodes.push_back({{"name", node.name},
                     {"placed_bytes", FiniteOrNull(node.placed_bytes)},
                     {"rows", node.rows},
                     {"rows_pulled", node.rows_pulled},
                     {"rows_pushed", node.rows_pushed},
                     {"wire_bytes", node.wire_bytes},
                     {"cache_bytes", node.cache_bytes},
                     {"peak_bytes",
                      node.peak_bytes == 0 ? OrderedJson(nullptr) : OrderedJson(node.peak_bytes)}});
  }
  // A plan from a file may not be any strategy's.
  const bool is_planned = sharding.is_planners;
  const bool is_made =
      settings.sharding.plan.empty() || (AsksForPlanner(settings.sharding.plan) && !is_planned);
  OrderedJson placement = OrderedJson::array();
  for (const RunReport::PlacedTable& table : sharding.placement) {
    placement.push_back({{"name", table.name},
                         {"strategy", table.strategy},
                         {"slices", table.slices},
                         {"pool_on", table.pools_on_shards ? "shards" : "workers"},
                         {"worker_rows", table.worker_rows},
                         {"cache_share", table.cache_share ? OrderedJson(*table.cache_share)
                                                           : OrderedJson(nullptr)}});
  }
  return {{"strategy", is_made      ? OrderedJson(settings.sharding.strategy)
                       : is_planned ? OrderedJson(kAutoPlan)
                                    : OrderedJson(nullptr)},
          {"pool_on", is_made      ? OrderedJson(settings.sharding.pool_on)
                      : is_planned ? OrderedJson(kAutoPlan)
                                   : OrderedJson(nullptr)},
          {"placement", placement},
          {"plan_digest", sharding.plan_digest},
          {"ps_nodes", nodes},
          {"on_each_worker", {{"rows", sharding.worker_rows}, {"bytes", sharding.worker_bytes}}},
          {"tables", TrafficToJson(settings.embedding, sharding.traffic)}};
}

OrderedJson ShardsToJson(const std::vector<RunReport::Shard>& shards) {
  OrderedJson list = OrderedJson::array();
  for (const RunReport::Shard& shard : shards) {
    OrderedJson json = {{"name", shard.name}, {"rows", shard.rows}};
    AddPulled(shard.counters.pulled, &json);
    for (const ShardCounter& counter : kShardCounters) {
      if (!counter.is_of_process) json[counter.name] = shard.counters.*counter.value;
    }
    json["seconds"] = ShardTimesToJson(shard.times);
    list.push_back(std::move(json));
  }
  return list;
}

// What a worker does itself in a step: names, and what happens, for the page.
OrderedJson ComputingPhases() {
  OrderedJson list = OrderedJson::array();
  for (const NamedStepPhase& phase : kNamedStepPhases) {
    using enum PhaseGroup;
    if (phase.group == kReading || phase.group == kExchange || phase.group == kAllreduce) continue;
    list.push_back({{"name", phase.name}, {"what", phase.what}});
  }
  return list;
}

}  // namespace

OrderedJson SettingsToJson(const Settings& settings) {
  OrderedJson json = {{"config_digest", settings.config_digest()}};
  for (const SettingField& field : SettingFields()) {
    if (field.section == Section::kServer) continue;
    json[std::string(SectionName(field.section))][field.name] =
        FieldToJson(field, field.get(settings));
  }
  return json;
}

OrderedJson ReportToJson(const RunReport& report) {
  const std::string label = report.settings.run_label();
  return {{"format", kReportFormat},
          {"label", label.empty() ? OrderedJson(nullptr) : OrderedJson(label)},
          {"settings", SettingsToJson(report.settings)},
          {"tables", TablesToJson(report.settings.tables)},
          {"model_bytes", ModelBytesToJson(report.settings)},
          {"environment", EnvironmentToJson(report.environment)},
          {"versions", VersionsToJson()},
          {"runs", RunsToJson(report.runs)},
          {"curve", CurveToJson(report.curve)},
          {"evaluations", EvaluationsToJson(report.evaluations)},
          {"totals", TotalsToJson(report.totals)},
          {"phases", PhasesToJson(report.phases)},
          {"step_phases", StepPhasesToJson(report.phases.steps)},
          {"checkpoints", CheckpointsToJson(report.checkpoints)},
          {"rows", {{"digest", report.rows.digest}, {"count", report.rows.count}}},
          {"workers", WorkersToJson(report.workers)},
          {"sharding", ShardingToJson(report.settings, report.sharding)},
          {"shards", ShardsToJson(report.shards)},
          {"table_loads", TableLoadsToJson(report.table_loads)},
          {"memory_plan",
           report.memory_plan ? NodePlanToJson(*report.memory_plan) : OrderedJson(nullptr)},
          {"prediction", PredictionToJson(report)}};
}

std::string ReportPagePath(const std::string& path) {
  constexpr std::string_view kEnd = ".json";
  return (path.ends_with(kEnd) ? path.substr(0, path.size() - kEnd.size()) : path) + ".html";
}

Status WriteReport(const RunReport& report, const std::string& path) {
  const OrderedJson json = ReportToJson(report);
  RETURN_IF_ERROR(WriteReportFile(path, DumpJson(json, 2) + "\n").Annotate("the run's report"));
  return WriteReportFile(ReportPagePath(path),
                         PageText("run", {{"report", json}, {"phases", ComputingPhases()}}))
      .Annotate("the run's report as a page");
}

}  // namespace rowhouse
