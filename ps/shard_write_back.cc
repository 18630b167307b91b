// Rows on their way to the store, and the requests that ask for all of them to be there.
#include "common/wire/codec.h"
#include "ps/shard.h"
#include "sharding/record_finite.h"

namespace rowhouse {

// Here rows are looked at, not when they are updated: once they are cached, updates are many times
// as frequent, and an unsound row that is not used again does no harm before.
void Shard::QueueWrite(const CutState& cut, const SliceState& slice, RowId row,
                       const std::byte* record) {
  if (!IsFiniteRecord(cut.layout, record)) {
    return Fail(NotFiniteError(cut.spec, cut.layout, {row, cut.first_column}, record));
  }
  StoreWrite& write =
      queued_writes_[{Raw(slice.slice.table), slice.slice.column_begin, slice.slice.row_begin}];
  write.slice = slice.store;
  write.rows.push_back(row);
  write.records.insert(write.records.end(), record, record + cut.layout.bytes());
  ++stats_.rows_written;
}

void Shard::FlushQueuedWrites() {
  if (queued_writes_.empty()) return;
  WriteRows action{.ticket = next_ticket_++, .writes = {}};
  uint64_t bytes = 0;
  for (auto& [key, write] : queued_writes_) {
    bytes += write.records.size();
    action.writes.push_back(std::move(write));
  }
  queued_writes_.clear();
  unwritten_bytes_ += bytes;
  write_bytes_.emplace(action.ticket, bytes);
  actions_.push_back(std::move(action));
}

void Shard::WriteAllDirty() {
  // RocksDB's batches stay small; the copies of all of them wait in memory until they are written.
  constexpr size_t kMaxWriteBytes = 8 << 20;
  for (CutState& cut : cuts_) {
    for (SliceState& slice : cut.slices) {
      size_t bytes = 0;
      for (const auto& [row, slot] : slice.cache->DirtySlots()) {
        QueueWrite(cut, slice, row, slice.cache->record(slot));
        slice.cache->set_clean(slot);
        bytes += cut.layout.bytes();
        if (bytes >= kMaxWriteBytes) {
          FlushQueuedWrites();
          bytes = 0;
        }
      }
    }
  }
  FlushQueuedWrites();
}

void Shard::ServeControl(PendingControl control) {
  if (control.header.step != next_step_) {
    return SendError(
        control.peer, control.header,
        MakeStatus(StatusCode::kInternal, "{}: asked about step {}, but step {} is next",
                   options_.name, control.header.step, next_step_));
  }
  if (control.header.type == MessageType::kStats) {
    return Send(control.peer, EncodeMessage(ReplyHeader(control.header), stats_));
  }
  WriteAllDirty();
  if (!failure_.ok()) return SendError(control.peer, control.header, failure_);
  const uint64_t ticket = next_ticket_++;
  if (control.header.type == MessageType::kFlush) {
    actions_.push_back(SyncStore{.ticket = ticket, .steps = next_step_});
  } else {
    actions_.push_back(ScanStore{.ticket = ticket});
  }
  store_controls_.emplace(ticket, std::move(control));
}

}  // namespace rowhouse
