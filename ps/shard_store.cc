#include "ps/shard_store.h"

#include "ps/directory_state.h"
#include "sharding/optimizer.h"
#include "sharding/record_weights.h"

namespace rowhouse {

ShardStore::ShardStore(std::unique_ptr<RowStore> store, std::string directory,
                       const std::vector<TableSpec>& tables, uint64_t steps)
    : store_(std::move(store)), directory_(std::move(directory)), last_sync_steps_(steps) {
  for (const TableSpec& spec : tables) {
    const auto optimizer = Optimizers().Make(spec.optimizer, spec.optimizer_options).value();
    tables_.push_back({.digested = DigestedTable(spec.name, StateShapeOf(*optimizer)),
                       .layout = LayoutOf(spec, *optimizer)});
  }
}

ShardEvent ShardStore::Execute(ShardAction action) {
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
    return StoreSynced{.ticket = sync->ticket, .status = Sync(sync->steps)};
  }
  auto* scan = std::get_if<ScanStore>(&action);
  CHECK(scan != nullptr) << "not a store action";
  return Scan(scan->ticket);
}

Status ShardStore::Write(const WriteRows& action) {
  if (!is_open_ && !directory_.empty()) {
    RETURN_IF_ERROR(WriteState(directory_, {.is_clean = false, .step = last_sync_steps_}));
  }
  is_open_ = true;
  for (const StoreWrite& one : action.writes) {
    RETURN_IF_ERROR(store_->Put(one.slice, one.rows, one.records));
  }
  return OkStatus();
}

Status ShardStore::Sync(uint64_t steps) {
  RETURN_IF_ERROR(store_->Sync());
  if (!directory_.empty()) {
    RETURN_IF_ERROR(WriteState(directory_, {.is_clean = true, .step = steps}));
  }
  is_open_ = false;
  last_sync_steps_ = steps;
  return OkStatus();
}

StoreScanned ShardStore::Scan(uint64_t ticket) {
  StoreScanned event;
  event.ticket = ticket;
  RowsDigest digest;
  event.status = store_->Scan([&](TableId table, RowId row, uint16_t first_column,
                                  std::span<const std::byte> record) -> Status {
    if (Raw(table) >= tables_.size() || record.size() != tables_[Raw(table)].layout.bytes()) {
      return CorruptionError("row {} of table {} has {} bytes, which no table of the model has",
                             Raw(row), Raw(table), record.size());
    }
    const TableShape& shape = tables_[Raw(table)];
    digest.Add(shape.digested, row, first_column, shape.layout, record.data());
    ++event.rows;
    return OkStatus();
  });
  event.digest_high = digest.high();
  event.digest_low = digest.low();
  return event;
}

}  // namespace rowhouse
