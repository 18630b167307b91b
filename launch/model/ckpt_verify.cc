#include <algorithm>
#include <filesystem>

#include "common/counted.h"
#include "launch/model/ckpt.h"
#include "launch/model/last_save.h"
#include "launch/model/manifest.h"
#include "launch/model/model_lock.h"
#include "launch/model/model_settings.h"
#include "launch/model/saved_rows.h"
#include "sharding/rows/optimizer.h"
#include "sharding/rows/record_weights.h"
#include "sharding/rows/rows_digest.h"

namespace rowhouse {
namespace {

// A table as the digest sees it.
struct Table {
  TableSpec spec;
  std::unique_ptr<Optimizer> optimizer;
  DigestedTable digested;
};

// One save of a model.
class Save {
 public:
  Save(std::string directory, const NodeOptions& storage, Figures* out)
      : directory_(std::move(directory)), storage_(storage), out_(*out) {}

  // OK, or the first fault; all are said.
  Status Verify();

 private:
  // Says a fault and goes on.
  void Note(const Status& status);
  void VerifyFiles();
  void VerifyShard(const SavedRows& rows, const SavedShard& shard);
  Status AddRows(RowStore& store);
  Status AddRow(TableId table, RowId row, uint16_t first_column, std::span<const std::byte> record);
  Status AddRowsOnWorkers(const SavedRows& rows);
  void CompareDigests();

  const std::string directory_;
  const NodeOptions& storage_;
  Figures& out_;
  Manifest manifest_;
  std::vector<Table> tables_;
  RowsDigest digest_;
  uint64_t rows_ = 0;
  bool is_digest_saved_ = false;  // Saves in mid-run, and of large stores, do not take the time.
  nlohmann::ordered_json faults_ = nlohmann::ordered_json::array();
  Status first_;
};

void Save::Note(const Status& status) {
  if (status.ok()) return;
  out_.Say("  {}\n", status.message());
  faults_.push_back(status.message());
  if (first_.ok()) first_ = status;
}

void Save::VerifyFiles() {
  for (const ModelFile& file : FilesOf(manifest_)) Note(CheckModelFile(directory_, file));
  Note(ReadModelSettings(directory_, manifest_).status());
}

Status Save::AddRow(TableId table, RowId row, uint16_t first_column,
                    std::span<const std::byte> record) {
  if (Raw(table) >= tables_.size()) {
    return CorruptionError("table {} is none of the model's", Raw(table));
  }
  const Table& of = tables_[Raw(table)];
  const auto layout = LayoutOfRecord(of.spec, *of.optimizer, first_column, record.size());
  if (!layout) {
    return CorruptionError("table \"{}\": row {} has {} bytes, which no row of it has",
                           of.spec.name, Raw(row), record.size());
  }
  digest_.Add(of.digested, row, first_column, *layout, record.data());
  rows_ += first_column == 0 ? 1 : 0;
  return OkStatus();
}

Status Save::AddRows(RowStore& store) {
  RETURN_IF_ERROR(store.Verify([this](TableId table) {
    return Raw(table) < tables_.size() ? tables_[Raw(table)].spec.name : "that is not the model's";
  }));
  return store.Scan(
      [this](TableId table, RowId row, uint16_t first_column, std::span<const std::byte> record) {
        return AddRow(table, row, first_column, record);
      });
}

void Save::VerifyShard(const SavedRows& rows, const SavedShard& shard) {
  const auto store = rows.OpenShard(shard, {.read_only = true}, /*compares_digest=*/true);
  Note((store.ok() ? AddRows(*store.value()) : store.status())
           .Annotate(fmt::format("shard {}", Raw(shard.shard))));
}

Status Save::AddRowsOnWorkers(const SavedRows& rows) {
  return rows.ScanRowsOnWorkers(
      [this](TableId table, RowId row, std::span<const std::byte> record) -> Status {
        const Table& of = tables_[Raw(table)];
        const RecordLayout layout = LayoutOf(of.spec, *of.optimizer);
        if (layout.trailer(record.data()).lsn == 0) return OkStatus();  // No step has touched it.
        return AddRow(table, row, /*first_column=*/0, record);
      });
}

void Save::CompareDigests() {
  is_digest_saved_ = !manifest_.rows_digest.empty();
  if (!is_digest_saved_) manifest_.rows_digest = digest_.hex();
  if (manifest_.rows_digest == digest_.hex()) return;
  Note(CorruptionError("the digest of all rows is {}, and was {}", digest_.hex(),
                       manifest_.rows_digest));
}

Status Save::Verify() {
  out_.Say("{}\n", directory_);
  const auto verify = [this]() -> Status {
    if (!HasManifest(directory_)) return CorruptionError("its manifest.json is gone");
    ASSIGN_OR_RETURN(const SavedRows rows, SavedRows::Open(directory_, storage_.row_dir));
    manifest_ = rows.manifest();
    for (const TableSpec& spec : manifest_.tables) {
      ASSIGN_OR_RETURN(auto optimizer, Optimizers().Make(spec.optimizer, spec.optimizer_options));
      const StateShape shape = StateShapeOf(*optimizer);
      tables_.push_back({.spec = spec,
                         .optimizer = std::move(optimizer),
                         .digested = DigestedTable(spec.name, shape)});
    }
    VerifyFiles();
    for (const SavedShard& shard : manifest_.shards) VerifyShard(rows, shard);
    Note(AddRowsOnWorkers(rows));
    // Faults say why it would differ.
    if (first_.ok()) CompareDigests();
    return OkStatus();
  };
  Note(verify());
  if (first_.ok()) {
    out_.Say("  whole: step {}, {}, {}, {}, rows digest {}{}, {}\n", manifest_.steps,
             Counted(FilesOf(manifest_).size(), "file"), Counted(manifest_.shards.size(), "shard"),
             Counted(rows_, "row"), digest_.hex(),
             is_digest_saved_ ? "" : " (computed now: it was saved without one)",
             ModelDigestText(manifest_));
  }
  out_.json["saves"].push_back({{"directory", directory_},
                                {"whole", first_.ok()},
                                {"steps", manifest_.steps},
                                {"rows", rows_},
                                {"rows_digest", manifest_.rows_digest},
                                {"model_digest", ModelDigest(manifest_)},
                                {"faults", faults_}});
  return first_;
}

}  // namespace

Status VerifySave(const std::string& directory, const NodeOptions& storage, Figures* out) {
  return Save(directory, storage, out).Verify();
}

Status VerifyModel(const std::string& model_dir, const NodeOptions& storage, Figures* out) {
  const std::vector<std::string> checkpoints = CheckpointDirectoriesOf(model_dir);
  if (!HasManifest(model_dir) && checkpoints.empty()) {
    return UsageError("{} holds no saved model; train with --model_dir", model_dir);
  }
  out->json = {{"saves", nlohmann::ordered_json::array()}};
  Status first;
  bool is_any_whole = false;
  for (const std::string& directory : checkpoints) {
    const auto hold = HoldCheckpoint(directory);
    std::error_code ignored;
    const bool is_gone = hold.status().code() == StatusCode::kUnavailable ||
                         !std::filesystem::exists(directory, ignored);
    if (is_gone) continue;  // A run has deleted it, or does so now.
    const Status status = VerifySave(directory, storage, out);
    is_any_whole = is_any_whole || status.ok();
    if (first.ok()) first = status.Annotate(directory);
  }
  if (!HasManifest(model_dir)) return first;
  // A run changes the rows of the save at its end. Where a checkpoint has taken its place, that is
  // no damage.
  const auto lock = LockModelForReading(model_dir);
  const Result<SavedRows> rows = SavedRows::Open(model_dir, storage.row_dir);
  Status unchanged = lock.status();
  if (unchanged.ok() && rows.ok()) unchanged = rows.value().CheckUnchanged();
  if (!unchanged.ok() && is_any_whole) {
    out->Say("{}\n  not read, the checkpoints have taken its place: {}\n", model_dir,
             unchanged.message());
    return first;
  }
  if (!lock.ok()) return lock.status();
  const Status status = VerifySave(model_dir, storage, out);
  return first.ok() ? status : first;
}

}  // namespace rowhouse
