#include "ps/shard/store_writer.h"

#include <glog/logging.h>

#include <algorithm>

#include "sharding/rows/record_weights.h"

namespace rowhouse {

// ---- RecentWrites ---------------------------------------------------------------------------

bool RecentWrites::IsNewer(const LocalSlice& slice, RowId row, uint64_t read_ticket) const {
  const auto of_slice = written_at_.find(slice.number);
  if (of_slice == written_at_.end()) return false;
  const auto written = of_slice->second.find(row);
  return written != of_slice->second.end() && written->second > read_ticket;
}

void RecentWrites::ForgetBefore(uint64_t oldest_ticket) {
  for (auto& [slice, rows] : written_at_) {
    std::erase_if(rows, [&](const auto& entry) { return entry.second <= oldest_ticket; });
  }
}

void RecentWrites::Stop() {
  is_on_ = false;
  written_at_.clear();
}

size_t RecentWrites::size() const {
  size_t size = 0;
  for (const auto& [slice, rows] : written_at_) size += rows.size();
  return size;
}

// ---- StoreWriter ----------------------------------------------------------------------------

// Records are checked here and not when they are updated: of cached rows updates are many times as
// frequent, and a bad row that is not used again does no harm before.
void StoreWriter::Queue(LocalSlice& slice, RowId row, const std::byte* record) {
  const LocalTable& table = tables_.TableOf(slice);
  if (!IsFiniteRecord(table.layout, record)) {
    return state_.Fail(NotFiniteError(table.spec, table.layout, {row, table.first_column}, record));
  }
  StoreWrite& write = QueuedOf(slice);
  write.rows.push_back(row);
  write.records.insert(write.records.end(), record, record + table.layout.bytes());
  ++state_.counters.rows_written;
  slice.written->Add(table.order.PositionOf(row) - slice.range.row_begin);
  recent_.Note(slice, row, state_.out.next_ticket());
}

StoreWrite& StoreWriter::QueuedOf(const LocalSlice& slice) {
  StoreWrite& write = queued_[slice.number];
  write.slice = slice.store;
  return write;
}

void StoreWriter::QueueDirty(LocalSlice& slice, RowCache::Slot begin, RowCache::Slot end) {
  const std::vector<std::pair<RowId, RowCache::Slot>> dirty = slice.cache->DirtySlots(begin, end);
  if (dirty.empty()) return;
  StoreWrite& write = QueuedOf(slice);
  write.rows.reserve(write.rows.size() + dirty.size());
  write.records.reserve(write.records.size() + dirty.size() * slice.store.record_bytes);
  for (const auto& [row, slot] : dirty) {
    const std::byte* const record = slice.cache->record(slot);
    marked_.BeforeLeaving(slice, row, slot, record);
    Queue(slice, row, record);
    slice.cache->set_clean(slot);
  }
}

void StoreWriter::Flush() {
  if (queued_.empty()) return;
  std::vector<StoreWrite> writes;
  for (auto& [number, write] : queued_) {
    unwritten_bytes_ += write.records.size();
    writes.push_back(std::move(write));
  }
  queued_.clear();
  if (is_held_) return held_.Add(std::move(writes));
  Send(std::move(writes));
}

void StoreWriter::Send(std::vector<StoreWrite> writes) {
  uint64_t bytes = 0;
  for (const StoreWrite& write : writes) bytes += write.records.size();
  const uint64_t ticket = state_.out.TakeTicket();
  write_bytes_.emplace(ticket, bytes);
  state_.out.Add(WriteRows{.ticket = ticket, .writes = std::move(writes)});
}

void StoreWriter::Hold() {
  Flush();
  is_held_ = true;
}

void StoreWriter::Release() {
  is_held_ = false;
  for (std::vector<StoreWrite>& group : held_.Take()) Send(std::move(group));
}

void StoreWriter::OnRowsWritten(const RowsWritten& event) {
  const auto bytes = write_bytes_.extract(event.ticket);
  CHECK(!bytes.empty()) << "write " << event.ticket << " ended twice";
  unwritten_bytes_ -= bytes.mapped();
  if (!event.status.ok()) state_.Fail(event.status);
}

RowCache::Slot StoreWriter::SlotsOfPiece(const LocalSlice& slice) const {
  constexpr uint64_t kPieceBytes = 1 << 20;
  return std::max<RowCache::Slot>(
      1, std::min(kPieceBytes, state_.options.max_unwritten_bytes) / slice.store.record_bytes);
}

// Records stay where they are when a vector of them is moved.
void HeldWrites::Add(std::vector<StoreWrite> writes) {
  for (const StoreWrite& write : writes) {
    auto& newest = newest_[{write.slice.table, write.slice.first_column}];
    const std::byte* record = write.records.data();
    for (const RowId row : write.rows) {
      newest[row] = record;
      record += write.slice.record_bytes;
    }
  }
  groups_.push_back(std::move(writes));
}

const std::byte* HeldWrites::Find(const StoreSlice& slice, RowId row) const {
  const auto of_slice = newest_.find({slice.table, slice.first_column});
  if (of_slice == newest_.end()) return nullptr;
  const auto found = of_slice->second.find(row);
  return found == of_slice->second.end() ? nullptr : found->second;
}

std::vector<std::vector<StoreWrite>> HeldWrites::Take() {
  newest_.clear();
  return std::exchange(groups_, {});
}

}  // namespace rowhouse
