// Caches that do not begin empty: the hottest rows of a file of access counts, as SPEC 8 warms up.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <utility>

#include "ps/shard/shard.h"

namespace rowhouse {

void Shard::StartPreload() {
  for (CutState& cut : cuts_) {
    for (SliceState& slice : cut.slices) {
      if (slice.frequencies == nullptr || slice.cache->is_direct()) continue;
      const auto wanted = static_cast<uint64_t>(std::ceil(
          static_cast<double>(slice.cache->capacity_rows()) * options_.node.cache_warmup_ratio));
      const bool is_range = !cut.order.is_scattered();
      const auto hottest = slice.frequencies->Hottest(
          wanted, is_range ? slice.slice.row_begin : 0,
          is_range ? slice.slice.row_end : cut.spec.rows, [&](RowId row) {
            return slice.Has(cut.order.PositionOf(row)) &&
                   !std::binary_search(cut.worker_rows.begin(), cut.worker_rows.end(), row);
          });
      Preload& preload = preloads_.emplace_back(Preload{&cut, &slice, {}});
      preload.rows.reserve(hottest.size());
      for (const auto& [row, lookups] : hottest) preload.rows.push_back(row);
    }
  }
  ContinuePreload();
}

// Some rows at a time, one read under way: what is read waits in memory beside the caches, and
// pulls wait behind it.
void Shard::ContinuePreload() {
  constexpr size_t kReadBytes = 1 << 20;
  preload_ticket_ = 0;
  // From the first step on a row may have changed, and gone back to the store, since it was read.
  if (applying_ || next_step_ != options_.first_step) preloads_.clear();
  while (!preloads_.empty()) {
    Preload& preload = preloads_.front();
    CutState& cut = *preload.cut;
    if (preload.next == preload.rows.size()) {
      preloads_.pop_front();
      continue;
    }
    const size_t count = std::min(std::max<size_t>(1, kReadBytes / cut.layout.bytes()),
                                  preload.rows.size() - preload.next);
    const auto rows = std::span(preload.rows).subspan(preload.next, count);
    preload.next += count;
    std::sort(rows.begin(), rows.end());
    StoreRead stored{.slice = preload.slice->store}, never_written{.slice = preload.slice->store};
    for (const RowId row : rows) {
      const bool may_be_stored = preload.slice->MayBeStored(cut.order.PositionOf(row));
      (may_be_stored ? stored : never_written).rows.push_back(row);
    }
    never_written.records.resize(never_written.rows.size() * cut.layout.bytes());
    never_written.missing.resize(never_written.rows.size());
    std::iota(never_written.missing.begin(), never_written.missing.end(), size_t{0});
    TakePreloaded(cut, never_written);
    if (!failure_.ok()) return;
    // With nothing to read, too: others have their turn before more rows are computed.
    ReadRows action{.ticket = next_ticket_++, .reads = {}};
    if (!stored.rows.empty()) {
      stored.records.resize(stored.rows.size() * cut.layout.bytes());
      action.reads.push_back(std::move(stored));
    }
    preload_ticket_ = action.ticket;
    actions_.emplace_back(std::move(action));
    return;
  }
}

void Shard::FinishPreload(std::vector<StoreRead> reads) {
  if (!applying_ && next_step_ == options_.first_step) {
    for (StoreRead& read : reads) TakePreloaded(CutOf(read.slice), read);
  }
  if (failure_.ok()) ContinuePreload();
}

void Shard::TakePreloaded(CutState& cut, StoreRead& read) {
  if (Status status = InitialiseMissing(cut, read); !status.ok()) return Fail(std::move(status));
  for (size_t i = 0; i < read.rows.size(); ++i) {
    RowCache& cache = *cut.Find(read.rows[i])->cache;
    // A pull may have been faster; and what it brought in is in use.
    if (cache.Find(read.rows[i]) != RowCache::kNone || !cache.HasRoom(read.rows[i])) continue;
    CacheVictim victim;
    const RowCache::Slot slot = cache.Claim(read.rows[i], next_step_, &victim);
    std::memcpy(cache.record(slot), read.records.data() + i * cut.layout.bytes(),
                cut.layout.bytes());
  }
}

}  // namespace rowhouse
