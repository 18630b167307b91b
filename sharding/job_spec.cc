#include "sharding/job_spec.h"

#include <nlohmann/json.hpp>

namespace rowhouse {

nlohmann::json TablesToJson(const std::vector<TableSpec>& tables) {
  nlohmann::json json = nlohmann::json::array();
  for (const TableSpec& table : tables) {
    json.push_back({{"name", table.name},
                    {"id", Raw(table.id)},
                    {"rows", table.rows},
                    {"dim", table.dim},
                    {"kind", table.kind},
                    {"optimizer", table.optimizer},
                    {"epsilon", table.optimizer_options.epsilon},
                    {"initial_accumulator", table.optimizer_options.initial_accumulator},
                    {"initialiser", table.initialiser},
                    {"seed", table.initialiser_options.seed},
                    {"first_draw", table.initialiser_options.first_draw}});
  }
  return json;
}

Result<std::vector<TableSpec>> TablesFromJson(const nlohmann::json& json) {
  std::vector<TableSpec> tables;
  try {
    for (const nlohmann::json& table : json) {
      TableSpec spec;
      spec.name = table.at("name").get<std::string>();
      spec.id = TableId{table.at("id").get<uint32_t>()};
      spec.rows = table.at("rows").get<uint64_t>();
      spec.dim = table.at("dim").get<uint32_t>();
      spec.kind = table.at("kind").get<std::string>();
      spec.optimizer = table.at("optimizer").get<std::string>();
      spec.optimizer_options.epsilon = table.at("epsilon").get<float>();
      spec.optimizer_options.initial_accumulator = table.at("initial_accumulator").get<float>();
      spec.initialiser = table.at("initialiser").get<std::string>();
      spec.initialiser_options.seed = table.at("seed").get<uint64_t>();
      spec.initialiser_options.first_draw = table.at("first_draw").get<uint64_t>();
      tables.push_back(std::move(spec));
    }
  } catch (const nlohmann::json::exception& error) {
    return CorruptionError("tables: {}", error.what());
  }
  RETURN_IF_ERROR(ValidateTables(tables));
  return tables;
}

nlohmann::json SavedShardsToJson(const std::vector<SavedShard>& shards) {
  nlohmann::json json = nlohmann::json::array();
  for (const SavedShard& shard : shards) {
    json.push_back(
        {{"shard", Raw(shard.shard)}, {"host", shard.host}, {"directory", shard.directory}});
  }
  return json;
}

Result<std::vector<SavedShard>> SavedShardsFromJson(const nlohmann::json& json) {
  std::vector<SavedShard> shards;
  try {
    for (const nlohmann::json& shard : json) {
      shards.push_back({.shard = ShardId{shard.at("shard").get<uint32_t>()},
                        .host = shard.at("host").get<std::string>(),
                        .directory = shard.at("directory").get<std::string>()});
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
                    {"shards", SavedShardsToJson(load.shards)}};
  }
  return json.dump();
}

Result<JobSpec> JobSpec::FromJsonText(const std::string& text) {
  JobSpec job;
  try {
    const nlohmann::json json = nlohmann::json::parse(text);
    job.job_id = json.at("job_id").get<uint64_t>();
    job.model_id = json.at("model_id").get<std::string>();
    job.config_digest = json.at("config_digest").get<std::string>();
    job.workers = json.at("workers").get<uint32_t>();
    job.shards_per_node = json.at("shards_per_node").get<uint32_t>();
    job.overwrite = json.at("overwrite").get<bool>();
    ASSIGN_OR_RETURN(job.tables, TablesFromJson(json.at("tables")));
    ASSIGN_OR_RETURN(job.plan, Plan::FromJson(json.at("plan"), job.tables));
    if (json.contains("load")) {
      const nlohmann::json& load = json.at("load");
      job.is_load = true;
      job.load.step = load.at("step").get<uint64_t>();
      job.load.steps_per_epoch = load.at("steps_per_epoch").get<uint64_t>();
      job.load.plan_digest = load.at("plan_digest").get<std::string>();
      ASSIGN_OR_RETURN(job.load.shards, SavedShardsFromJson(load.at("shards")));
    }
  } catch (const nlohmann::json::exception& error) {
    return CorruptionError("job description: {}", error.what());
  }
  if (job.workers == 0 || job.shards_per_node == 0 ||
      job.plan.shards() % job.shards_per_node != 0) {
    return CorruptionError("job description: {} workers, {} shards in nodes of {}", job.workers,
                           job.plan.shards(), job.shards_per_node);
  }
  return job;
}

}  // namespace rowhouse
