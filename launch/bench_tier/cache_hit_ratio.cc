#include "launch/bench_tier/cache_hit_ratio.h"

#include <glog/logging.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "common/random.h"
#include "ps/cache/row_cache.h"
#include "worker/data/traces/trace_reader.h"
#include "worker/data/zipf.h"

namespace rowhouse {
namespace {

std::string TraceName(const std::string& plain, TraceShape shape) {
  constexpr const char* kSuffixes[] = {"", "+scan", "+drift"};
  return plain + kSuffixes[static_cast<int>(shape)];
}

// `draw(i)` is the i-th of this many draws; row_of[draw(i)] is the row that it stands for.
template <typename Draw>
std::vector<uint32_t> Accesses(size_t draws, TraceShape shape, std::vector<uint32_t> row_of,
                               SplitMix64* bits, const Draw& draw) {
  constexpr size_t kScanEvery = 25'000, kScanRows = 5'000, kDriftEvery = 10;
  const size_t rows = row_of.size();
  std::vector<uint32_t> accesses;
  size_t scanned = 0;
  for (size_t i = 0; i < draws; ++i) {
    if (shape == TraceShape::kScan && i > 0 && i % kScanEvery == 0) {
      for (size_t k = 0; k < kScanRows; ++k) {
        accesses.push_back(static_cast<uint32_t>(scanned++ % rows));
      }
    }
    if (shape == TraceShape::kDrift && i % kDriftEvery == 0) {
      const uint64_t one = bits->Next() % rows, other = bits->Next() % rows;
      std::swap(row_of[one], row_of[other]);
    }
    accesses.push_back(row_of[draw(i)]);
  }
  return accesses;
}

constexpr RecordLayout kLayout{.dim = 1, .state_floats = 0};
constexpr uint64_t kNeverWanted = uint64_t{1} << 62;  // as far as is known

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

AccessTrace ZipfTrace(double exponent, TraceShape shape) {
  constexpr uint32_t kRows = 50'000;
  constexpr size_t kAccesses = 200'000;
  SplitMix64 bits(/*seed=*/1);
  std::vector<uint32_t> row_of_rank(kRows);
  std::iota(row_of_rank.begin(), row_of_rank.end(), 0u);
  for (size_t i = kRows - 1; i > 0; --i) {
    std::swap(row_of_rank[i], row_of_rank[bits.Next() % (i + 1)]);
  }
  const Zipf zipf(kRows, exponent);
  AccessTrace trace{.name = TraceName(fmt::format("zipf{}", exponent), shape),
                    .rows = kRows,
                    .accesses = Accesses(kAccesses, shape, std::move(row_of_rank), &bits,
                                         [&](size_t) { return zipf.Draw(&bits) - 1; }),
                    .shape = shape};
  trace.accesses.resize(kAccesses);
  return trace;
}

AccessTrace Shaped(const AccessTrace& plain, TraceShape shape) {
  SplitMix64 bits(/*seed=*/1);
  std::vector<uint32_t> row_of(plain.rows);
  std::iota(row_of.begin(), row_of.end(), 0u);
  return {.name = TraceName(plain.name, shape),
          .rows = plain.rows,
          .accesses = Accesses(plain.accesses.size(), shape, std::move(row_of), &bits,
                               [&](size_t i) { return plain.accesses[i]; }),
          .shape = shape};
}

Result<AccessTrace> ReadTrace(const std::string& path) {
  constexpr uint64_t kSamples = 1024;  // at a time
  AccessTrace trace{.name = path.substr(path.rfind('/') + 1), .rows = 0, .accesses = {}};
  trace.name = trace.name.substr(0, trace.name.rfind('.'));
  const Result<std::unique_ptr<TraceReader>> reader = OpenTrace(path);
  if (!reader.ok()) return reader.status().Annotate("--trace");
  std::vector<std::unordered_map<uint64_t, uint32_t>> rows(reader.value()->tables().size());
  std::vector<Bags> features;
  for (;;) {
    const Result<uint64_t> samples = reader.value()->Read(kSamples, &features);
    if (!samples.ok()) return samples.status().Annotate("--trace");
    if (samples.value() == 0) break;
    for (uint64_t s = 0; s < samples.value(); ++s) {
      for (size_t t = 0; t < features.size(); ++t) {
        for (uint32_t i = features[t].offsets[s]; i < features[t].offsets[s + 1]; ++i) {
          const auto next = static_cast<uint32_t>(trace.rows);
          const auto [row, is_new] = rows[t].emplace(features[t].ids[i], next);
          trace.accesses.push_back(row->second);
          trace.rows += is_new ? 1 : 0;
        }
      }
    }
  }
  if (trace.accesses.empty()) return UsageError("--trace={}: has no accesses", path);
  return trace;
}

std::vector<uint64_t> NextAccesses(const AccessTrace& trace) {
  std::vector<uint64_t> next(trace.accesses.size());
  std::vector<uint64_t> seen(trace.rows, kNoNextAccess);
  for (size_t i = trace.accesses.size(); i-- > 0;) {
    next[i] = std::exchange(seen[trace.accesses[i]], i);
  }
  return next;
}

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
