#include "launch/run/run_start.h"

#include <fmt/core.h>

#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <random>
#include <stop_token>

#include "common/clean_text.h"
#include "common/counted.h"
#include "common/durable_file.h"
#include "common/new_file.h"
#include "launch/hosts/host_facts.h"
#include "launch/model/last_save.h"
#include "launch/model/manifest.h"
#include "launch/model/model_lock.h"
#include "launch/model/model_move.h"
#include "launch/model/model_settings.h"
#include "launch/model/saved_rows.h"
#include "launch/prediction/plan_of_run.h"
#include "launch/settings/going_on.h"
#include "launch/settings/strategy_settings.h"
#include "ps/shard/shard_opening.h"
#include "sharding/rows/initialiser.h"
#include "worker/data/text/field_text.h"
#include "worker/mpi/agreement.h"

namespace rowhouse {
namespace {

uint64_t RandomWord() {
  std::random_device device;
  return (uint64_t{device()} << 32) | device();
}

// A result that cannot be kept is to be found before hours of training, not after.
Status CheckOutputDirectory(const std::string& directory, std::string_view flag) {
  const Status made = MakeDirectoryDurably(directory);
  if (made.ok()) return CheckCanMakeFiles(directory).Annotate(fmt::format("--{}", flag));
  return UsageError("--{}: {}; give a directory that can be written", flag, made.message());
}

// A checkpoint and the parts of its shards have the same name in the two.
Status CheckCheckpointsApart(const Settings& settings) {
  if (settings.output.model_dir.empty() || !settings.makes_checkpoints()) return OkStatus();
  const auto checkpoints_in = [](const std::string& directory) {
    std::error_code ignored;
    return std::filesystem::weakly_canonical(directory + "/checkpoints", ignored);
  };
  if (checkpoints_in(settings.output.model_dir) != checkpoints_in(settings.row_directory())) {
    return OkStatus();
  }
  return UsageError(
      "--save_every: --model_dir={} and the row directory {} have the same directory checkpoints; "
      "give a --row_dir of its own",
      settings.output.model_dir, settings.row_directory());
}

// The model's config.yaml names the data for who scores or goes on.
Status CheckCanBeKept(std::string_view flag, const std::string& path) {
  if (IsUtf8(path)) return OkStatus();
  return UsageError(
      "--{}={}: the name has bytes that are no UTF-8, which config.yaml of the model cannot hold; "
      "rename it, or give a link to it",
      flag, path);
}

Status CheckOutputs(const Settings& settings) {
  if (!settings.output.model_dir.empty()) {
    RETURN_IF_ERROR(CheckCanBeKept("data", settings.data.file));
    RETURN_IF_ERROR(CheckCanBeKept("test_data", settings.data.held_out.test_file));
    RETURN_IF_ERROR(CheckCanBeKept("split_index", settings.data.held_out.split_index));
    RETURN_IF_ERROR(CheckOutputDirectory(settings.output.model_dir, "model_dir"));
    const std::string checkpoints = settings.output.model_dir + "/checkpoints";
    if (settings.makes_checkpoints() && std::filesystem::exists(checkpoints)) {
      RETURN_IF_ERROR(CheckOutputDirectory(checkpoints, "model_dir"));
    }
  }
  RETURN_IF_ERROR(CheckCheckpointsApart(settings));
  const std::string report = std::filesystem::path(settings.output.report).parent_path();
  if (!report.empty()) {
    RETURN_IF_ERROR(CheckOutputDirectory(report, "report"));
  }
  const OutputSettings& output = settings.output;
  const std::vector<std::string> own = {output.model_dir, settings.row_directory()};
  // The report of a model that is kept may be named as it is called without a name.
  if (output.report != output.model_dir + "/report.json") {
    const Status outside = CheckOutsideModels(output.report, own);
    if (!outside.ok()) return UsageError("--report={}", outside.message());
  }
  const Status outside = CheckOutsideModels(output.record_ids, own);
  return outside.ok() ? outside : UsageError("--record_ids={}", outside.message());
}

// Whether a run of these settings may go on from the model. *changes: what these settings change.
Status CheckSettingsToLoad(const Settings& settings, const std::string& model_dir,
                           const Manifest& manifest, std::string* changes) {
  const Result<Settings> before = ReadModelSettings(model_dir, manifest);
  if (before.status().code() == StatusCode::kCorruption) return before.status().Annotate("--load");
  if (before.ok()) {
    *changes = ChangesText(AllowedChanges(before.value(), settings));
    const std::vector<SettingChange> forbidden = ForbiddenChanges(before.value(), settings);
    if (forbidden.empty()) return OkStatus();
    return UsageError(
        "--load: the model in {} was trained with other settings, which must stay: {}. Give the "
        "same (--config={}/config.yaml has them), or train another model in another --model_dir",
        model_dir, ChangesText(forbidden), model_dir);
  }
  if (manifest.model_settings == ModelSettingsDigest(settings)) return OkStatus();
  return UsageError(
      "--load: the model in {} was trained with other settings (digest {}, now {}), and nothing "
      "says which: {}. Model, tables, batch, seed, optimizers, schema and threads must stay the "
      "same",
      model_dir, manifest.model_settings, ModelSettingsDigest(settings), before.status().message());
}

bool HoldsShards(const std::string& row_dir) {
  std::error_code ignored;
  return std::filesystem::exists(ShardDirectory(row_dir, ShardId{0}), ignored);
}

// Tables of the same settings are the same: others were put into the manifest since.
Status CheckSameTables(const std::vector<TableSpec>& mine, const std::vector<TableSpec>& saved) {
  const auto damaged = [](const std::string& what) {
    return CorruptionError(
        "{}, though the settings are the same: the file is not as it was written; put it back",
        what);
  };
  if (mine.size() != saved.size()) {
    return damaged(
        fmt::format("lists {}, the model has {}", Counted(saved.size(), "table"), mine.size()));
  }
  for (size_t t = 0; t < mine.size(); ++t) {
    if (mine[t].name == saved[t].name && mine[t].rows == saved[t].rows &&
        mine[t].dim == saved[t].dim && mine[t].optimizer == saved[t].optimizer) {
      continue;
    }
    return damaged(fmt::format("table {} is \"{}\" of {} rows, in the model \"{}\" of {}", t,
                               saved[t].name, saved[t].rows, mine[t].name, mine[t].rows));
  }
  return OkStatus();
}

Status CountStepRows(const Settings& settings, JobSpec* job) {
  ASSIGN_OR_RETURN(const std::vector<TableTraffic> traffic,
                   TrafficOfRun(settings, job->plan, job->workers));
  job->step_rows.assign(job->tables.size(), 0);
  for (const TableTraffic& table : traffic) job->step_rows[Raw(table.table)] = table.distinct_rows;
  return OkStatus();
}

// The job of a new model; all of it but the plan.
JobSpec MakeJob(const Settings& settings, uint32_t shards_per_node, uint32_t workers) {
  JobSpec job;
  job.job_id = RandomWord();
  job.model_id = fmt::format("{:016x}{:016x}", RandomWord(), RandomWord());
  job.config_digest = settings.config_digest();
  job.workers = workers;
  job.shards_per_node = shards_per_node;
  job.overwrite = settings.output.overwrite;
  job.tables = settings.embedding.physical;
  job.row_precision = settings.model.row_precision();
  return job;
}

// *says: what --plan=auto chose, for people.
Status MakePlanOfJob(const Settings& settings, uint32_t nodes, const RunHosts& hosts,
                     RunStart* start, std::string* says) {
  JobSpec& job = start->job;
  if (AsksForPlanner(settings.sharding.plan)) {
    ASSIGN_OR_RETURN(ChosenPlan chosen,
                     ChoosePlan(settings, nodes, job.shards_per_node, job.workers, hosts));
    job.plan = std::move(chosen.plan);
    start->promise = std::move(chosen.promise);
    *says = std::move(chosen.text);
  } else {
    ASSIGN_OR_RETURN(
        job.plan, PlanOf(settings, nodes, job.shards_per_node, /*measured=*/nullptr, job.workers));
  }
  return CountStepRows(settings, &job);
}

// A new model must not take the place of one by mistake.
Status PrepareNew(const Settings& settings, RunStart* start) {
  JobSpec* const job = &start->job;
  RETURN_IF_ERROR(CheckOutputs(settings));
  const std::string& model_dir = settings.output.model_dir;
  if (model_dir.empty()) return OkStatus();
  ASSIGN_OR_RETURN(start->lock, LockModelForRun(model_dir));
  // A saved model holds size and checksum of the files that gave its initial values.
  RETURN_IF_ERROR(SumUpFiles(&job->tables).Annotate("init_from, read by the first worker"));
  // A model that is replaced stays until this one is saved, and its rows until one is changed.
  if (settings.output.overwrite) return OkStatus();
  if (const std::vector<uint64_t> steps = CheckpointsOf(model_dir);
      !HasManifest(model_dir) && !steps.empty()) {
    return UsageError(
        "--model_dir={} holds checkpoints of a run that did not end, the last one of step {}; go "
        "on from it with --load, delete them with --overwrite, or give another directory",
        model_dir, steps.back());
  }
  if (!HasManifest(model_dir)) return OkStatus();
  ASSIGN_OR_RETURN(const SavedRows rows, SavedRows::Open(model_dir, settings.storage.row_dir));
  RETURN_IF_ERROR(rows.CheckUnchanged());
  return UsageError(
      "--model_dir={} holds a trained model; go on from it with --load, delete it with "
      "--overwrite, or give another directory",
      model_dir);
}

// The last save of the model in model_dir, with its rows where they are now.
Result<LastSave> FindSaveToLoad(const Settings& settings) {
  const std::string& model_dir = settings.output.model_dir;
  if (HasManifest(model_dir) || !CheckpointsOf(model_dir).empty()) {
    Result<LastSave> save = FindLastSave(model_dir, settings.storage.row_dir, HostName());
    if (save.ok()) return save;
    return save.status().Annotate("--load");
  }
  if (HoldsShards(settings.row_directory())) {
    return UsageError(
        "--load: no model was saved in --model_dir={}. The rows in {} are of a run that saved "
        "none, or of a model that was saved elsewhere: give its --model_dir, or train anew with "
        "--overwrite, which deletes them",
        model_dir, settings.row_directory());
  }
  return ReadManifest(model_dir).status();  // says that there is none
}

// The save to go on from, if these settings may go on from it. *changes: what they change.
Result<LastSave> ReadManifestToLoad(const Settings& settings, const JobSpec& job,
                                    std::string* changes) {
  ASSIGN_OR_RETURN(LastSave save, FindSaveToLoad(settings));
  const Manifest& manifest = save.manifest;
  RETURN_IF_ERROR(CheckSettingsToLoad(settings, save.directory, manifest, changes));
  RETURN_IF_ERROR(CheckSameTables(job.tables, manifest.tables)
                      .Annotate(fmt::format("--load: {}/manifest.json", save.directory)));
  return save;
}

Result<TrainingHistory> ReadHistory(const std::string& model_dir, const Manifest& manifest) {
  ASSIGN_OR_RETURN(const std::string curve, ReadCurve(model_dir, manifest));
  TrainingHistory history;
  if (!curve.empty()) {
    Result<TrainingHistory> read = TrainingHistory::FromJsonText(curve);
    if (!read.ok()) return read.status().Annotate(model_dir + "/" + manifest.curve.file);
    history = std::move(read).value();
  }
  history.DropAfter(manifest.steps);
  return history;
}

// Rows that are on the workers under the saved plan and on shards under the job's, or the other way
// round: "the rows of table ...". "": there are none.
std::string RowsThatChangeSides(const JobSpec& job, const Plan& saved) {
  for (const TableSpec& table : job.tables) {
    const bool is_there = job.plan.is_on_workers(table.id);
    const std::vector<RowId>& before = saved.worker_rows(table.id);
    const std::vector<RowId>& now = job.plan.worker_rows(table.id);
    if (saved.is_on_workers(table.id) != is_there) {
      return fmt::format("the rows of table \"{}\" were saved {}", table.name,
                         is_there ? "on the shards, and are asked for on the workers"
                                  : "on the workers, and are asked for on the shards");
    }
    if (before != now) {
      return fmt::format(
          "other single rows of table \"{}\" were saved on the workers ({}) than are asked for "
          "there ({})",
          table.name, before.size(), now.size());
    }
  }
  return "";
}

// Whether PS nodes that each read the rows that they own would read those of others, too: scattered
// rows, and rows whose columns lie on several nodes.
bool DoNodesReadAlike(const JobSpec& job) {
  for (const TableSpec& table : job.tables) {
    const std::span<const Slice> slices = job.plan.slices(table.id);
    for (size_t i = 1; i < slices.size(); ++i) {
      const auto node = [&](const Slice& slice) { return Raw(slice.shard) / job.shards_per_node; };
      const bool has_rows_in_common =
          job.plan.order(table.id).is_scattered() || slices[i].row_begin == slices[i - 1].row_begin;
      if (has_rows_in_common && node(slices[i]) != node(slices[i - 1])) return true;
    }
  }
  return false;
}

// Who moves the rows to the job's plan: each PS node its own, or the first worker all of them,
// where all ranks see the row directory. It does on one host, and on several for rows that change
// sides, as PS nodes may not see the model directory, and for rows that several nodes would read.
// kUsage for rows that change sides and cannot be moved.
Result<bool> DoesFirstWorkerMove(const Settings& settings, const RunHosts& hosts,
                                 const JobSpec& job, const Plan& saved) {
  // PS nodes refuse --load of rows in memory.
  if (!settings.storage.has_files() || job.plan.digest() == saved.digest()) return false;
  const std::string changed = RowsThatChangeSides(job, saved);
  if (hosts.share_rows) return hosts.hosts == 1 || !changed.empty() || DoNodesReadAlike(job);
  if (changed.empty()) return false;
  const std::string& plan = settings.sharding.plan;
  const bool has_file = !plan.empty() && !AsksForPlanner(plan);
  return UsageError(
      "--load: {}; a run moves them where all hosts see --row_dir, and PS nodes are its own. "
      "rowhouse ckpt reshard --model_dir={} --out=NEW --ps={} --shards={} --plan={} makes a model "
      "to go on from{}; or give the plan that the model was saved with",
      changed, settings.output.model_dir, job.plan.shards() / job.shards_per_node,
      job.shards_per_node, has_file ? plan : "FILE",
      has_file ? "" : "; rowhouse plan with this run's settings and --out=FILE makes the plan");
}

// *says: what was said of the plan, if it is still the plan.
Status PrepareLoad(const Settings& settings, const RunHosts& hosts, RunStart* start,
                   std::string* says) {
  JobSpec& job = start->job;
  ASSIGN_OR_RETURN(start->lock, LockModelForRun(settings.output.model_dir));
  ASSIGN_OR_RETURN(const LastSave save, ReadManifestToLoad(settings, job, &start->changes));
  const Manifest& manifest = save.manifest;
  if (save.checkpoint.empty()) {  // Parts of a checkpoint were checked.
    ASSIGN_OR_RETURN(const SavedRows rows,
                     SavedRows::Open(save.directory, settings.storage.row_dir));
    RETURN_IF_ERROR(rows.CheckUnchanged().Annotate("--load"));
  }
  for (TableSpec& table : job.tables) {
    // Shards and workers that keep rows of the table check that its file is still the same.
    const InitialiserOptions& saved = manifest.tables.at(Raw(table.id)).initialiser_options;
    table.initialiser_options.file_bytes = saved.file_bytes;
    table.initialiser_options.file_xxh3 = saved.file_xxh3;
  }
  // The planner may find another plan than the one that the model was saved with.
  if (AsksForPlanner(settings.sharding.plan) && job.plan.shards() == manifest.plan.shards()) {
    job.plan = manifest.plan;
    start->promise.reset();
    says->clear();
    RETURN_IF_ERROR(CountStepRows(settings, &job));
  }
  ASSIGN_OR_RETURN(const bool moves, DoesFirstWorkerMove(settings, hosts, job, manifest.plan));
  RETURN_IF_ERROR(CheckOutputs(settings));
  job.model_id = manifest.model_id;
  // Of the settings that the model began with: those of this run may differ.
  job.config_digest = manifest.config_digest;
  job.is_load = true;
  start->rows_digest = manifest.rows_digest.empty() ? "not known" : manifest.rows_digest;
  job.load = {
      .step = manifest.steps,
      .steps_per_epoch = manifest.steps_per_epoch,
      .data_first_step = manifest.data_first_step,
      .plan_digest = manifest.plan.digest(),
      .plan = manifest.plan,
      .data_digest = manifest.data_digest,
      .data_settings = manifest.data_settings,
      .shards = manifest.shards,
      .checkpoint = save.checkpoint,
      .are_moved = moves,
  };
  if (moves) start->save = save;
  ASSIGN_OR_RETURN(start->dense, ReadDense(save.directory, manifest));
  ASSIGN_OR_RETURN(start->data, ReadDatasetState(save.directory, manifest));
  ASSIGN_OR_RETURN(start->history, ReadHistory(save.directory, manifest));
  PrintClean("goes on from step {}, saved in {}: {}\n", manifest.steps, save.directory,
             ModelDigestText(manifest));
  std::fflush(stdout);
  return OkStatus();
}

// A checkpoint stays as it is.
Status CheckIsNoCheckpoint(const std::string& model_dir) {
  const std::string model = ModelOfCheckpoint(model_dir);
  if (model.empty()) return OkStatus();
  return UsageError(
      "--model_dir={} is a checkpoint of the model in {}, and stays as it is: --load with "
      "--model_dir={} goes on from the newest one; to go on from this one, copy it to a directory "
      "of its own",
      model_dir, model, model);
}

Result<RunStart> PrepareStart(const Settings& settings, uint32_t nodes, uint32_t shards_per_node,
                              const RunHosts& hosts, uint32_t workers) {
  RETURN_IF_ERROR(CheckIsNoCheckpoint(settings.output.model_dir));
  RunStart start;
  std::string says;
  start.job = MakeJob(settings, shards_per_node, workers);
  RETURN_IF_ERROR(MakePlanOfJob(settings, nodes, hosts, &start, &says));
  RETURN_IF_ERROR(settings.output.load ? PrepareLoad(settings, hosts, &start, &says)
                                       : PrepareNew(settings, &start));
  PrintClean("{}", says);
  std::fflush(stdout);
  return start;
}

// Collective: those of the first worker, on all.
Status ShareFloats(std::vector<float>* floats, Communicator& workers, const std::string& phase) {
  const std::string mine(reinterpret_cast<const char*>(floats->data()),
                         floats->size() * sizeof(float));
  ASSIGN_OR_RETURN(const std::string all, BroadcastFromFirst(workers, mine, phase));
  floats->resize(all.size() / sizeof(float));
  std::memcpy(floats->data(), all.data(), all.size());
  return OkStatus();
}

// For another process of this run.
std::string TextOf(const DatasetState& state) {
  nlohmann::json json = {{"position", state.position}, {"files", nlohmann::json::array()}};
  for (const DatasetFile& file : state.files) {
    const std::vector<uint8_t> bytes(file.bytes.begin(), file.bytes.end());
    json["files"].push_back(
        {{"kind", file.kind}, {"bytes", nlohmann::json::binary(bytes)}, {"path", file.path}});
  }
  std::string text;
  nlohmann::json::to_cbor(json, text);
  return text;
}

DatasetState DatasetStateOf(const std::string& text) {
  const nlohmann::json json = nlohmann::json::from_cbor(text);
  DatasetState state{.position = json.at("position").get<std::string>(), .files = {}};
  for (const nlohmann::json& file : json.at("files")) {
    const auto& bytes = file.at("bytes").get_binary();
    state.files.push_back({.kind = file.at("kind").get<std::string>(),
                           .bytes = {bytes.begin(), bytes.end()},
                           .path = file.at("path").get<std::string>()});
  }
  return state;
}

}  // namespace

Result<RunStart> ShareStart(const Settings& settings, uint32_t nodes, uint32_t shards_per_node,
                            const RunHosts& hosts, Communicator& workers) {
  RunStart start;
  Status status;
  if (Raw(workers.rank()) == 0) {
    Result<RunStart> prepared =
        PrepareStart(settings, nodes, shards_per_node, hosts, workers.size());
    status = prepared.status();
    if (prepared.ok()) start = std::move(prepared).value();
  }
  RETURN_IF_ERROR(Agree(workers, status, "preparing the run"));
  const bool is_first = Raw(workers.rank()) == 0;
  ASSIGN_OR_RETURN(
      const std::string job_text,
      BroadcastFromFirst(workers, is_first ? start.job.ToJsonText() : "", "sharing the job"));
  RETURN_IF_ERROR(ShareFloats(&start.dense, workers, "sharing the dense part"));
  ASSIGN_OR_RETURN(const std::string data,
                   BroadcastFromFirst(workers, is_first ? TextOf(start.data) : "",
                                      "sharing the position of the data"));
  ASSIGN_OR_RETURN(start.job, JobSpec::FromJsonText(job_text));
  start.data = DatasetStateOf(data);
  return start;
}

Result<bool> MoveRowsOfModel(const Settings& settings, const std::atomic<bool>& stop,
                             RunStart* start, Communicator& workers) {
  constexpr const char* kPhase = "moving the rows of the model";
  if (!start->job.is_load || !start->job.load.are_moved) return true;
  std::string stopped;  // "": all are moved
  const auto move = [&](const std::stop_token& token) -> Status {
    JobSpec job = start->job;
    job.load.are_moved = false;  // It is the mover's.
    ModelMove model(settings, job, *start->save);
    const std::stop_callback on_stop(token, [&] { model.Stop(); });
    Status moved = model.ReadWorkerRows();
    if (moved.ok()) moved = model.Run();
    // Lost peers are kUnavailable, too: a stop is told apart here, where it was asked for.
    if (moved.code() == StatusCode::kUnavailable && token.stop_requested()) {
      stopped = "stopped";
      return OkStatus();
    }
    RETURN_IF_ERROR(moved);
    ASSIGN_OR_RETURN(start->dense, model.Dense());
    PrintClean("moved the rows of the model to {}; rows digest {}\n",
               Counted(job.plan.shards(), "shard"), model.digest());
    std::fflush(stdout);
    return OkStatus();
  };
  RETURN_IF_ERROR(DoOnFirst(workers, move, stop, kPhase));
  start->save.reset();  // Its checkpoint may be deleted.
  ASSIGN_OR_RETURN(stopped, BroadcastFromFirst(workers, stopped, kPhase));
  if (!stopped.empty()) return false;
  RETURN_IF_ERROR(ShareFloats(&start->dense, workers, "sharing the dense part"));
  return true;
}

}  // namespace rowhouse
