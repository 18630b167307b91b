#include "launch/bench/cache_hit_ratio.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "ps/cache/row_cache.h"

namespace rowhouse {
namespace {

constexpr RecordLayout kLayout{.dim = 1, .state_floats = 0};
constexpr uint64_t kNeverWanted = uint64_t{1} << 62;  // as far as is known

}  // namespace

double CacheHitRatio(const AccessTrace& trace, const CacheRun& run) {
  RowCache cache({.layout = kLayout,
                  .rows = trace.rows,
                  .capacity_rows = run.slots,
                  .ways = run.ways,
                  .policy = run.policy,
                  .access_counts = run.access_counts});
  const std::vector<uint64_t> next = NextAccesses(trace);
  std::vector<RecordTrailer> store(trace.rows);
  const size_t batch = run.batch();
  size_t hits = 0, prefetched = 0;  // accesses
  for (size_t i = 0; i < trace.accesses.size(); ++i) {
    const uint64_t step = i / batch;
    const RowId row{trace.accesses[i]};
    if (run.prefetched_batches > 0 && i % batch == 0) {
      const size_t end =
          std::min(trace.accesses.size(), (step + 1 + run.prefetched_batches) * batch);
      for (prefetched = std::max(prefetched, i); prefetched < end; ++prefetched) {
        const RowCache::Slot slot = cache.Find(RowId{trace.accesses[prefetched]});
        if (slot != RowCache::kNone) cache.NoteNextUse(slot, prefetched / batch);
      }
    }
    RowCache::Slot slot = cache.Find(row);
    if (slot != RowCache::kNone) {
      ++hits;
      cache.Pin(slot, step);
      CountLookups(kLayout, cache.record(slot), 1);
    } else {
      CacheVictim victim;
      // With prefetches, a row that is needed later than all others is not admitted.
      std::optional<uint64_t> wanted;
      if (run.prefetched_batches > 0) {
        wanted = std::max(step, next[i] < prefetched ? next[i] / batch : kNeverWanted);
      }
      slot = cache.Claim(row, step, &victim, wanted);
      if (!victim.record.empty()) {
        store[Raw(victim.row)] = kLayout.trailer(victim.record.data());
      }
      RecordTrailer trailer = store[Raw(row)];
      ++trailer.frequency;
      if (slot == RowCache::kNone) {
        trailer.last_step = static_cast<uint32_t>(step);
        store[Raw(row)] = trailer;
        continue;
      }
      kLayout.set_trailer(cache.record(slot), trailer);
      cache.Pin(slot, step);
    }
    RecordTrailer trailer = kLayout.trailer(cache.record(slot));
    trailer.last_step = static_cast<uint32_t>(step);  // its push
    kLayout.set_trailer(cache.record(slot), trailer);
    if (next[i] < prefetched) cache.NoteNextUse(slot, next[i] / batch);
  }
  return static_cast<double>(hits) / static_cast<double>(trace.accesses.size());
}

}  // namespace rowhouse
