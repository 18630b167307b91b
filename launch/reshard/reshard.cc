#include "launch/reshard/reshard.h"

#include <fmt/core.h>

#include <chrono>
#include <filesystem>

#include "common/counted.h"
#include "common/durable_file.h"
#include "common/kill_point.h"
#include "launch/figures/figures.h"
#include "launch/figures/json_output.h"
#include "launch/hosts/host_facts.h"
#include "launch/model/last_save.h"
#include "launch/model/manifest.h"
#include "launch/model/model_lock.h"
#include "launch/model/model_move.h"
#include "launch/model/model_settings.h"
#include "launch/prediction/plan_of_run.h"
#include "launch/settings/strategy_settings.h"
#include "launch/settings/yaml_config.h"
#include "ps/shard/shard_opening.h"
#include "ps/store/directory_state.h"

namespace rowhouse {
namespace {

// The model's settings, divided as asked.
Result<Settings> SettingsOfNewModel(const LastSave& save, const ReshardRequest& request) {
  ASSIGN_OR_RETURN(Settings settings, ReadModelSettings(save.directory, save.manifest));
  settings.output.model_dir = request.out;
  settings.output.load = false;
  settings.storage.row_dir = "";
  settings.cluster.ps_per_host = 0;
  settings.cluster.ps_endpoints.clear();
  if (request.ps) settings.cluster.ps = *request.ps;
  if (request.shards) settings.cluster.shards = *request.shards;
  // A file of a plan is for its own number of shards.
  if (request.strategy || request.ps || request.shards) settings.sharding.plan = "";
  if (request.strategy) settings.sharding.strategy = *request.strategy;
  if (request.plan) settings.sharding.plan = *request.plan;
  settings.Complete();
  RETURN_IF_ERROR(settings.Validate(/*reads_data=*/false));
  if (settings.cluster.ps < 1) {
    return UsageError("ckpt reshard needs --ps=N, the number of PS nodes of the new model");
  }
  if (AsksForPlanner(settings.sharding.plan)) {
    return UsageError(
        "ckpt reshard takes no --plan=auto: make a plan with rowhouse plan --plan=auto --out=FILE, "
        "and give --plan=FILE");
  }
  return settings;
}

Result<JobSpec> JobOf(const Settings& settings, const LastSave& save) {
  const Manifest& manifest = save.manifest;
  JobSpec job;
  job.model_id = manifest.model_id;
  job.config_digest = manifest.config_digest;
  job.shards_per_node = settings.cluster.shards;
  job.tables = manifest.tables;
  ASSIGN_OR_RETURN(
      job.plan, PlanOf(settings, static_cast<uint32_t>(settings.cluster.ps), job.shards_per_node));
  job.is_load = true;
  job.load.step = manifest.steps;
  job.load.plan_digest = manifest.plan.digest();
  job.load.plan = manifest.plan;
  job.load.shards = manifest.shards;
  job.load.checkpoint = save.checkpoint;
  return job;
}

Status WriteNewModel(const Settings& settings, const LastSave& save, const JobSpec& job,
                     const std::string& row_dir, const ModelMove& move) {
  Manifest manifest = save.manifest;
  manifest.plan = job.plan;
  if (!move.digest().empty()) manifest.rows_digest = move.digest();
  manifest.shards.clear();
  for (uint32_t s = 0; s < job.plan.shards(); ++s) {
    const std::string directory = ShardDirectory(row_dir, ShardId{s});
    ASSIGN_OR_RETURN(const DirectoryState state, ReadState(directory));
    manifest.shards.push_back(
        {.shard = ShardId{s}, .host = HostName(), .directory = directory, .stamp = state.stamp});
  }
  ASSIGN_OR_RETURN(const std::vector<float> dense, move.Dense());
  ASSIGN_OR_RETURN(const DatasetState data, ReadDatasetState(save.directory, save.manifest));
  ASSIGN_OR_RETURN(const std::string curve, ReadCurve(save.directory, save.manifest));
  return SaveModel(settings.output.model_dir, std::move(manifest),
                   {.dense = dense,
                    .dense_values = dense.size() - move.worker_floats(),
                    .config_yaml = WriteYamlText(settings),
                    .data = data,
                    .curve = curve});
}

// Nothing, or what a killed move left.
Status CheckOut(const std::string& out, const std::string& model_dir) {
  if (out.empty()) return UsageError("ckpt reshard needs --out=DIRECTORY for the new model");
  if (HasManifest(out)) {
    return UsageError("--out={} holds a model already; give another directory", out);
  }
  const Status outside = CheckOutsideModels(out, {model_dir});
  return outside.ok() ? outside : UsageError("--out={}", outside.message());
}

uint64_t BytesOfRows(const std::string& row_dir) {
  uint64_t bytes = 0;
  for (const auto& file : std::filesystem::recursive_directory_iterator(row_dir)) {
    if (file.path().extension() == ".sst") bytes += file.file_size();
  }
  return bytes;
}

}  // namespace

Status Reshard(const Settings& model, const ReshardRequest& request) {
  const std::string& model_dir = model.output.model_dir;
  if (model_dir.empty()) {
    return UsageError("ckpt reshard needs --model_dir=DIRECTORY of a saved model");
  }
  RETURN_IF_ERROR(CheckOut(request.out, model_dir));
  ASSIGN_OR_RETURN(const auto reading, LockModelForReading(model_dir));
  const Result<LastSave> last = FindLastSave(model_dir, model.storage.row_dir, HostName());
  if (!last.ok()) return last.status().Annotate("--model_dir=" + model_dir);
  const LastSave& save = last.value();
  ASSIGN_OR_RETURN(const Settings settings, SettingsOfNewModel(save, request));
  ASSIGN_OR_RETURN(const JobSpec job, JobOf(settings, save));

  const std::string row_dir = settings.row_directory();
  const auto begin = std::chrono::steady_clock::now();
  ModelMove move(settings, job, save);
  RETURN_IF_ERROR(move.ReadWorkerRows());
  RETURN_IF_ERROR(MakeDirectoryDurably(request.out));
  ASSIGN_OR_RETURN(const auto writing, LockModelForRun(request.out));
  const Status moved = move.Run();
  if (moved.code() == StatusCode::kCorruption) {
    return CorruptionError("{}. Delete {}", moved.message(), request.out);
  }
  RETURN_IF_ERROR(moved);
  KillPoint("reshard.rows_moved");
  RETURN_IF_ERROR(WriteNewModel(settings, save, job, row_dir, move));

  const uint64_t bytes = BytesOfRows(row_dir);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  Figures found;
  found.json = {{"out", request.out},
                {"shards", job.plan.shards()},
                {"row_bytes", bytes},
                {"bytes_read", move.moved().bytes_read},
                {"bytes_written", move.moved().bytes_written},
                {"bytes_linked", move.moved().bytes_linked},
                {"seconds", took.count()},
                {"worker_row_bytes", move.worker_floats() * sizeof(float)},
                {"rows_digest", move.digest().empty() ? save.manifest.rows_digest : move.digest()},
                {"is_digest_compared", !move.digest().empty()}};
  const uint64_t linked = move.moved().bytes_linked;
  found.Say("{}: step {}, {} of {}, {:.2f} GB of rows{} in {:.1f} s; {}\n", request.out,
            save.manifest.steps, Counted(job.plan.shards(), "shard"),
            Counted(settings.cluster.ps, "PS node"), static_cast<double>(bytes) / 1e9,
            linked == 0
                ? ""
                : fmt::format(", {:.2f} GB of them linked", static_cast<double>(linked) / 1e9),
            took.count(),
            move.digest().empty()
                ? "the files are those of the model"
                : fmt::format("rows digest {}, {}", move.digest(),
                              save.manifest.rows_digest.empty() ? "as read" : "as before"));
  return DeliverFigures(request.json, found);
}

}  // namespace rowhouse
