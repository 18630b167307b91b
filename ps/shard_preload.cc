// Caches that do not begin empty: the hottest rows of a file of access counts, as SPEC 8 warms up.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "ps/shard.h"

namespace rowhouse {

void Shard::StartPreload() {
  constexpr size_t kMostReadBytes = 8 << 20;
  for (CutState& cut : cuts_) {
    for (SliceState& slice : cut.slices) {
      if (slice.frequencies == nullptr || slice.cache->is_direct()) continue;
      const auto wanted = static_cast<uint64_t>(std::ceil(
          static_cast<double>(slice.cache->capacity_rows()) * options_.cache_warmup_ratio));
      const bool is_range = !cut.order.is_scattered();
      const auto hottest = slice.frequencies->Hottest(
          wanted, is_range ? slice.slice.row_begin : 0,
          is_range ? slice.slice.row_end : cut.spec.rows, [&](RowId row) {
            return slice.Has(cut.order.PositionOf(row)) &&
                   !std::binary_search(cut.worker_rows.begin(), cut.worker_rows.end(), row);
          });
      const size_t rows_of_read = std::max<size_t>(1, kMostReadBytes / cut.layout.bytes());
      for (size_t begin = 0; begin < hottest.size(); begin += rows_of_read) {
        const size_t end = std::min(begin + rows_of_read, hottest.size());
        ReadRows action{.ticket = next_ticket_++, .reads = std::vector<StoreRead>(1)};
        StoreRead& read = action.reads[0];
        read.slice = slice.store;
        for (size_t i = begin; i < end; ++i) read.rows.push_back(hottest[i].first);
        std::sort(read.rows.begin(), read.rows.end());
        read.records.resize(read.rows.size() * cut.layout.bytes());
        preloads_.insert(action.ticket);
        actions_.emplace_back(std::move(action));
      }
    }
  }
}

void Shard::FinishPreload(std::vector<StoreRead> reads) {
  // From the first step on a row may have changed, and gone back to the store, since it was read.
  if (applying_ || next_step_ != options_.first_step) return;
  for (StoreRead& read : reads) {
    CutState& cut = CutOf(read.slice);
    if (Status status = MaterialiseMissing(cut, read); !status.ok()) return Fail(std::move(status));
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
}

}  // namespace rowhouse
