// JobSpec: all that a PS node must know of a run. Every worker sends the same one in HELLO; a node
// takes the first and refuses a different one. Tables and plan lie in the manifest in the same
// form.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "common/status.h"
#include "sharding/plans/plan.h"
#include "sharding/rows/record.h"
#include "sharding/rows/table_spec.h"

namespace rowhouse {

// Where one shard's rows lay when a model was saved.
struct SavedShard {
  ShardId shard{};
  std::string host;
  std::string directory;  // absolute, on that host
  // Of the shard's part of a checkpoint, which is then what lies in `directory`; "": it is the
  // shard's own directory. XXH3-128, hex.
  std::string checksum = {};
  // Of the rows in the shard's own directory: which they are (ps/store/row_store.h); "": not known,
  // as they were in memory, or a compaction was cut off.
  std::string stamp = {};
};

// The saved model that a run goes on from. Rows that are not stored were never pushed.
struct LoadSpec {
  uint64_t step = 0;             // steps applied when it was saved
  uint64_t steps_per_epoch = 0;  // of the data it was trained on last
  // The step at which training on these data began. A worker that finds other data sets it to
  // `step`: the run begins with their first sample.
  uint64_t data_first_step = 0;
  std::string plan_digest;
  // By which the rows are divided, so that those that stay together are linked; without tables: not
  // known, or that of the job.
  Plan plan = {};
  std::string data_digest;    // Dataset::content_digest of the training data; "": not known
  std::string data_settings;  // launch/settings/going_on.h, DataSettingsDigest
  std::vector<SavedShard> shards;
  // "step-1200": these are the parts of that checkpoint (docs/storage.md), which are copied before
  // they are used; "": the shards' own directories.
  std::string checkpoint = {};
  // The rows of all shards lie in their directories as the plan divides them: the first worker has
  // moved them there, with rows that were or will be on the workers.
  bool are_moved = false;
};

// The most workers of one job. It bounds a shard's memory: a shard keeps an entry for each worker
// in every step that is under way.
inline constexpr uint32_t kMaxWorkers = 65536;

struct JobSpec {
  uint64_t job_id = 0;        // of this run; never reused
  std::string model_id;       // of the trained model, over all its runs
  std::string config_digest;  // of the settings that the model's first run had
  uint32_t workers = 1;       // 1 to kMaxWorkers
  uint32_t shards_per_node = 1;
  bool overwrite = false;  // an earlier model's rows in the row directories may be deleted
  bool is_load = false;    // goes on from `load`; otherwise the run starts without rows
  LoadSpec load;
  std::vector<TableSpec> tables;
  Plan plan;
  RowPrecision row_precision;  // of all messages with rows
  // An estimate of the rows of each table that a step pulls, summed over workers: a node with a
  // memory limit must have room for them. Empty: not known.
  std::vector<double> step_rows;

  uint64_t first_step() const { return is_load ? load.step : 0; }
  // The step that reads the first sample of epoch 0 of the run's data.
  uint64_t first_step_of_data() const { return is_load ? load.data_first_step : 0; }

  std::string ToJsonText() const;
  // kCorruption or kUsage for what a node could not serve: text that is no JSON or lacks a field,
  // numbers out of range, unknown optimizers, plans that do not fit the tables.
  static Result<JobSpec> FromJsonText(const std::string& text);
};

nlohmann::json TablesToJson(const std::vector<TableSpec>& tables);
Result<std::vector<TableSpec>> TablesFromJson(const nlohmann::json& json);
// kUsage, naming the table, for an unknown optimizer or options that it does not take.
Status CheckOptimizers(const std::vector<TableSpec>& tables);

nlohmann::json SavedShardsToJson(const std::vector<SavedShard>& shards);
Result<std::vector<SavedShard>> SavedShardsFromJson(const nlohmann::json& json);

}  // namespace rowhouse
