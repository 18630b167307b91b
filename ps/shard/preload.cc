#include "ps/shard/preload.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

namespace rowhouse {

void Preload::Start() {
  for (LocalSlice* slice : rooms_.tables.slices()) {
    if (slice->access_counts == nullptr || slice->cache->is_direct()) continue;
    left_.push_back({.slice = slice, .rows = HottestOf(*slice)});
  }
  Continue();
}

std::vector<RowId> Preload::HottestOf(const LocalSlice& slice) const {
  const LocalTable& table = rooms_.tables.TableOf(slice);
  const auto wanted = static_cast<uint64_t>(std::ceil(
      static_cast<double>(slice.cache->capacity_rows()) * state_.options.node.cache_warmup_ratio));
  const bool is_range = !table.order.is_scattered();
  const auto hottest = slice.access_counts->Hottest(
      wanted, is_range ? slice.range.row_begin : 0,
      is_range ? slice.range.row_end : table.spec.rows,
      [&](RowId row) { return slice.Has(table.order.PositionOf(row)) && table.Owns(row); });
  std::vector<RowId> rows;
  rows.reserve(hottest.size());
  for (const auto& [row, lookups] : hottest) rows.push_back(row);
  return rows;
}

void Preload::Continue() {
  constexpr size_t kReadBytes = 1 << 20;
  while (!left_.empty() && left_.front().next == left_.front().rows.size()) left_.pop_front();
  if (left_.empty() || state_.has_failed()) return;
  SliceRows& of_slice = left_.front();
  const size_t count =
      std::min(std::max<size_t>(1, kReadBytes / of_slice.slice->store.record_bytes),
               of_slice.rows.size() - of_slice.next);
  const auto rows = std::span(of_slice.rows).subspan(of_slice.next, count);
  of_slice.next += count;
  std::sort(rows.begin(), rows.end());
  ReadGroup(*of_slice.slice, rows);
}

void Preload::ReadGroup(LocalSlice& slice, std::span<const RowId> rows) {
  const LocalTable& table = rooms_.tables.TableOf(slice);
  StoreRead stored = ReadOf(slice), never_written = ReadOf(slice);
  for (const RowId row : rows) {
    const bool may_be_stored = slice.MayBeStored(table.order.PositionOf(row));
    (may_be_stored ? stored : never_written).rows.push_back(row);
  }
  MarkAllMissing(never_written);
  Take(slice, never_written);
  if (state_.has_failed()) return;
  // With nothing to read, too: other events have their turn before more rows are computed.
  std::vector<StoreRead> reads;
  if (!stored.rows.empty()) reads.push_back(std::move(stored));
  rooms_.reader.Read(std::move(reads), [this, &slice](std::vector<StoreRead> done) {
    if (is_over_) return;
    for (StoreRead& read : done) Take(slice, read);
    Continue();
  });
}

void Preload::Take(LocalSlice& slice, StoreRead& read) {
  const LocalTable& table = rooms_.tables.TableOf(slice);
  if (const Status status = table.InitialiseMissing(read); !status.ok()) {
    return state_.Fail(status);
  }
  RowCache& cache = *slice.cache;
  const std::byte* record = read.records.data();
  for (const RowId row : read.rows) {
    // A pull may have been faster; and what it brought in is in use.
    if (cache.Find(row) == RowCache::kNone && cache.HasRoom(row)) {
      CacheVictim nobody;
      const RowCache::Slot slot = cache.Claim(row, state_.next_step, &nobody);
      std::memcpy(cache.record(slot), record, read.slice.record_bytes);
    }
    record += read.slice.record_bytes;
  }
}

}  // namespace rowhouse
