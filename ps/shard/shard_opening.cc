#include "ps/shard/shard_opening.h"

#include <algorithm>
#include <filesystem>
#include <map>

#include "common/digest.h"
#include "common/new_file.h"
#include "ps/store/checkpoint_part.h"
#include "ps/store/directory_state.h"
#include "ps/store/replaced_rows.h"
#include "sharding/rows/record_weights.h"

namespace rowhouse {
namespace {

constexpr size_t kRowsPerWrite = 4096;

bool HoldsAnything(const std::string& directory) {
  std::error_code ignored;  // An unreadable directory is reported by who opens it.
  return std::filesystem::exists(directory, ignored) &&
         !std::filesystem::is_empty(directory, ignored);
}

bool HoldsRowFiles(const std::string& directory) {
  std::error_code error;
  for (std::filesystem::directory_iterator at(directory, error), end; !error && at != end;
       at.increment(error)) {
    if (at->path().extension() == ".sst") return true;
  }
  return false;
}

Status RemoveAll(const std::string& directory) {
  std::error_code error;
  std::filesystem::remove_all(directory, error);
  if (error) return UsageError("cannot delete {}: {}", directory, error.message());
  return OkStatus();
}

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

  // The saved rows, and no others; none are made.
  Result<std::unique_ptr<RowStore>> OpenSavedRows(const std::string& directory,
                                                  bool read_only) const {
    ASSIGN_OR_RETURN(const DirectoryState state, ReadState(directory));
    Result<std::unique_ptr<RowStore>> rows =
        RowStores().Make(options_.store, {.path = RowsDirectory(directory),
                                          .read_only = read_only,
                                          .creates = false,
                                          .expected_stamp = state.stamp,
                                          .environment = options_.environment,
                                          .own = options_.store_own});
    if (!rows.ok()) return WithCure(rows.status(), directory);
    return rows;
  }

  // The operator can only put back what is missing or damaged.
  static Status WithCure(const Status& status, const std::string& directory) {
    const StatusCode code = status.code();
    if (code != StatusCode::kNotFound && code != StatusCode::kCorruption) return status;
    return MakeStatus(code,
                      "--load: {}. Put {} back as it was when the model was saved, or train anew "
                      "with --overwrite",
                      status.message(), directory);
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
    if (job_.is_load) {
      return UsageError(
          "--load under another plan or row directory: {} holds rows already (of model {}); give "
          "an empty --row_dir, the saved rows are routed there anew",
          directory_, owner.value().model);
    }
    const Result<DirectoryState> state = ReadState(directory_);
    // STATE.json is written before the first row, so rows without one have lost it.
    const bool has_rows =
        state.status().code() != StatusCode::kNotFound || HoldsRowFiles(RowsDirectory(directory_));
    if (!job_.overwrite && has_rows) {
      RETURN_IF_ERROR(CheckNotInUse());
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
    return has_rows ? SetAsideRows(directory_) : RemoveAll(directory_);
  }

  // kUsage if a process has the rows open. Changes nothing.
  Status CheckNotInUse() const {
    const Status opened = RowStores()
                              .Make(options_.store, {.path = RowsDirectory(directory_),
                                                     .read_only = true,
                                                     .environment = options_.environment,
                                                     .own = options_.store_own})
                              .status();
    return opened.code() == StatusCode::kUsage ? opened : OkStatus();
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

  // Its rows in this place, or in a copy of it: of a model that was copied or moved.
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

  // Where this shard's saved rows are if they were saved in this row directory.
  std::string SavedHere() const {
    const std::string& checkpoint = job_.load.checkpoint;
    return checkpoint.empty() ? directory_ : CheckpointPart(directory_, checkpoint);
  }

  // OK if the rows in `directory` are those of this shard that the manifest names.
  Status CheckSaved(ShardId shard, const std::string& directory) const {
    const Result<DirectoryState> read = ReadState(directory);
    if (!read.ok()) return WithCure(read.status(), directory);
    const DirectoryState& state = read.value();
    RETURN_IF_ERROR(CheckClean(directory, state));
    if (state.step != job_.load.step) {
      return UsageError(
          "{} holds rows after {} steps, the manifest of --model_dir was saved after {}; they do "
          "not belong together",
          directory, state.step, job_.load.step);
    }
    const auto saved = std::ranges::find(job_.load.shards, shard, &SavedShard::shard);
    if (saved == job_.load.shards.end() || saved->stamp.empty() || saved->stamp == state.stamp) {
      return OkStatus();
    }
    return WithCure(CorruptionError("{} holds other rows than the manifest of --model_dir names: "
                                    "their stamp is {}, and was {}",
                                    directory, state.stamp, saved->stamp),
                    directory);
  }

  // Whether the rows that lie here are those of the part, as a run that ended in order leaves them.
  bool HoldsRowsOf(const std::string& part) const {
    const Result<DirectoryOwner> owner = ReadOwner(directory_), of_part = ReadOwner(part);
    const Result<DirectoryState> state = ReadState(directory_), saved = ReadState(part);
    return owner.ok() && of_part.ok() && owner.value() == of_part.value() && state.ok() &&
           saved.ok() && !saved.value().stamp.empty() && state.value() == saved.value();
  }

  // Replaces the rows here by a copy of the checkpoint's, unless they are the same.
  Status Restore() {
    const auto saved = std::ranges::find(job_.load.shards, shard_, &SavedShard::shard);
    const std::string part = SavedHere();
    if (const Status is_whole = CheckPart(part, saved->checksum); !is_whole.ok()) {
      return WithCure(is_whole, part);
    }
    if (HoldsRowsOf(part)) return OkStatus();
    if (HoldsAnything(directory_)) {
      const Result<DirectoryOwner> owner = ReadOwner(directory_);
      if (!owner.ok()) return owner.status().Annotate("--load, where the rows were");
      // Rows of another model are those that this one replaced by --overwrite: a run that replaces
      // rows deletes all parts beside them.
      RETURN_IF_ERROR(CheckNotInUse());
    }
    RETURN_IF_ERROR(RemoveAll(CopyOf(directory_)));
    RETURN_IF_ERROR(CopyPart(part, CopyOf(directory_)));
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
    RETURN_IF_ERROR(CheckSaved(shard_, directory_));
    ASSIGN_OR_RETURN(auto rows, OpenSavedRows(directory_, /*read_only=*/false));
    return Finish(std::move(rows));
  }

  // Copies rows that were saved under another plan, or in other directories, as this plan divides
  // them. The sources are not changed.
  Result<std::unique_ptr<ShardStore>> OpenRouted() {
    if (IsRoutedAlready()) {
      ASSIGN_OR_RETURN(auto rows, OpenSavedRows(directory_, /*read_only=*/false));
      return Finish(std::move(rows));
    }
    for (const SavedShard& saved : job_.load.shards) {
      RETURN_IF_ERROR(CheckSource(saved));
    }
    RETURN_IF_ERROR(ClearCutOffRouting());
    RETURN_IF_ERROR(Clear());
    RETURN_IF_ERROR(ClaimDirectory(directory_, owner_).status());
    const Status filled = Fill();
    if (!filled.ok()) {
      // Fill may have failed because another process fills this directory.
      const Status removed = RemoveUnused();
      LOG_IF(ERROR, !removed.ok()) << removed.message();
      return filled;
    }
    ASSIGN_OR_RETURN(auto rows, OpenSavedRows(directory_, /*read_only=*/false));
    return Finish(std::move(rows));
  }

  // Deletes what an interrupted Fill of this very run has left: an owner without a state, as the
  // state is written after the last row. Its rows are in the sources, too. An unreadable state is
  // not a missing one: the rows beside it may be the only copy.
  Status ClearCutOffRouting() {
    const Result<DirectoryOwner> owner = ReadOwner(directory_);
    if (!owner.ok() || owner.value() != owner_) return OkStatus();  // Clear() reports whose it is.
    const Status state = ReadState(directory_).status();
    if (state.ok()) return OkStatus();
    if (state.code() != StatusCode::kNotFound) {
      return state.Annotate("--load under another plan or row directory needs an empty --row_dir");
    }
    return RemoveUnused();
  }

  // Opening the rows takes their lock, or finds damage behind it: no other process has them open.
  Status RemoveUnused() {
    const Status opened = OpenRows(directory_).status();
    if (!opened.ok() && opened.code() != StatusCode::kCorruption &&
        opened.code() != StatusCode::kResourceExhausted) {
      return opened;
    }
    return RemoveAll(directory_);
  }

  // An earlier attempt filled this shard and was refused elsewhere: the rows are here, unchanged.
  bool IsRoutedAlready() const {
    const Result<DirectoryOwner> owner = ReadOwner(directory_);
    if (!owner.ok() || owner.value() != owner_) return false;
    const Result<DirectoryState> state = ReadState(directory_);
    return state.ok() && state.value().is_clean && state.value().step == job_.load.step &&
           AreSourcesNamed() && state.value().routed_from == SourcesDigest();
  }

  // Whether the manifest says which rows it means. One whose compaction was cut off does not.
  bool AreSourcesNamed() const {
    return std::ranges::none_of(job_.load.shards, [](const SavedShard& saved) {
      return saved.stamp.empty() && saved.checksum.empty();
    });
  }

  // Which rows those of job_.load are: two models may have gone on from one, for as many steps.
  std::string SourcesDigest() const {
    std::string text;
    for (const SavedShard& saved : job_.load.shards) {
      text += fmt::format("{} {} {}\n", Raw(saved.shard), saved.stamp, saved.checksum);
    }
    return DigestOf(text);
  }

  Status CheckSource(const SavedShard& saved) const {
    RETURN_IF_ERROR(options_.readable.Check(saved.directory)
                        .Annotate("--load under another plan or row directory"));
    if (!job_.load.checkpoint.empty()) {
      const Status is_whole = CheckPart(saved.directory, saved.checksum);
      if (!is_whole.ok()) return WithCure(is_whole, saved.directory);
    }
    const Result<DirectoryOwner> found = ReadOwner(saved.directory);
    if (!found.ok()) {
      return UsageError(
          "--load under another plan or row directory: the rows of shard {} were saved in {} on "
          "{}, which {} cannot read ({}); make all saved row directories readable there, or load "
          "with the saved number of PS nodes and shards and the same --row_dir",
          Raw(saved.shard), saved.directory, saved.host, options_.host, found.status().message());
    }
    if (found.value().model != job_.model_id || found.value().shard != saved.shard) {
      return UsageError("--load: {} holds shard {} of model {}, not shard {} of model {}",
                        saved.directory, Raw(found.value().shard), found.value().model,
                        Raw(saved.shard), job_.model_id);
    }
    if (saved.directory == directory_) {
      return UsageError(
          "--load under another plan (other PS nodes, shards or strategy): {} holds rows of the "
          "saved "
          "plan; give what it was saved with, or another --row_dir: the rows are routed there anew",
          directory_);
    }
    return CheckSaved(saved.shard, saved.directory);
  }

  // Whether a stored record belongs to a slice of this shard. Records are copied whole: kUsage if
  // the plan divides a row's columns at other places than the saved one.
  Result<bool> IsMine(TableId table, RowId row, uint16_t first_column, size_t bytes) const {
    if (Raw(table) >= job_.tables.size()) return false;
    const uint64_t position = job_.plan.order(table).PositionOf(row);
    const std::span<const Slice> slices = job_.plan.slices(table);
    for (size_t i = 0; i < slices.size(); ++i) {
      if (position < slices[i].row_begin || position >= slices[i].row_end) continue;
      if (slices[i].column_begin != first_column) continue;
      if (record_bytes_[Raw(table)][i] != bytes) break;
      return slices[i].shard == shard_;
    }
    return UsageError(
        "--load: the rows of table \"{}\" were saved with their columns cut at other places than "
        "this run's plan cuts them; load with the strategy, or the plan, the model was saved with",
        job_.tables[Raw(table)].name);
  }

  void SizeRecords() {
    for (const TableSpec& spec : job_.tables) {
      const auto optimizer = Optimizers().Make(spec.optimizer, spec.optimizer_options).value();
      std::vector<size_t>& bytes = record_bytes_.emplace_back();
      for (const Slice& slice : job_.plan.slices(spec.id)) {
        bytes.push_back(LayoutOf(spec, *optimizer, slice.columns()).bytes());
      }
    }
  }

  Status Fill() {
    SizeRecords();
    ASSIGN_OR_RETURN(const auto target, OpenRows(directory_));
    uint64_t rows = 0;
    for (const SavedShard& saved : job_.load.shards) {
      ASSIGN_OR_RETURN(const auto source, OpenSavedRows(saved.directory, /*read_only=*/true));
      StoreWrite batch;
      const auto flush = [&]() -> Status {
        rows += batch.rows.size();
        const Status put = target->Put(batch.slice, batch.rows, batch.records);
        batch.rows.clear();
        batch.records.clear();
        return put;
      };
      RETURN_IF_ERROR(source->Scan([&](TableId table, RowId row, uint16_t first_column,
                                       std::span<const std::byte> record) -> Status {
        RETURN_IF_ERROR(options_.progress->Advance(record.size()));
        ASSIGN_OR_RETURN(const bool is_mine, IsMine(table, row, first_column, record.size()));
        if (!is_mine) return OkStatus();
        if (!batch.rows.empty() &&
            (batch.slice.table != table || batch.slice.first_column != first_column ||
             batch.rows.size() >= kRowsPerWrite)) {
          RETURN_IF_ERROR(flush());
        }
        batch.slice = {.table = table,
                       .first_column = first_column,
                       .record_bytes = static_cast<uint32_t>(record.size())};
        batch.rows.push_back(row);
        batch.records.insert(batch.records.end(), record.begin(), record.end());
        return OkStatus();
      }));
      if (!batch.rows.empty()) {
        RETURN_IF_ERROR(flush());
      }
    }
    RETURN_IF_ERROR(target->Settle());
    RETURN_IF_ERROR(WriteState(directory_, {.is_clean = true,
                                            .step = job_.load.step,
                                            .stamp = target->stamp(),
                                            .routed_from = SourcesDigest()}));
    LOG(INFO) << "rows routed anew shard=" << Raw(shard_) << " rows=" << rows
              << " from=" << job_.load.shards.size() << " directories";
    return OkStatus();
  }

  const ShardOpeningOptions& options_;
  const JobSpec& job_;
  const ShardId shard_;
  const std::string directory_;
  const DirectoryOwner owner_;
  std::vector<std::vector<size_t>> record_bytes_;  // of each table: of each of its slices
};

}  // namespace

std::string ShardDirectory(const std::string& row_dir, ShardId shard) {
  std::error_code ignored;
  const std::filesystem::path absolute = std::filesystem::absolute(row_dir, ignored);
  return (absolute.lexically_normal() / fmt::format("shard-{:04}", Raw(shard))).string();
}

std::string RowsDirectory(const std::string& shard_directory) { return shard_directory + "/rows"; }

Result<std::unique_ptr<ShardStore>> OpenShardStore(const ShardOpeningOptions& options,
                                                   const JobSpec& job, ShardId shard) {
  return Opening(options, job, shard).Open();
}

}  // namespace rowhouse
