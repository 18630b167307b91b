#include "ps/shard/shard_opening.h"

#include <algorithm>
#include <filesystem>

#include "common/new_file.h"
#include "ps/shard/routed_rows.h"
#include "ps/shard/saved_directories.h"
#include "ps/store/checkpoint_part.h"
#include "ps/store/directory_state.h"
#include "ps/store/opening.h"
#include "ps/store/replaced_rows.h"
#include "ps/store/rows_with_deltas.h"
#include "ps/store/written_rows_file.h"

namespace rowhouse {
namespace {

class Opening {
 public:
  Opening(const ShardOpeningOptions& options, const JobSpec& job, ShardId shard)
      : options_(options),
        job_(job),
        shard_(shard),
        directory_(ShardDirectory(options.row_dir, shard)),
        owner_{.model = job.model_id,
               .shard = shard,
               .shards = job.plan.shards(),
               .plan_digest = job.plan.digest(),
               .config_digest = job.config_digest} {}

  Result<std::unique_ptr<ShardStore>> Open() {
    if (!RowStores().DeclarationOf(options_.store).has_files) {
      if (job_.is_load) {
        return UsageError(
            "--load: rows in memory (--store=memory) do not outlive a run; train and load with "
            "--store=rocksdb");
      }
      ASSIGN_OR_RETURN(auto memory, RowStores().Make(options_.store, {}));
      return std::make_unique<ShardStore>(std::move(memory), "", job_.tables);
    }
    // It is part of a path.
    if (job_.is_load && !job_.load.checkpoint.empty() && !StepsOfCheckpoint(job_.load.checkpoint)) {
      return CorruptionError("\"{}\" is no name of a checkpoint", job_.load.checkpoint);
    }
    RETURN_IF_ERROR(EndCutOffReplacing());
    RETURN_IF_ERROR(CheckCanSave());
    if (!job_.is_load) return OpenNew();
    return IsWhereItWasSaved() ? OpenSaved() : OpenRouted();
  }

  bool IsWhereItWasSaved() const {
    if (job_.load.plan_digest != owner_.plan_digest) return false;
    const auto saved = std::ranges::find(job_.load.shards, shard_, &SavedShard::shard);
    if (saved == job_.load.shards.end()) return false;
    const std::string here = SavedHere();
    if (saved->host == options_.host && saved->directory == here) return true;
    const Result<DirectoryOwner> owner = ReadOwner(here);
    if (!owner.ok() || owner.value() != owner_) return false;
    if (!job_.load.checkpoint.empty()) return CheckPart(here, saved->checksum).ok();
    const Result<DirectoryState> state = ReadState(here);
    return state.ok() && !saved->stamp.empty() && state.value().stamp == saved->stamp;
  }

  bool GuessesSavedRows() const {
    const std::string directory = IsWhereItWasSaved() ? SavedHere() : directory_;
    const Result<DirectoryState> state = ReadState(directory);
    return state.ok() && GuessesWrittenRows(directory + kWrittenRowsFile, state.value().stamp);
  }

 private:
  Result<std::unique_ptr<RowStore>> OpenRows(const std::string& directory) const {
    return RowStores().Make(options_.store, {.path = RowsDirectory(directory),
                                             .environment = options_.environment,
                                             .own = options_.store_own});
  }

  // What a run would else find when it has trained. Directories that are not there yet are made
  // before.
  Status CheckCanSave() const {
    const std::filesystem::path part = CheckpointPart(directory_, "step-0");
    for (const std::string& directory : {directory_, part.parent_path().parent_path().string()}) {
      std::error_code ignored;
      if (!std::filesystem::exists(directory, ignored)) continue;
      RETURN_IF_ERROR(CheckCanMakeFiles(directory).Annotate("rows"));
    }
    return OkStatus();
  }

  Result<std::unique_ptr<ShardStore>> Finish(std::unique_ptr<RowStore> rows) const {
    return std::make_unique<ShardStore>(std::move(rows), directory_, job_.tables, job_.first_step(),
                                        job_.is_load ? job_.load.checkpoint : "");
  }

  // Makes room for rows of this run where others may lie.
  Status Clear() {
    if (!HoldsAnything(directory_)) return OkStatus();
    const Result<DirectoryOwner> owner = ReadOwner(directory_);
    if (!owner.ok()) {
      return UsageError(
          "{} is not empty and holds no rows of Rowhouse ({}); give another --row_dir", directory_,
          owner.status().message());
    }
    const Result<DirectoryState> state = ReadState(directory_);
    // STATE.json is written before the first row, so rows without one have lost it.
    const bool has_rows =
        state.status().code() != StatusCode::kNotFound || HoldsRowFiles(RowsDirectory(directory_));
    if (!job_.overwrite && has_rows) {
      RETURN_IF_ERROR(CheckRowsNotInUse(options_, directory_));
      if (state.ok() && state.value().is_clean) {
        return UsageError(
            "{} holds rows of model {}, saved after {} steps; go on from them with --load and the "
            "--model_dir of that model, delete them with --overwrite, or give another --row_dir",
            directory_, owner.value().model, state.value().step);
      }
      return UsageError(
          "{} holds rows of a run that saved no model: it had no --model_dir, or did not end in "
          "order. Nothing can go on from them: delete them with --overwrite, or give another "
          "--row_dir",
          directory_);
    }
    // Opening proves that no other process uses them; unreadable ones may be deleted.
    const Status in_use = OpenRows(directory_).status();
    if (in_use.code() == StatusCode::kUsage) return in_use;
    return has_rows ? SetAsideRows(directory_) : RemoveDirectory(directory_);
  }

  // A run with --overwrite was killed: if it had not changed a row, the old rows are put back, else
  // they are deleted.
  Status EndCutOffReplacing() {
    if (!HasReplacedRows(directory_)) return OkStatus();
    if (HoldsAnything(directory_)) {
      const Status in_use = OpenRows(directory_).status();
      if (in_use.code() == StatusCode::kUsage) return in_use;
      if (ReadState(directory_).status().code() != StatusCode::kNotFound) {
        return DeleteReplacedRows(directory_);
      }
    }
    return PutBackReplacedRows(directory_);
  }

  Result<std::unique_ptr<ShardStore>> OpenNew() {
    RETURN_IF_ERROR(Clear());
    RETURN_IF_ERROR(ClaimDirectory(directory_, owner_).status());
    ASSIGN_OR_RETURN(auto rows, OpenRows(directory_));
    return Finish(std::move(rows));
  }

  // Where this shard's saved rows are if they were saved in this row directory.
  std::string SavedHere() const {
    const std::string& checkpoint = job_.load.checkpoint;
    return checkpoint.empty() ? directory_ : CheckpointPart(directory_, checkpoint);
  }

  // Whether the rows that lie here are those of the part, as a run that ended in order, or changed
  // nothing, leaves them.
  bool HoldsRowsOf(const std::string& part, const std::string& checksum) const {
    const Result<DirectoryOwner> owner = ReadOwner(directory_), of_part = ReadOwner(part);
    const Result<DirectoryState> state = ReadState(directory_), saved = ReadState(part);
    if (!owner.ok() || !of_part.ok() || owner.value() != of_part.value() || !state.ok() ||
        !saved.ok() || saved.value().stamp.empty()) {
      return false;
    }
    return state.value() == saved.value() ||
           (state.value().is_clean && state.value().routed_from == checksum);
  }

  // Replaces the rows here by a copy of the checkpoint's, unless they are the same.
  Status Restore() {
    const auto saved = std::ranges::find(job_.load.shards, shard_, &SavedShard::shard);
    const std::string part = SavedHere();
    if (const Status is_whole = CheckPart(part, saved->checksum); !is_whole.ok()) {
      return WithCure(is_whole, part);
    }
    if (HoldsRowsOf(part, saved->checksum)) return OkStatus();
    if (HoldsAnything(directory_)) {
      const Result<DirectoryOwner> owner = ReadOwner(directory_);
      if (!owner.ok()) return owner.status().Annotate("--load, where the rows were");
      // Rows of another model are those that this one replaced by --overwrite: a run that replaces
      // rows deletes all parts beside them.
      RETURN_IF_ERROR(CheckRowsNotInUse(options_, directory_));
    }
    RETURN_IF_ERROR(RemoveDirectory(CopyOf(directory_)));
    RETURN_IF_ERROR(CopyPart(part, CopyOf(directory_)));
    const Status put =
        PutDeltasIntoCopy(part, CopyOf(directory_), saved->checksum, options_.store,
                          SavedRowsOptions(options_, /*read_only=*/false), *options_.progress);
    if (!put.ok()) return WithCure(put, part);
    return SupersedeRows(directory_);
  }

  Result<std::unique_ptr<ShardStore>> OpenSaved() {
    if (!job_.load.checkpoint.empty()) RETURN_IF_ERROR(Restore());
    if (!HoldsAnything(directory_)) {
      return UsageError("--load: the rows of shard {} were saved in {} on {}, and are not there",
                        Raw(shard_), directory_, options_.host);
    }
    const Result<DirectoryOwner> found = ReadOwner(directory_);
    if (!found.ok()) return WithCure(found.status(), directory_);
    RETURN_IF_ERROR(CheckOwner(directory_, found.value(), owner_));
    RETURN_IF_ERROR(CheckSavedRows(job_.load, shard_, directory_));
    ASSIGN_OR_RETURN(auto rows, OpenSavedRows(options_, directory_, /*read_only=*/false));
    return Finish(std::move(rows));
  }

  // Rows that were saved under another plan, or in other directories.
  Result<std::unique_ptr<ShardStore>> OpenRouted() {
    RETURN_IF_ERROR(RouteRows(options_, job_, {shard_}));
    ASSIGN_OR_RETURN(auto rows, OpenSavedRows(options_, directory_, /*read_only=*/false));
    return Finish(std::move(rows));
  }

  const ShardOpeningOptions& options_;
  const JobSpec& job_;
  const ShardId shard_;
  const std::string directory_;
  const DirectoryOwner owner_;
};

}  // namespace

std::string ShardDirectory(const std::string& row_dir, ShardId shard) {
  std::error_code ignored;
  const std::filesystem::path absolute = std::filesystem::absolute(row_dir, ignored);
  return (absolute.lexically_normal() / fmt::format("shard-{:04}", Raw(shard))).string();
}

std::string RowsDirectory(const std::string& shard_directory) { return shard_directory + "/rows"; }

bool IsWhereItWasSaved(const ShardOpeningOptions& options, const JobSpec& job, ShardId shard) {
  return Opening(options, job, shard).IsWhereItWasSaved();
}

bool GuessesSavedRows(const ShardOpeningOptions& options, const JobSpec& job, ShardId shard) {
  return Opening(options, job, shard).GuessesSavedRows();
}

Result<std::unique_ptr<ShardStore>> OpenShardStore(const ShardOpeningOptions& options,
                                                   const JobSpec& job, ShardId shard) {
  // What was read before another process ended may not be so any more: all is looked at again.
  return OnceNotInUse([&] { return Opening(options, job, shard).Open(); });
}

}  // namespace rowhouse
