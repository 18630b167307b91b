#include "ps/shard/saved_directories.h"

#include <algorithm>
#include <filesystem>

#include "ps/store/checkpoint_part.h"
#include "ps/store/directory_state.h"
#include "ps/store/replaced_rows.h"
#include "ps/store/rows_with_deltas.h"

namespace rowhouse {

bool HoldsRowFiles(const std::string& directory) {
  std::error_code error;
  for (std::filesystem::directory_iterator at(directory, error), end; !error && at != end;
       at.increment(error)) {
    if (at->path().extension() == ".sst") return true;
  }
  return false;
}

bool HoldsAnything(const std::string& directory) {
  std::error_code ignored;
  return std::filesystem::exists(directory, ignored) &&
         !std::filesystem::is_empty(directory, ignored);
}

Status RemoveDirectory(const std::string& directory) {
  std::error_code error;
  std::filesystem::remove_all(directory, error);
  if (error) return UsageError("cannot delete {}: {}", directory, error.message());
  return OkStatus();
}

Status WithCure(const Status& status, const std::string& directory) {
  const StatusCode code = status.code();
  if (code != StatusCode::kNotFound && code != StatusCode::kCorruption) return status;
  return MakeStatus(code,
                    "--load: {}. Put {} back as it was when the model was saved, or train anew "
                    "with --overwrite",
                    status.message(), directory);
}

Status CheckRowsNotInUse(const ShardOpeningOptions& options, const std::string& directory) {
  RowStoreOptions looks = SavedRowsOptions(options, /*read_only=*/true);
  looks.path = RowsDirectory(directory);
  const Status opened = RowStores().Make(options.store, looks).status();
  return opened.code() == StatusCode::kUsage ? opened : OkStatus();
}

Status CheckSavedRows(const LoadSpec& load, ShardId shard, const std::string& directory) {
  const Result<DirectoryState> read = ReadState(directory);
  if (!read.ok()) return WithCure(read.status(), directory);
  const DirectoryState& state = read.value();
  RETURN_IF_ERROR(CheckClean(directory, state));
  if (state.step != load.step) {
    return UsageError(
        "{} holds rows after {} steps, the manifest of --model_dir was saved after {}; they do not "
        "belong together",
        directory, state.step, load.step);
  }
  const auto saved = std::ranges::find(load.shards, shard, &SavedShard::shard);
  if (saved == load.shards.end() || saved->stamp.empty() || saved->stamp == state.stamp) {
    return OkStatus();
  }
  return WithCure(CorruptionError("{} holds other rows than the manifest of --model_dir names: "
                                  "their stamp is {}, and was {}",
                                  directory, state.stamp, saved->stamp),
                  directory);
}

RowStoreOptions SavedRowsOptions(const ShardOpeningOptions& options, bool read_only) {
  return {.read_only = read_only,
          .creates = false,
          .environment = options.environment,
          .own = options.store_own};
}

Result<std::unique_ptr<RowStore>> OpenSavedRows(const ShardOpeningOptions& options,
                                                const std::string& directory, bool read_only) {
  ASSIGN_OR_RETURN(const DirectoryState state, ReadState(directory));
  Result<std::unique_ptr<RowStore>> rows =
      OpenRowsOf(directory, state, options.store, SavedRowsOptions(options, read_only),
                 options.progress.get());
  if (!rows.ok()) return WithCure(rows.status(), directory);
  return rows;
}

Result<SavedShard> FindSource(const ShardOpeningOptions& options, const JobSpec& job,
                              SavedShard saved) {
  const std::string rows = FindRows(saved.directory, job.model_id, saved.shard);
  if (rows != saved.directory) RETURN_IF_ERROR(CheckRowsNotInUse(options, saved.directory));
  saved.directory = rows;
  RETURN_IF_ERROR(options.readable.Check(saved.directory)
                      .Annotate("--load under another plan or row directory"));
  if (!job.load.checkpoint.empty()) {
    const Status is_whole = CheckPart(saved.directory, saved.checksum);
    if (!is_whole.ok()) return WithCure(is_whole, saved.directory);
  }
  const Result<DirectoryOwner> found = ReadOwner(saved.directory);
  if (!found.ok()) {
    return UsageError(
        "--load under another plan or row directory: the rows of shard {} were saved in {} on {}, "
        "which {} cannot read ({}); make all saved row directories readable there, or load with "
        "the saved number of PS nodes and shards and the same --row_dir",
        Raw(saved.shard), saved.directory, saved.host, options.host, found.status().message());
  }
  if (found.value().model != job.model_id || found.value().shard != saved.shard) {
    return UsageError("--load: {} holds shard {} of model {}, not shard {} of model {}",
                      saved.directory, Raw(found.value().shard), found.value().model,
                      Raw(saved.shard), job.model_id);
  }
  RETURN_IF_ERROR(CheckSavedRows(job.load, saved.shard, saved.directory));
  return saved;
}

}  // namespace rowhouse
