#include "ps/shard/prefetches.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>

namespace rowhouse {

void Prefetches::Start(const PrefetchTask& task) {
  state_.counters.rows_announced += task.ids.size() / sizeof(uint64_t);
  if (task.step < state_.next_step || state_.blockage.is_blocked()) return;
  std::map<uint32_t, StoreRead> reads;  // by number of the slice
  std::span<const RowId> rows = task.ids.As<RowId>();
  for (const LocalRows& of_table : task.tables) {
    LocalTable& table = rooms_.tables[of_table.table];
    const std::span<const RowId> of_rows = rows.first(of_table.rows);
    rows = rows.subspan(of_table.rows);
    FindAhead ahead(table, of_rows, /*claims=*/false);
    for (size_t begin = 0; begin < of_rows.size(); begin += FindAhead::kAtOnce) {
      const std::span<const FoundRow> found = ahead.Next();
      for (size_t i = 0; i < found.size(); ++i) {
        const RowId row = of_rows[begin + i];
        if (!StartRow(found[i], row, task.step)) continue;
        const auto [read, is_new] = reads.try_emplace(found[i].slice->number);
        if (is_new) read->second = ReadOf(*found[i].slice);
        read->second.rows.push_back(row);
      }
    }
  }
  if (reads.empty()) return;
  std::vector<StoreRead> in_order;
  for (auto& [number, read] : reads) in_order.push_back(std::move(read));
  rooms_.writer.recent().Start();
  const uint64_t ticket = rooms_.reader.Read(
      std::move(in_order), [this](std::vector<StoreRead> done) { Finish(std::move(done)); });
  reads_.insert(ticket);
}

// True: the row is to be read.
bool Prefetches::StartRow(const FoundRow& found, RowId row, uint64_t step) {
  LocalSlice& slice = *found.slice;
  if (found.slot != RowCache::kNone) {
    Keep(slice, found.slot, row, step);
    return false;
  }
  if (!slice.MayBeStored(found.position)) return false;  // A pull will not wait for the disk.
  std::unordered_map<RowId, uint64_t>& coming = coming_[slice.number];
  if (const auto before = coming.find(row); before != coming.end()) {
    const auto [first, last] = std::minmax(before->second, step);
    if (first != last) RememberUse(slice, row, {.after = first, .step = last});
    before->second = first;
    return false;
  }
  if (coming.size() >= std::max<uint64_t>(1, slice.cache->capacity_rows() / 2) ||
      !HasRoomFor(slice.store.record_bytes)) {
    return false;
  }
  coming.emplace(row, step);
  coming_bytes_ += slice.store.record_bytes;
  return true;
}

// Reads end in the order of their tickets.
void Prefetches::Finish(std::vector<StoreRead> reads) {
  const uint64_t ticket = reads_.extract(reads_.begin()).value();
  for (StoreRead& read : reads) {
    LocalTable& table = *rooms_.tables.Find(Raw(read.slice.table), read.slice.first_column);
    if (const Status status = table.InitialiseMissing(read); !status.ok()) {
      return state_.Fail(status);
    }
    LocalSlice& slice = *table.Find(read.rows.front());  // All rows of a read are of one slice.
    const std::byte* record = read.records.data();
    for (const RowId row : read.rows) {
      TakeRow(slice, row, record, ticket);
      record += read.slice.record_bytes;
    }
  }
  if (reads_.empty()) {
    rooms_.writer.recent().Stop();
  } else {
    rooms_.writer.recent().ForgetBefore(*reads_.begin());
  }
}

void Prefetches::TakeRow(LocalSlice& slice, RowId row, const std::byte* record, uint64_t ticket) {
  const uint64_t step = coming_[slice.number].extract(row).mapped();
  coming_bytes_ -= slice.store.record_bytes;
  if (rooms_.writer.recent().IsNewer(slice, row, ticket)) return;
  RowCache::Slot slot = slice.cache->Find(row);
  if (slot == RowCache::kNone) {
    CacheVictim victim;
    const uint64_t next = state_.next_step;
    slot = slice.cache->Claim(row, next, &victim, /*wanted=*/std::max(step, next));
    if (slot == RowCache::kNone) return;
    rooms_.admission.TakeVictim(slice, victim);
    std::memcpy(slice.cache->record(slot), record, slice.store.record_bytes);
    ++state_.counters.rows_prefetched;
  }
  Keep(slice, slot, row, step);
}

void Prefetches::Keep(LocalSlice& slice, RowCache::Slot slot, RowId row, uint64_t step) {
  if (step > state_.next_step) {
    if (const auto later = slice.cache->NoteNextUse(slot, step)) RememberUse(slice, row, *later);
  } else if (step == state_.next_step) {
    slice.cache->Pin(slot, step);
  }
}

void Prefetches::RememberUse(LocalSlice& slice, RowId row, const RowCache::LaterUse& use) {
  if (use.after < state_.next_step || !HasRoomFor(sizeof(LaterUse))) return;
  later_uses_[use.after].push_back({&slice, row, use.step});
  ++later_uses_count_;
}

bool Prefetches::HasRoomFor(uint64_t bytes) const {
  constexpr uint64_t kUseBytes = 2 * sizeof(LaterUse);  // Vectors grow beyond what they hold.
  return coming_bytes_ + later_uses_count_ * kUseBytes + bytes <= state_.options.max_prefetch_bytes;
}

void Prefetches::OnStepApplied() {
  while (!later_uses_.empty() && later_uses_.begin()->first < state_.next_step) {
    const auto uses = later_uses_.extract(later_uses_.begin());
    later_uses_count_ -= uses.mapped().size();
    for (const LaterUse& use : uses.mapped()) {
      const RowCache::Slot slot = use.slice->cache->Find(use.row);
      if (slot != RowCache::kNone) Keep(*use.slice, slot, use.row, use.step);
    }
  }
}

}  // namespace rowhouse
