// Rows on their way to the store, and the requests that ask for all of them to be there.
#include <algorithm>
#include <cmath>

#include "common/wire/codec.h"
#include "ps/shard/shard.h"
#include "sharding/rows/record_finite.h"

namespace rowhouse {

// Here rows are looked at, not when they are updated: once they are cached, updates are many times
// as frequent, and an unsound row that is not used again does no harm before.
void Shard::QueueWrite(const CutState& cut, SliceState& slice, RowId row, const std::byte* record) {
  if (!IsFiniteRecord(cut.layout, record)) {
    return Fail(NotFiniteError(cut.spec, cut.layout, {row, cut.first_column}, record));
  }
  StoreWrite& write = QueuedWriteOf(slice);
  write.rows.push_back(row);
  write.records.insert(write.records.end(), record, record + cut.layout.bytes());
  ++stats_.rows_written;
  slice.written->Add(cut.order.PositionOf(row) - slice.slice.row_begin);
  if (!prefetches_.empty()) slice.written_at[row] = next_ticket_;
}

StoreWrite& Shard::QueuedWriteOf(const SliceState& slice) {
  StoreWrite& write =
      queued_writes_[{Raw(slice.slice.table), slice.slice.column_begin, slice.slice.row_begin}];
  write.slice = slice.store;
  return write;
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
  actions_.emplace_back(std::move(action));
}

RowCache::Slot Shard::SlotsOfPiece(const CutState& cut) const {
  constexpr uint64_t kPieceBytes = 1 << 20;
  return std::max<RowCache::Slot>(
      1, std::min(kPieceBytes, options_.max_unwritten_bytes) / cut.layout.bytes());
}

// In pieces, and no more of them at a time than may wait to be written: their copies take bounded
// memory, however many rows are dirty. RowsWritten brings it back here. Pieces are as large as the
// blocks of memtables, which take the places they leave in the heap: larger ones would find none
// again, and the heap would grow by what is written.
void Shard::ContinueSave() {
  Save& save = *save_;
  for (; save.cut < cuts_.size(); ++save.cut, save.slice = 0) {
    CutState& cut = cuts_[save.cut];
    const RowCache::Slot piece = SlotsOfPiece(cut);
    for (; save.slice < cut.slices.size(); ++save.slice, save.next = 0) {
      SliceState& slice = cut.slices[save.slice];
      while (save.next < slice.cache->capacity_rows()) {
        if (unwritten_bytes_ >= options_.max_unwritten_bytes) return;
        const RowCache::Slot end = std::min(slice.cache->capacity_rows(), save.next + piece);
        WriteDirty(cut, slice, save.next, end);
        if (!failure_.ok()) return;
        FlushQueuedWrites();
        save.next = end;
      }
    }
  }
  const uint64_t ticket = next_ticket_++;
  if (save.control.header.type == MessageType::kFlush) {
    syncs_.emplace(ticket, next_step_);  // In synchronous mode a change's LSN is its step + 1.
    SyncStore sync{.ticket = ticket, .steps = next_step_};
    // A copy: rows are written, and noted, while the store is at it.
    if (options_.keeps_written_rows) sync.written_rows = ImageOfWrittenRows(written_slices());
    actions_.emplace_back(std::move(sync));
  } else {
    actions_.emplace_back(ScanStore{.ticket = ticket});
  }
  store_controls_.emplace(ticket, std::move(save.control));
  save_.reset();
}

void Shard::WriteDirty(CutState& cut, SliceState& slice, RowCache::Slot begin, RowCache::Slot end) {
  const std::vector<std::pair<RowId, RowCache::Slot>> dirty = slice.cache->DirtySlots(begin, end);
  if (dirty.empty()) return;
  StoreWrite& write = QueuedWriteOf(slice);
  write.rows.reserve(write.rows.size() + dirty.size());
  write.records.reserve(write.records.size() + dirty.size() * cut.layout.bytes());
  for (const auto& [row, slot] : dirty) {
    QueueWrite(cut, slice, row, slice.cache->record(slot));
    slice.cache->set_clean(slot);
  }
}

// How much of a lap of the sweeper is over: that of its steps or, if that is more, of the bytes a
// log may take meanwhile.
double Shard::LapProgress() const {
  const double steps = static_cast<double>(next_step_ - lap_began_) /
                       static_cast<double>(options_.node.dirty_steps());
  if (!options_.node.logs_pushes()) return steps;
  return std::max(steps, static_cast<double>(stats_.log_bytes - lap_log_began_) /
                             static_cast<double>(options_.max_lap_log_bytes));
}

// A hand a slice goes over all slots once in max_dirty_steps steps, so what was dirty when a lap
// began is written when it ends; no row needs to know since when it is dirty. With a log each lap
// ends in a sync of the store, after which the log is not needed that far.
void Shard::Sweep() {
  if (options_.node.dirty_steps() == 0) return;
  const double progress = LapProgress();
  const uint64_t written_before = stats_.rows_written;
  for (CutState& cut : cuts_) {
    for (SliceState& slice : cut.slices) {
      const RowCache::Slot slots = slice.cache->capacity_rows();
      const auto end = progress >= 1.0
                           ? slots
                           : std::min(slots, static_cast<RowCache::Slot>(
                                                 std::ceil(progress * static_cast<double>(slots))));
      if (end <= slice.hand) continue;
      WriteDirty(cut, slice, slice.hand, end);
      slice.hand = end;
    }
  }
  stats_.rows_swept += stats_.rows_written - written_before;
  // While the last lap's sync is under way this one goes on: on a slow disk syncs would queue up,
  // and the log would grow by a lap for each.
  if (progress < 1.0 || !failure_.ok() || (options_.node.logs_pushes() && !syncs_.empty())) return;
  FlushQueuedWrites();
  if (options_.node.logs_pushes()) {
    const uint64_t ticket = next_ticket_++;
    syncs_.emplace(ticket, lap_began_);
    actions_.emplace_back(SyncStore{.ticket = ticket, .steps = next_step_, .is_clean = false});
  }
  lap_began_ = next_step_;
  lap_log_began_ = stats_.log_bytes;
  for (CutState& cut : cuts_) {
    for (SliceState& slice : cut.slices) slice.hand = 0;
  }
}

void Shard::OnStoreSynced(const StoreSynced& event) {
  if (!event.status.ok()) Fail(event.status);
  const auto sync = syncs_.extract(event.ticket);
  if (failure_.ok() && options_.node.logs_pushes() && !sync.empty()) {
    actions_.emplace_back(TruncateLog{.low_water = sync.mapped()});
  }
  if (auto control = store_controls_.extract(event.ticket); !control.empty()) {
    Send(control.mapped().peer, EncodeMessage(ReplyHeader(control.mapped().header), FlushReply{}));
  }
}

StatsReply Shard::StatsWith(const StoreCounted& counted) const {
  const RowStoreCounters& counters = counted.counters;
  StatsReply reply = stats_;
  reply.process_peak_bytes = counted.process_peak_bytes;
  for (const CutState& cut : cuts_) {
    const uint32_t table = Raw(cut.spec.id);
    if (reply.tables.empty() || reply.tables.back().table != table) {
      reply.tables.push_back({.table = table});
    }
    reply.tables.back().pulled.Add(cut.pulled);
    reply.tables.back().rows_pushed += cut.rows_pushed;
  }
  reply.store_rows_read = counters.rows_read;
  reply.store_stalls = counters.stalls;
  reply.store_stall_ms = counters.stall_ms;
  reply.store_bytes_read = counters.file_bytes_read;
  reply.store_bytes_written = counters.bytes_flushed + counters.bytes_compacted;
  return reply;
}

void Shard::ServeControl(PendingControl control) {
  if (control.header.type == MessageType::kStats) {  // Of now, whatever step was asked about.
    const uint64_t ticket = next_ticket_++;
    actions_.emplace_back(CountStore{.ticket = ticket});
    store_controls_.emplace(ticket, std::move(control));
    return;
  }
  if (control.header.step != next_step_) {
    return SendError(
        control.peer, control.header,
        MakeStatus(StatusCode::kInternal, "{}: asked about step {}, but step {} is next",
                   options_.name, control.header.step, next_step_));
  }
  if (save_) {  // One at a time; Advance comes back to it.
    parked_controls_.push_back(std::move(control));
    return;
  }
  save_ = Save{.control = std::move(control)};
  ContinueSave();
}

}  // namespace rowhouse
