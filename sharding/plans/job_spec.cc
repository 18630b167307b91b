#include "sharding/plans/job_spec.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <type_traits>

#include "common/json_text.h"
#include "sharding/plans/strategy.h"
#include "sharding/rows/initialiser.h"
#include "sharding/rows/optimizer.h"

namespace rowhouse {

namespace {

// Every option of a table that JSON leaves out where it has its default, by its name there.
// `visit(name, member of table)` reads or writes one.
template <typename Table, typename Visit>
void VisitOptionalOnes(Table& table, Visit visit) {
  for (const OptimizerOptionField& option : OptimizerOptionFields()) {
    if (option.is_for_all) continue;  // Always there.
    visit(std::string(option.name).c_str(), table.optimizer_options.*option.member);
  }
  visit("first_values_file", table.initialiser_options.file);
  visit("first_values_file_bytes", table.initialiser_options.file_bytes);
  visit("first_values_file_xxh3", table.initialiser_options.file_xxh3);
  visit("first_value", table.initialiser_options.value);
  visit("first_values_scale", table.initialiser_options.scale);
  visit("precision", table.precision);
  visit("learning_rate_factor", table.learning_rate_factor);
  visit("max_norm", table.max_norm);
  visit("norm_type", table.norm_type);
  visit("scale_grad_by_freq", table.scale_grad_by_freq);
}

// JSON has no infinity, which norm_type may be.
template <typename Value>
nlohmann::json ValueToJson(const Value& value) {
  if constexpr (std::is_floating_point_v<Value>) {
    if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  }
  return value;
}

template <typename Value>
void ValueFromJson(const nlohmann::json& json, Value& value) {
  if constexpr (std::is_floating_point_v<Value>) {
    if (json == "inf" || json == "-inf") {
      value = std::numeric_limits<Value>::infinity() * (json == "inf" ? Value{1} : Value{-1});
      return;
    }
  }
  json.get_to(value);
}

// Of a declared option: a bool, a number or text, as it is one.
nlohmann::json DeclaredToJson(const DeclaredOption& option, const OptionValues& values) {
  switch (option.type()) {
    case DeclaredOption::Type::kBool:
      return option.BoolIn(values);
    case DeclaredOption::Type::kWhole:
      return option.WholeIn(values);
    case DeclaredOption::Type::kInteger:
      return option.IntegerIn(values);
    case DeclaredOption::Type::kReal:
      return option.RealIn(values);
    case DeclaredOption::Type::kChoice:
    case DeclaredOption::Type::kText:
      break;
  }
  return option.TextIn(values);
}

// Calls visit(option, values of the table it belongs to) for every option that the table's
// optimizer and initialiser declare. Their names are apart from all others of a table.
template <typename Table, typename Visit>
void VisitDeclaredOptions(Table& table, Visit visit) {
  for (const DeclaredOption& option : Optimizers().OptionsOf(table.optimizer)) {
    visit(option, table.optimizer_options.own);
  }
  for (const DeclaredOption& option : Initialisers().OptionsOf(table.initialiser)) {
    visit(option, table.initialiser_options.own);
  }
}

// Reads the declared options that `json`, a table, has.
Status ReadDeclaredOptions(const nlohmann::json& json, TableSpec* table) {
  Status status;
  VisitDeclaredOptions(*table, [&](const DeclaredOption& option, OptionValues& values) {
    if (!json.contains(option.name()) || !status.ok()) return;
    const nlohmann::json& value = json.at(option.name());
    status = option.Set(value.is_string() ? value.get<std::string>() : DumpJson(value), &values);
    if (status.ok()) return;
    status = CorruptionError("tables: table \"{}\": {}={}: {}", table->name, option.name(),
                             DumpJson(value), status.message());
  });
  return status;
}

template <typename Number>
Result<Number> NumberAt(const nlohmann::json& object, const char* key) {
  ASSIGN_OR_RETURN(const uint64_t number,
                   ReadJsonNumber(object.at(key), key, std::numeric_limits<Number>::max()));
  return static_cast<Number>(number);
}

const std::string& NameOf(Precision precision) {
  return PrecisionNames()[static_cast<size_t>(precision)];
}

Result<Precision> RowPrecisionAt(const nlohmann::json& json, const char* key) {
  const auto name = json.at(key).get<std::string>();
  const std::optional<Precision> precision = FindPrecision(name);
  if (precision == Precision::kF32 || precision == Precision::kBf16) return *precision;
  return CorruptionError("job description: {} is f32 or bf16, not \"{}\"", key, name);
}

}  // namespace

nlohmann::json TablesToJson(const std::vector<TableSpec>& tables) {
  nlohmann::json json = nlohmann::json::array();
  for (const TableSpec& table : tables) {
    nlohmann::json all = {{"name", table.name},
                          {"id", Raw(table.id)},
                          {"rows", table.rows},
                          {"dim", table.dim},
                          {"kind", table.kind},
                          {"optimizer", table.optimizer},
                          {"epsilon", table.optimizer_options.epsilon},
                          {"initial_accumulator", table.optimizer_options.initial_accumulator},
                          {"initialiser", table.initialiser},
                          {"seed", table.initialiser_options.seed},
                          {"first_draw", table.initialiser_options.first_draw}};
    std::map<std::string, nlohmann::json> defaults;
    static const TableSpec kDefault;
    VisitOptionalOnes(kDefault, [&](const char* name, const auto& value) {
      defaults[name] = ValueToJson(value);
    });
    VisitOptionalOnes(table, [&](const char* name, const auto& value) {
      if (ValueToJson(value) != defaults[name]) all[name] = ValueToJson(value);
    });
    VisitDeclaredOptions(table, [&](const DeclaredOption& option, const OptionValues& values) {
      if (values.contains(option.name())) all[option.name()] = DeclaredToJson(option, values);
    });
    json.push_back(std::move(all));
  }
  return json;
}

Result<std::vector<TableSpec>> TablesFromJson(const nlohmann::json& json) {
  std::vector<TableSpec> tables;
  try {
    for (const nlohmann::json& table : json) {
      TableSpec spec;
      spec.name = table.at("name").get<std::string>();
      ASSIGN_OR_RETURN(const uint32_t id, NumberAt<uint32_t>(table, "id"));
      spec.id = TableId{id};
      ASSIGN_OR_RETURN(spec.rows, NumberAt<uint64_t>(table, "rows"));
      ASSIGN_OR_RETURN(spec.dim, NumberAt<uint32_t>(table, "dim"));
      spec.kind = table.at("kind").get<std::string>();
      spec.optimizer = table.at("optimizer").get<std::string>();
      spec.optimizer_options.epsilon = table.at("epsilon").get<float>();
      spec.optimizer_options.initial_accumulator = table.at("initial_accumulator").get<float>();
      spec.initialiser = table.at("initialiser").get<std::string>();
      ASSIGN_OR_RETURN(spec.initialiser_options.seed, NumberAt<uint64_t>(table, "seed"));
      ASSIGN_OR_RETURN(spec.initialiser_options.first_draw,
                       NumberAt<uint64_t>(table, "first_draw"));
      VisitOptionalOnes(spec, [&table](const char* name, auto& value) {
        if (table.contains(name)) ValueFromJson(table.at(name), value);
      });
      RETURN_IF_ERROR(ReadDeclaredOptions(table, &spec));
      tables.push_back(std::move(spec));
    }
  } catch (const nlohmann::json::exception& error) {
    return CorruptionError("tables: {}", error.what());
  }
  RETURN_IF_ERROR(ValidateTables(tables));
  return tables;
}

Status CheckOptimizers(const std::vector<TableSpec>& tables) {
  for (const TableSpec& table : tables) {
    RETURN_IF_ERROR(Optimizers()
                        .Make(table.optimizer, table.optimizer_options)
                        .status()
                        .Annotate(fmt::format("table \"{}\"", table.name)));
  }
  return OkStatus();
}

nlohmann::json SavedShardsToJson(const std::vector<SavedShard>& shards) {
  nlohmann::json json = nlohmann::json::array();
  for (const SavedShard& shard : shards) {
    json.push_back({{"shard", Raw(shard.shard)},
                    {"host", shard.host},
                    {"directory", JsonOfPath(shard.directory)}});
    if (!shard.checksum.empty()) json.back()["part_xxh3_128"] = shard.checksum;
    if (!shard.stamp.empty()) json.back()["rows_xxh3_128"] = shard.stamp;
  }
  return json;
}

Result<std::vector<SavedShard>> SavedShardsFromJson(const nlohmann::json& json) {
  std::vector<SavedShard> shards;
  try {
    for (const nlohmann::json& shard : json) {
      ASSIGN_OR_RETURN(const uint32_t number, NumberAt<uint32_t>(shard, "shard"));
      shards.push_back({.shard = ShardId{number},
                        .host = shard.at("host").get<std::string>(),
                        .directory = PathOfJson(shard.at("directory").get<std::string>()),
                        .checksum = shard.value("part_xxh3_128", ""),
                        .stamp = shard.value("rows_xxh3_128", "")});
    }
  } catch (const nlohmann::json::exception& error) {
    return CorruptionError("shards: {}", error.what());
  }
  return shards;
}

std::string JobSpec::ToJsonText() const {
  nlohmann::json json = {{"job_id", job_id},
                         {"model_id", model_id},
                         {"config_digest", config_digest},
                         {"workers", workers},
                         {"shards_per_node", shards_per_node},
                         {"overwrite", overwrite},
                         {"tables", TablesToJson(tables)},
                         {"plan", plan.ToJson()}};
  if (is_load) {
    json["load"] = {{"step", load.step},
                    {"steps_per_epoch", load.steps_per_epoch},
                    {"plan_digest", load.plan_digest},
                    {"data_first_step", load.data_first_step},
                    {"data_digest", load.data_digest},
                    {"data_settings", load.data_settings},
                    {"shards", SavedShardsToJson(load.shards)},
                    {"checkpoint", load.checkpoint},
                    {"are_moved", load.are_moved}};
    if (load.plan.tables() > 0 && load.plan_digest != plan.digest()) {
      json["load"]["plan"] = load.plan.ToJson();
    }
  }
  json["pull_precision"] = NameOf(row_precision.pull);
  json["push_precision"] = NameOf(row_precision.push);
  if (!step_rows.empty()) json["step_rows"] = step_rows;
  return DumpJson(json);
}

Result<JobSpec> JobSpec::FromJsonText(const std::string& text) {
  JobSpec job;
  try {
    const Result<nlohmann::json> parsed = ParseJson(text);
    if (!parsed.ok()) return parsed.status().Annotate("job description");
    const nlohmann::json& json = parsed.value();
    ASSIGN_OR_RETURN(job.job_id, NumberAt<uint64_t>(json, "job_id"));
    job.model_id = json.at("model_id").get<std::string>();
    job.config_digest = json.at("config_digest").get<std::string>();
    ASSIGN_OR_RETURN(job.workers, NumberAt<uint32_t>(json, "workers"));
    ASSIGN_OR_RETURN(job.shards_per_node, NumberAt<uint32_t>(json, "shards_per_node"));
    job.overwrite = json.at("overwrite").get<bool>();
    ASSIGN_OR_RETURN(job.tables, TablesFromJson(json.at("tables")));
    RETURN_IF_ERROR(CheckOptimizers(job.tables));
    ASSIGN_OR_RETURN(job.plan, Plan::FromJson(json.at("plan"), job.tables));
    if (json.contains("load")) {
      const nlohmann::json& load = json.at("load");
      job.is_load = true;
      ASSIGN_OR_RETURN(job.load.step, NumberAt<uint64_t>(load, "step"));
      ASSIGN_OR_RETURN(job.load.steps_per_epoch, NumberAt<uint64_t>(load, "steps_per_epoch"));
      job.load.plan_digest = load.at("plan_digest").get<std::string>();
      if (load.contains("plan")) {
        ASSIGN_OR_RETURN(job.load.plan, Plan::FromJson(load.at("plan"), job.tables));
      }
      job.load.data_digest = load.value("data_digest", "");
      ASSIGN_OR_RETURN(job.load.data_first_step, NumberAt<uint64_t>(load, "data_first_step"));
      job.load.data_settings = load.value("data_settings", "");
      ASSIGN_OR_RETURN(job.load.shards, SavedShardsFromJson(load.at("shards")));
      job.load.checkpoint = load.value("checkpoint", "");
      job.load.are_moved = load.value("are_moved", false);
    }
    ASSIGN_OR_RETURN(job.row_precision.pull, RowPrecisionAt(json, "pull_precision"));
    ASSIGN_OR_RETURN(job.row_precision.push, RowPrecisionAt(json, "push_precision"));
    if (json.contains("step_rows")) {
      job.step_rows = json.at("step_rows").get<std::vector<double>>();
    }
  } catch (const nlohmann::json::exception& error) {
    return CorruptionError("job description: {}", error.what());
  }
  const bool is_sound = std::ranges::all_of(
      job.step_rows, [](double rows) { return std::isfinite(rows) && rows >= 0; });
  if (!is_sound || (!job.step_rows.empty() && job.step_rows.size() != job.tables.size())) {
    return CorruptionError("job description: {} numbers of rows a step for {} tables",
                           job.step_rows.size(), job.tables.size());
  }
  if (job.workers > kMaxWorkers || job.plan.shards() > kMaxShards) {
    return CorruptionError("job description: {} workers and {} shards; at most {} and {} may be",
                           job.workers, job.plan.shards(), kMaxWorkers, kMaxShards);
  }
  if (job.workers == 0 || job.shards_per_node == 0 || job.plan.shards() == 0 ||
      job.plan.shards() % job.shards_per_node != 0) {
    return CorruptionError("job description: {} workers, {} shards in nodes of {}", job.workers,
                           job.plan.shards(), job.shards_per_node);
  }
  return job;
}

}  // namespace rowhouse
