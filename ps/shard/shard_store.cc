#include "ps/shard/shard_store.h"

#include <glog/logging.h>

#include <algorithm>
#include <optional>
#include <tuple>

#include "common/host_limits.h"
#include "common/kill_point.h"
#include "ps/store/directory_state.h"
#include "ps/store/replaced_rows.h"
#include "ps/store/written_rows_file.h"
#include "sharding/rows/optimizer.h"
#include "sharding/rows/record_weights.h"

namespace rowhouse {
ShardStore::ShardStore(std::unique_ptr<RowStore> store, std::string directory,
                       const std::vector<TableSpec>& tables, uint64_t steps, std::string whole)
    : store_(std::move(store)),
      directory_(std::move(directory)),
      last_sync_steps_(steps),
      parts_(*store_, directory_, std::move(whole)) {
  for (const TableSpec& spec : tables) {
    auto optimizer = Optimizers().Make(spec.optimizer, spec.optimizer_options).value();
    const DigestedTable digested(spec.name, StateShapeOf(*optimizer));
    tables_.push_back({.spec = spec, .optimizer = std::move(optimizer), .digested = digested});
  }
}

ShardStore::~ShardStore() {
  store_.reset();
  if (has_changed_ || directory_.empty() || !HasReplacedRows(directory_)) return;
  const Status status = PutBackReplacedRows(directory_);
  LOG_IF(ERROR, !status.ok()) << "the rows that were to be replaced: " << status.message();
}

// From here on the directory holds rows of this run; those it replaces are deleted.
Status ShardStore::MarkChanged() {
  KillPoint("shard.before_open");
  RETURN_IF_ERROR(WriteState(directory_, {.is_clean = false, .step = last_sync_steps_}));
  KillPoint("shard.open");
  if (!has_changed_) RETURN_IF_ERROR(DeleteReplacedRows(directory_));
  has_changed_ = true;
  return OkStatus();
}

ShardEvent ShardStore::Execute(ShardAction& action) {
  if (auto* read = std::get_if<ReadRows>(&action)) {
    RowsRead event{.ticket = read->ticket, .status = {}, .reads = std::move(read->reads)};
    for (StoreRead& one : event.reads) {
      event.status = store_->Get(one.slice, one.rows, one.records, &one.missing);
      if (!event.status.ok()) break;
    }
    return event;
  }
  if (auto* write = std::get_if<WriteRows>(&action)) {
    return RowsWritten{.ticket = write->ticket, .status = Write(*write)};
  }
  if (auto* sync = std::get_if<SyncStore>(&action)) {
    StoreSynced event{.ticket = sync->ticket, .status = Sync(*sync)};
    if (event.status.ok() && sync->is_clean) event.stamp = store_->stamp();
    return event;
  }
  if (auto* count = std::get_if<CountStore>(&action)) {
    return StoreCounted{.ticket = count->ticket,
                        .counters = store_->counters(),
                        .process_peak_bytes = PeakBytesOfProcess()};
  }
  auto* scan = std::get_if<ScanStore>(&action);
  CHECK(scan != nullptr) << "not a store action";
  return Scan(scan->ticket);
}

Status ShardStore::Write(const WriteRows& action) {
  if (!is_open_ && !directory_.empty()) {
    RETURN_IF_ERROR(AsFaultOfTheWorld(MarkChanged()));
  }
  is_open_ = true;
  for (const StoreWrite& one : action.writes) {
    RETURN_IF_ERROR(store_->Put(one.slice, one.rows, one.records));
    KillPoint("shard.rows_put");
  }
  return OkStatus();
}

Status ShardStore::Sync(const SyncStore& action) {
  if (!action.is_clean) return store_->Sync();
  RETURN_IF_ERROR(store_->Settle());
  KillPoint("shard.before_clean");
  if (!directory_.empty()) {
    RETURN_IF_ERROR(AsFaultOfTheWorld(WriteState(
        directory_, {.is_clean = true, .step = action.steps, .stamp = store_->stamp()})));
    KillPoint("shard.clean");
    if (!has_changed_) RETURN_IF_ERROR(AsFaultOfTheWorld(DeleteReplacedRows(directory_)));
    has_changed_ = true;
  }
  is_open_ = false;
  last_sync_steps_ = action.steps;
  if (!directory_.empty() && !action.written_rows.empty()) {
    KeepWrittenRows(action.written_rows);
  }
  return OkStatus();
}

ShardEvent ShardStore::ExecuteSave(ShardAction& action) {
  if (auto* cut = std::get_if<CutStore>(&action)) {
    return StoreCut{.ticket = cut->ticket, .status = AsFaultOfTheWorld(Cut(*cut))};
  }
  if (auto* delta = std::get_if<WriteDelta>(&action)) {
    const Status status =
        delta->writes.empty() ? OkStatus() : parts_.AddToDelta(delta->steps, delta->writes);
    return DeltaWritten{.ticket = delta->ticket, .status = AsFaultOfTheWorld(status)};
  }
  if (auto* make = std::get_if<MakePart>(&action)) return Make(*make);
  if (auto* drop = std::get_if<DropPart>(&action)) {
    parts_.Abandon(drop->name);
    return Deleted(OkStatus());
  }
  auto* deleted = std::get_if<DeletePartsOf>(&action);
  CHECK(deleted != nullptr) << "not an action of a save";
  return Deleted(parts_.Delete(std::move(deleted->names), deleted->whole, deleted->steps));
}

// A model that this run replaces is gone once there is a part of the run's own.
Status ShardStore::Cut(const CutStore& action) {
  if (action.has_changes && !is_open_ && !directory_.empty()) {
    RETURN_IF_ERROR(MarkChanged());
    is_open_ = true;
  }
  return parts_.Cut(action.name);
}

PartMade ShardStore::Make(const MakePart& action) {
  PartMade event{.ticket = action.ticket, .status = {}, .directory = {}, .checksum = {}};
  Result<PartMaker::Part> made =
      parts_.Finish(action.name, action.steps, action.deltas, action.written_rows);
  event.status = AsFaultOfTheWorld(made.status());
  if (!made.ok()) return event;
  event.directory = std::move(made.value().directory);
  event.checksum = std::move(made.value().facts.checksum);
  event.bytes = made.value().facts.bytes;
  event.delta_bytes = made.value().delta_bytes;
  Result<std::vector<std::string>> parts = parts_.Parts();
  event.status = AsFaultOfTheWorld(parts.status());
  if (parts.ok()) event.parts = std::move(parts).value();
  return event;
}

PartsDeleted ShardStore::Deleted(Status status) const {
  PartsDeleted event{.status = std::move(status), .parts = {}};
  if (event.status.ok()) {
    Result<std::vector<std::string>> parts = parts_.Parts();
    event.status = parts.status();
    if (parts.ok()) event.parts = std::move(parts).value();
  }
  event.status = AsFaultOfTheWorld(event.status);
  return event;
}

// The rows are saved without this file: an error here costs the next run a scan.
void ShardStore::KeepWrittenRows(std::span<const WrittenSlice> slices) const {
  if (store_->stamp().empty()) return;
  const Status kept = SaveWrittenRows(directory_ + kWrittenRowsFile, store_->stamp(), slices);
  LOG_IF(WARNING, !kept.ok()) << "the next --load has to scan all rows of " << directory_ << ": "
                              << kept.message();
}

Status ShardStore::TellStored(Shard* shard, OpeningProgress* progress) {
  uint64_t left = 0;  // of the bytes of files, which are about those of records
  for (const RowStoreLevel& level : store_->levels()) left += level.bytes;
  progress->Expect(left);
  if (!directory_.empty()) {
    const Status known =
        LoadWrittenRows(directory_ + kWrittenRowsFile, store_->stamp(), shard->written_slices());
    if (known.ok()) return progress->Advance(left);
    VLOG(1) << "scans all rows of " << directory_ << ": " << known.message();
  }
  RETURN_IF_ERROR(store_->Scan([&](TableId table, RowId row, uint16_t first_column,
                                   std::span<const std::byte> record) -> Status {
    shard->NoteStored(table, row, first_column);
    const uint64_t bytes = std::min<uint64_t>(left, record.size());
    left -= bytes;
    return progress->Advance(bytes);
  }));
  return progress->Advance(left);
}

Status ShardStore::VisitRows(const std::function<void(TableId, RowId, uint16_t)>& visit) {
  return store_->Scan(
      [&](TableId table, RowId row, uint16_t first_column, std::span<const std::byte>) -> Status {
        visit(table, row, first_column);
        return OkStatus();
      });
}

StoreScanned ShardStore::Scan(uint64_t ticket) {
  StoreScanned event;
  event.ticket = ticket;
  RowsDigest digest;
  // Records of one table, column and size mostly follow one another.
  std::tuple<uint32_t, uint16_t, size_t> last;
  std::optional<RecordLayout> layout;
  event.status = store_->Scan([&](TableId table, RowId row, uint16_t first_column,
                                  std::span<const std::byte> record) -> Status {
    const std::tuple which(Raw(table), first_column, record.size());
    if (Raw(table) < tables_.size() && (!layout || which != last)) {
      const TableShape& shape = tables_[Raw(table)];
      layout = LayoutOfRecord(shape.spec, *shape.optimizer, first_column, record.size());
      last = which;
    }
    if (Raw(table) >= tables_.size() || !layout) {
      return CorruptionError("row {} of table {} has {} bytes, which no table of the model has",
                             Raw(row), Raw(table), record.size());
    }
    digest.Add(tables_[Raw(table)].digested, row, first_column, *layout, record.data());
    if (first_column == 0) ++event.rows;  // Each row has column 0 on one shard only.
    return OkStatus();
  });
  event.digest_high = digest.high();
  event.digest_low = digest.low();
  return event;
}

}  // namespace rowhouse
