#include "launch/report/report.h"

#include <nlohmann/json.hpp>

#include "common/json_text.h"
#include "common/read_value.h"
#include "launch/command_line/version.h"
#include "launch/figures/json_members.h"
#include "launch/figures/json_output.h"
#include "launch/figures/page.h"
#include "launch/prediction/traffic_report.h"
#include "launch/settings/setting_fields.h"
#include "launch/settings/strategy_settings.h"
#include "ps/store/row_store.h"
#include "sharding/tables/table_sizes.h"
#include "worker/dense/loss.h"

namespace rowhouse {

JSON_HAS_MEMBERS(LogicalTable, name, rows, dim, kind, optimizer, initialiser);
JSON_HAS_MEMBERS(RunReport::Environment, hosts, cores, workers, ps_nodes, shards, started_at,
                 command_line);
JSON_HAS_MEMBERS(RunReport::Run, started_at, first_step, steps, samples, seconds, data,
                 data_digest);
JSON_HAS_MEMBERS(RunReport::CurvePoint, step, epoch, loss, accuracy, samples_per_second,
                 learning_rate);
JSON_HAS_MEMBERS(RunReport::Totals, first_step, steps, samples, seconds, samples_per_second,
                 test_auc_ceiling, was_stopped, ended_early, median_step_ms, wire_bytes_per_step);
JSON_HAS_MEMBERS(RunReport::Checkpoints, made, without_room, left_out, durable_step, seconds,
                 longest_seconds, last_bytes);
JSON_HAS_MEMBERS(RunReport::Restart, why, reached_step, from_step, steps_repeated, seconds_lost);
JSON_HAS_MEMBERS(RunReport::Rows, digest, count);

namespace {

using OrderedJson = nlohmann::ordered_json;

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

OrderedJson ModelBytesToJson(const Settings& settings) {
  const ModelSizes sizes = SizesOf(settings.embedding);
  return {{"rows", sizes.rows_and_projections()},
          {"state", sizes.bytes.state},
          {"plain_rows", sizes.plain_rows}};
}

OrderedJson PhasesToJson(const RunReport::Phases& phases) {
  const StepPhases& steps = phases.steps;
  return {{"start_seconds", FigureOrNull(phases.start)},
          {"data_seconds", FigureOrNull(steps.data)},
          {"pull_seconds", FigureOrNull(steps.pull)},
          {"compute_seconds", FigureOrNull(steps.compute())},
          {"push_seconds", FigureOrNull(steps.push)},
          {"exchange_seconds", FigureOrNull(steps.allreduce)},
          {"test_seconds", FigureOrNull(phases.test)},
          {"save_seconds", FigureOrNull(phases.save)}};
}

OrderedJson StepPhasesToJson(const StepPhases& phases) {
  OrderedJson json = OrderedJson::object();
  for (const NamedStepPhase& phase : kNamedStepPhases) {
    json[phase.name] = FigureOrNull(phases.*phase.value);
  }
  return json;
}

}  // namespace

static void to_json(OrderedJson& json, const RunReport::Evaluation& evaluation) {
  json = MEMBERS_AS_JSON(evaluation, step, samples, auc, logloss, accuracy);
  json["data_digest"] = fmt::format("{:016x}", evaluation.data_digest);
}

static void to_json(OrderedJson& json, const RunReport::Baseline& baseline) {
  if (!baseline.why_not.empty()) {
    json = {{"why_not", baseline.why_not}};
    return;
  }
  json = MEMBERS_AS_JSON(baseline.of_test, auc, logloss, accuracy);
  json["train_samples"] = baseline.train_samples;
  json["test_samples"] = baseline.of_test.samples;
}

static void to_json(OrderedJson& json, const RunReport::Worker& worker) {
  json = MEMBERS_AS_JSON(worker, name, median_step_ms);
  json["step_phases"] = StepPhasesToJson(worker.steps);
}

static void to_json(OrderedJson& json, const RunReport::PsNode& node) {
  json = MEMBERS_AS_JSON(node, name, placed_bytes, rows, rows_pulled, rows_pushed, wire_bytes,
                         cache_bytes, peak_bytes);
  if (node.peak_bytes == 0) json["peak_bytes"] = nullptr;
}

namespace {

// Seconds by phase; nothing the shard did not tell.
OrderedJson ShardTimesToJson(const ShardTimes& times) {
  OrderedJson json = OrderedJson::object();
  for (size_t p = 0; p < kShardPhaseNames.size(); ++p) {
    json[kShardPhaseNames[p]] = FigureOrNull(static_cast<double>(times.shard[p]) * 1e-9);
  }
  for (const StorePhase p : {StorePhase::kRead, StorePhase::kWrite, StorePhase::kOther}) {
    json[fmt::format("store_{}", kStorePhaseNames[static_cast<size_t>(p)])] =
        FigureOrNull(static_cast<double>(times.ns(p)) * 1e-9);
  }
  return json;
}

void AddPulled(const RowsPulled& pulled, OrderedJson* json) {
  (*json)["rows_pulled"] = pulled.total();
  (*json)["rows_from_memory"] = pulled.from_memory;
  (*json)["rows_first_touched"] = pulled.first_touched;
  (*json)["rows_from_store"] = pulled.from_store;
}

OrderedJson TableLoadToJson(const RunReport::TableLoad& table) {
  OrderedJson json = {{"name", table.name}};
  AddPulled(table.pulled, &json);
  json["rows_pushed"] = table.rows_pushed;
  return json;
}

OrderedJson VersionsToJson() {
  OrderedJson json = OrderedJson::object();
  for (const auto& [name, version] : Versions()) json[name] = version;
  return json;
}

OrderedJson PlacedTableToJson(const RunReport::PlacedTable& table) {
  OrderedJson json = MEMBERS_AS_JSON(table, name, strategy, slices, worker_rows, cache_share);
  json["pool_on"] = table.pools_on_shards ? "shards" : "workers";
  return json;
}

OrderedJson ShardingToJson(const Settings& settings, const RunReport::Sharding& sharding) {
  // A plan from a file may not be any strategy's.
  const bool is_planned = sharding.is_planners;
  const bool is_made =
      settings.sharding.plan.empty() || (AsksForPlanner(settings.sharding.plan) && !is_planned);
  const auto of_plan = [&](const std::string& made) {
    if (is_made) return OrderedJson(made);
    return is_planned ? OrderedJson(kAutoPlan) : OrderedJson(nullptr);
  };
  return {{"strategy", of_plan(settings.sharding.strategy)},
          {"pool_on", of_plan(settings.sharding.pool_on)},
          {"placement", ListAsJson(sharding.placement, PlacedTableToJson)},
          {"plan_digest", sharding.plan_digest},
          {"ps_nodes", sharding.ps_nodes},
          {"on_each_worker", {{"rows", sharding.worker_rows}, {"bytes", sharding.worker_bytes}}},
          {"tables", TableAsJson(TrafficTable(settings.embedding, sharding.traffic))}};
}

OrderedJson ShardToJson(const RunReport::Shard& shard) {
  OrderedJson json = {{"name", shard.name}, {"rows", shard.rows}};
  AddPulled(shard.counters.pulled, &json);
  for (const ShardCounter& counter : kShardCounters) {
    if (!counter.is_of_process) json[counter.name] = shard.counters.*counter.value;
  }
  json["seconds"] = ShardTimesToJson(shard.times);
  return json;
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
          {"tables", report.settings.tables},
          {"model_bytes", ModelBytesToJson(report.settings)},
          {"environment", report.environment},
          {"versions", VersionsToJson()},
          {"runs", report.runs},
          {"curve", report.curve},
          {"evaluations", report.evaluations},
          {"validations", report.validations},
          {"progressive", report.progressive},
          {"best", report.best ? OrderedJson(MEMBERS_AS_JSON((*report.best), step, metric, value,
                                                             checkpoint, test_auc, test_logloss))
                               : OrderedJson(nullptr)},
          {"baseline", FigureOrNull(report.baseline)},
          {"totals", report.totals},
          {"phases", PhasesToJson(report.phases)},
          {"step_phases", StepPhasesToJson(report.phases.steps)},
          {"checkpoints", FigureOrNull(report.checkpoints)},
          {"restarts", report.restarts},
          {"rows", report.rows},
          {"workers", report.workers},
          {"sharding", ShardingToJson(report.settings, report.sharding)},
          {"shards", ListAsJson(report.shards, ShardToJson)},
          {"table_loads", ListAsJson(report.table_loads, TableLoadToJson)},
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
  const Settings& settings = report.settings;
  return WriteReportFile(
             ReportPagePath(path),
             PageText("run",
                      {{"report", json},
                       {"has_files", RowStores().DeclarationOf(settings.storage.store).has_files},
                       {"is_logloss", Losses().DeclarationOf(settings.model.loss).is_logloss}}))
      .Annotate("the run's report as a page");
}

}  // namespace rowhouse
