#include "launch/reshard/reshard.h"

#include <fmt/core.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <stop_token>
#include <thread>

#include "common/counted.h"
#include "common/durable_file.h"
#include "common/kill_point.h"
#include "launch/figures/figure_text.h"
#include "launch/figures/figures.h"
#include "launch/figures/json_output.h"
#include "launch/hosts/host_facts.h"
#include "launch/model/last_save.h"
#include "launch/model/manifest.h"
#include "launch/model/model_lock.h"
#include "launch/model/model_settings.h"
#include "launch/model/saved_rows.h"
#include "launch/prediction/plan_of_run.h"
#include "launch/settings/strategy_settings.h"
#include "launch/settings/yaml_config.h"
#include "ps/shard/routed_rows.h"
#include "ps/shard/shard_opening.h"
#include "ps/store/directory_state.h"
#include "ps/store/engines/memory.h"
#include "ps/store/store_environment.h"
#include "sharding/rows/record_weights.h"
#include "worker/embedding/worker_rows.h"

namespace rowhouse {
namespace {

using SteadyClock = std::chrono::steady_clock;

double SecondsFrom(SteadyClock::time_point begin) {
  return std::chrono::duration<double>(SteadyClock::now() - begin).count();
}

// Prints a line every ten seconds, with the time that is left, until it ends.
class ProgressLines {
 public:
  explicit ProgressLines(std::shared_ptr<const OpeningProgress> progress)
      : progress_(std::move(progress)), thread_([this](std::stop_token stop) { Run(stop); }) {}

 private:
  void Run(const std::stop_token& stop) const {
    constexpr std::chrono::milliseconds kLook(100);
    constexpr double kEverySeconds = 10;
    const auto begin = SteadyClock::now();
    for (double due = kEverySeconds; !stop.stop_requested(); std::this_thread::sleep_for(kLook)) {
      const double seconds = SecondsFrom(begin);
      if (seconds < due) continue;
      due += kEverySeconds;
      const auto done = static_cast<double>(progress_->bytes_done());
      const auto in_all = static_cast<double>(progress_->bytes_total());
      if (done == 0 || done > in_all) continue;
      fmt::print(stderr, "{:.1f} of {:.1f} GB moved, about {:.0f} s left\n", done / 1e9,
                 in_all / 1e9, seconds * (in_all - done) / done);
    }
  }

  const std::shared_ptr<const OpeningProgress> progress_;
  std::jthread thread_;
};

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
  job.load.shards = manifest.shards;
  job.load.checkpoint = save.checkpoint;
  return job;
}

// The saved rows on the workers, as a source of the move. Rows that no step has touched are left
// out: no shard stores such rows.
Result<std::unique_ptr<RowStore>> SavedWorkerRows(const LastSave& save) {
  std::unique_ptr<RowStore> rows = NewMemoryStore();
  ASSIGN_OR_RETURN(const SavedRows saved, SavedRows::Open(save.directory));
  std::vector<RecordLayout> layouts;
  for (const TableSpec& spec : save.manifest.tables) {
    const auto optimizer = Optimizers().Make(spec.optimizer, spec.optimizer_options).value();
    layouts.push_back(LayoutOf(spec, *optimizer));
  }
  RETURN_IF_ERROR(saved.ScanRowsOnWorkers(
      [&](TableId id, RowId row, std::span<const std::byte> record) -> Status {
        if (layouts[Raw(id)].trailer(record.data()).lsn == 0) return OkStatus();
        return rows->Put({.table = id, .record_bytes = static_cast<uint32_t>(record.size())},
                         std::span(&row, 1), record);
      }));
  return rows;
}

// The rows that the new plan keeps on the workers: as they were saved, or, if no step has touched
// them, with their initial values.
Result<std::unique_ptr<WorkerRows>> NewWorkerRows(const ShardOpeningOptions& options,
                                                  const JobSpec& job, const RowStore& saved) {
  ASSIGN_OR_RETURN(std::unique_ptr<WorkerRows> rows, WorkerRows::Make(job.tables, job.plan));
  if (!job.plan.has_worker_rows()) return rows;
  ShardOpeningOptions reading = options;
  reading.progress = std::make_shared<OpeningProgress>();  // not that of the move
  RETURN_IF_ERROR(
      ReadRowsForWorkers(reading, job, &saved, [&rows](TableId table, RowId row, auto record) {
        rows->Put(table, row, record);
        return OkStatus();
      }));
  return rows;
}

// The digest of all rows: those that were cut anew, and those on the workers. "": the shards' files
// were taken as they are.
Result<std::string> DigestOfRows(const std::string& row_dir, const JobSpec& job,
                                 const WorkerRows& on_workers) {
  RowsDigest digest;
  for (uint32_t s = 0; s < job.plan.shards(); ++s) {
    ASSIGN_OR_RETURN(const DirectoryState state, ReadState(ShardDirectory(row_dir, ShardId{s})));
    if (state.rows_digest.empty()) return std::string();
    ASSIGN_OR_RETURN(const RowsDigest of_shard, RowsDigest::FromHex(state.rows_digest));
    digest.Merge(of_shard);
  }
  digest.Merge(on_workers.Digest());
  return digest.hex();
}

Status WriteNewModel(const Settings& settings, const LastSave& save, const JobSpec& job,
                     const std::string& row_dir, const WorkerRows& on_workers) {
  Manifest manifest = save.manifest;
  manifest.plan = job.plan;
  manifest.shards.clear();
  for (uint32_t s = 0; s < job.plan.shards(); ++s) {
    const std::string directory = ShardDirectory(row_dir, ShardId{s});
    ASSIGN_OR_RETURN(const DirectoryState state, ReadState(directory));
    manifest.shards.push_back(
        {.shard = ShardId{s}, .host = HostName(), .directory = directory, .stamp = state.stamp});
  }
  ASSIGN_OR_RETURN(std::vector<float> dense, ReadDense(save.directory, save.manifest));
  ASSIGN_OR_RETURN(const SavedRows saved, SavedRows::Open(save.directory));
  ASSIGN_OR_RETURN(const uint64_t saved_bytes, saved.BytesOnWorkers());
  dense.resize(dense.size() - saved_bytes / sizeof(float));
  const size_t dense_values = dense.size();
  const std::vector<float> records = on_workers.Save();
  dense.insert(dense.end(), records.begin(), records.end());
  ASSIGN_OR_RETURN(const DatasetState data, ReadDatasetState(save.directory, save.manifest));
  ASSIGN_OR_RETURN(const std::string curve, ReadCurve(save.directory, save.manifest));
  return SaveModel(settings.output.model_dir, std::move(manifest),
                   {.dense = dense,
                    .dense_values = dense_values,
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
  std::vector<ShardId> shards;
  for (uint32_t s = 0; s < job.plan.shards(); ++s) shards.push_back(ShardId{s});
  const auto begin = SteadyClock::now();
  const ShardOpeningOptions options = {
      .row_dir = row_dir,
      .host = HostName(),
      .environment = std::make_shared<StoreEnvironment>(
          StoreEnvironmentOptions{.stores = job.plan.shards() + save.manifest.shards.size(),
                                  .compression = settings.storage.store_compression})};
  ASSIGN_OR_RETURN(const auto saved_on_workers, SavedWorkerRows(save));
  ASSIGN_OR_RETURN(const auto on_workers, NewWorkerRows(options, job, *saved_on_workers));
  RETURN_IF_ERROR(MakeDirectoryDurably(request.out));
  ASSIGN_OR_RETURN(const auto writing, LockModelForRun(request.out));
  {
    const ProgressLines lines(options.progress);
    RETURN_IF_ERROR(RouteRows(options, job, shards, saved_on_workers.get()));
  }
  ASSIGN_OR_RETURN(const std::string digest, DigestOfRows(row_dir, job, *on_workers));
  const std::string& due = save.manifest.rows_digest;
  if (!digest.empty() && !due.empty() && digest != due) {
    return CorruptionError(
        "the moved rows have digest {}, and those of the model had {}; nothing is made of them: "
        "rowhouse ckpt verify --model_dir={} says what is damaged. Delete {}",
        digest, due, model_dir, request.out);
  }
  KillPoint("reshard.rows_moved");
  RETURN_IF_ERROR(WriteNewModel(settings, save, job, row_dir, *on_workers));

  const uint64_t bytes = BytesOfRows(row_dir);
  const double seconds = SecondsFrom(begin);
  Figures found;
  found.json = {{"out", request.out},
                {"shards", job.plan.shards()},
                {"row_bytes", bytes},
                {"seconds", seconds},
                {"worker_row_bytes", on_workers->saved_floats() * sizeof(float)},
                {"rows_digest", due},
                {"is_digest_compared", !digest.empty() && !due.empty()}};
  found.Say("{}: step {}, {} of {}, {:.2f} GB of rows in {:.1f} s; {}\n", request.out,
            save.manifest.steps, Counted(job.plan.shards(), "shard"),
            Counted(settings.cluster.ps, "PS node"), static_cast<double>(bytes) / 1e9, seconds,
            digest.empty() ? "the files are those of the model"
            : due.empty()  ? "the model was saved without a digest to compare"
                           : "rows digest " + due + ", as before");
  return DeliverFigures(request.json, found);
}

}  // namespace rowhouse
