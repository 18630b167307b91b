#include "launch/bench/cache_hit_ratio.h"

#include <glog/logging.h>

#include <algorithm>
#include <optional>
#include <set>
#include <utility>
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

namespace {

// The cached row of the least worth goes; `use(i)` is the worth of an access's row from then on.
template <typename Worth, typename Use>
double HitRatio(const AccessTrace& trace, size_t slots, const Use& use) {
  CHECK_GT(slots, 0u);
  std::set<std::pair<Worth, uint32_t>> cached;
  std::vector<Worth> worth(trace.rows);
  std::vector<bool> is_cached(trace.rows);
  size_t hits = 0;
  for (size_t i = 0; i < trace.accesses.size(); ++i) {
    const uint32_t row = trace.accesses[i];
    if (is_cached[row]) {
      ++hits;
      cached.erase({worth[row], row});
    } else if (cached.size() == slots) {
      is_cached[cached.begin()->second] = false;
      cached.erase(cached.begin());
    }
    worth[row] = use(i);
    is_cached[row] = true;
    cached.emplace(worth[row], row);
  }
  return static_cast<double>(hits) / static_cast<double>(trace.accesses.size());
}

}  // namespace

double LruHitRatio(const AccessTrace& trace, size_t slots) {
  return HitRatio<size_t>(trace, slots, [](size_t i) { return i; });
}

double LfuHitRatio(const AccessTrace& trace, size_t slots) {
  std::vector<size_t> uses(trace.rows);
  return HitRatio<std::pair<size_t, size_t>>(
      trace, slots, [&](size_t i) { return std::pair(++uses[trace.accesses[i]], i); });
}

double BeladyHitRatio(const AccessTrace& trace, size_t slots) {
  const std::vector<uint64_t> next = NextAccesses(trace);
  return HitRatio<uint64_t>(trace, slots, [&](size_t i) { return ~next[i]; });
}

}  // namespace rowhouse
