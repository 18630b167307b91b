// JobSpec: all a PS node must know of a run. Workers send it in HELLO, each the same one; a node
// takes the first and refuses others by name. As JSON it also is the heart of the manifest.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "common/status.h"
#include "sharding/plans/plan.h"
#include "sharding/tables/table_spec.h"

namespace rowhouse {

// Where one shard's rows lay when a model was saved.
struct SavedShard {
  ShardId shard{};
  std::string host;
  std::string directory;  // absolute, on that host
};

// What a run goes on from. Absent rows are rows nobody touched.
struct LoadSpec {
  uint64_t step = 0;             // steps applied when it was saved
  uint64_t steps_per_epoch = 0;  // of the data it was trained on
  std::string plan_digest;
  std::string
      data_digest;  // of the data it was trained on (Dataset::content_digest); "": not known
  std::vector<SavedShard> shards;
};

// Of one job: a shard keeps an entry for each of them in every step under way.
inline constexpr uint32_t kMaxWorkers = 65536;

struct JobSpec {
  uint64_t job_id = 0;        // of this run; never reused
  std::string model_id;       // of the trained model, over all its runs
  std::string config_digest;  // of everything that decides the trained bits
  uint32_t workers = 1;       // 1 to kMaxWorkers
  uint32_t shards_per_node = 1;
  bool overwrite = false;  // an earlier model's rows in the row directories may be deleted
  bool is_load = false;    // `load` holds; otherwise the run starts without rows
  LoadSpec load;
  std::vector<TableSpec> tables;
  Plan plan;
  // About how many rows of each table a step pulls, those of each worker counted apart: what a
  // node with a limit of memory must have room for. Empty: not known.
  std::vector<double> step_rows;

  uint64_t first_step() const { return is_load ? load.step : 0; }

  std::string ToJsonText() const;
  // kCorruption or kUsage for whatever a node could not serve: what is no JSON or lacks something,
  // numbers out of range, unknown optimizers, and plans that do not fit the tables.
  static Result<JobSpec> FromJsonText(const std::string& text);
};

nlohmann::json TablesToJson(const std::vector<TableSpec>& tables);
Result<std::vector<TableSpec>> TablesFromJson(const nlohmann::json& json);
// kUsage, naming the table, for an unknown optimizer or options that it does not take.
Status CheckOptimizers(const std::vector<TableSpec>& tables);

nlohmann::json SavedShardsToJson(const std::vector<SavedShard>& shards);
Result<std::vector<SavedShard>> SavedShardsFromJson(const nlohmann::json& json);

}  // namespace rowhouse
