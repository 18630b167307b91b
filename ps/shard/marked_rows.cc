#include "ps/shard/marked_rows.h"

#include <glog/logging.h>

#include <algorithm>
#include <span>

#include "sharding/rows/record_weights.h"

namespace rowhouse {

void MarkedRows::Mark(std::vector<WrittenDelta> written) {
  CHECK(!is_walking_ && copies_.empty());
  written_ = std::move(written);
  for (WrittenDelta& delta : written_) delta.is_needed = false;
  marked_at_ = state_.next_step;
  marked_bytes_ = changed_bytes_ = 0;
  slice_ = 0;
  next_ = 0;
  is_walking_ = true;
}

void MarkedRows::Stop() {
  is_walking_ = false;
  copies_.clear();
}

bool MarkedRows::IsToBeTaken(const LocalSlice& slice, uint64_t lsn) {
  marked_bytes_ += slice.store.record_bytes;
  if (written_.empty() || lsn > written_.back().steps) return true;
  const auto delta = std::ranges::lower_bound(written_, lsn, {}, &WrittenDelta::steps);
  CHECK_GT(lsn, delta->after) << "a dirty row that no save has written";
  delta->is_needed = true;
  return false;
}

void MarkedRows::Take(const LocalSlice& slice, RowId row, const std::byte* record,
                      StoreWrite* write) {
  const LocalTable& table = tables_.TableOf(slice);
  if (!IsFiniteRecord(table.layout, record)) {
    return state_.Fail(NotFiniteError(table.spec, table.layout, {row, table.first_column}, record));
  }
  write->slice = slice.store;
  write->rows.push_back(row);
  write->records.insert(write->records.end(), record, record + slice.store.record_bytes);
  // A run that goes on from the save has the row in its store.
  slice.written->Add(table.order.PositionOf(row) - slice.range.row_begin);
}

void MarkedRows::BeforeLeaving(const LocalSlice& slice, RowId row, RowCache::Slot slot,
                               const std::byte* record) {
  if (!is_walking_ || slice.number < slice_ || (slice.number == slice_ && slot < next_)) return;
  const uint64_t lsn = LsnIn(slice.store, record);
  if (lsn > marked_at_ || !IsToBeTaken(slice, lsn)) return;
  Take(slice, row, record, &copies_[slice.number]);
}

std::vector<StoreWrite> MarkedRows::TakeCopies() {
  std::vector<StoreWrite> writes;
  for (auto& [number, write] : copies_) writes.push_back(std::move(write));
  copies_.clear();
  return writes;
}

std::vector<StoreWrite> MarkedRows::Walk(uint64_t most_bytes) {
  constexpr RowCache::Slot kSlots = RowCache::Slot{1} << 16;
  std::vector<StoreWrite> writes;
  RowCache::Slot passed = 0;
  uint64_t bytes = 0;
  const std::vector<LocalSlice*>& slices = tables_.slices();
  while (slice_ < slices.size() && passed < kSlots && bytes < most_bytes) {
    const LocalSlice& slice = *slices[slice_];
    const RowCache::Slot slots = slice.cache->capacity_rows();
    const RowCache::Slot piece = std::max<RowCache::Slot>(
        1, std::min((most_bytes - bytes) / slice.store.record_bytes, kSlots - passed));
    const RowCache::Slot end = std::min(slots, next_ + piece);
    StoreWrite write;
    for (const auto& [row, slot] : slice.cache->DirtySlots(next_, end)) {
      const std::byte* const record = slice.cache->record(slot);
      const uint64_t lsn = LsnIn(slice.store, record);
      if (lsn <= marked_at_ && IsToBeTaken(slice, lsn)) Take(slice, row, record, &write);
    }
    bytes += write.records.size();
    passed += end - next_;
    next_ = end;
    if (!write.rows.empty()) writes.push_back(std::move(write));
    if (next_ < slots) continue;
    ++slice_;
    next_ = 0;
  }
  is_walking_ = slice_ < slices.size();
  return writes;
}

}  // namespace rowhouse
