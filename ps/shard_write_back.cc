// Rows on their way to the store, and the requests that ask for all of them to be there.
#include "common/wire/codec.h"
#include "ps/shard.h"

namespace rowhouse {

void Shard::QueueWrite(const SliceState& slice, RowId row, std::span<const std::byte> record) {
  StoreWrite& write = queued_writes_[{Raw(slice.slice.table), slice.slice.row_begin}];
  write.slice = slice.store;
  write.rows.push_back(row);
  write.records.insert(write.records.end(), record.begin(), record.end());
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
  for (TableState& table : tables_) {
    for (SliceState& slice : table.slices) {
      size_t bytes = 0;
      for (const auto& [row, slot] : slice.cache->DirtySlots()) {
        QueueWrite(slice, row, {slice.cache->record(slot), table.layout.bytes()});
        slice.cache->set_clean(slot);
        bytes += table.layout.bytes();
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
  const uint64_t ticket = next_ticket_++;
  if (control.header.type == MessageType::kFlush) {
    actions_.push_back(SyncStore{.ticket = ticket, .steps = next_step_});
  } else {
    actions_.push_back(ScanStore{.ticket = ticket});
  }
  store_controls_.emplace(ticket, std::move(control));
}

}  // namespace rowhouse
