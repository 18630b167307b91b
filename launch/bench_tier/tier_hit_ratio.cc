// tier_hit_ratio: hit ratio of the default policy, fully associative and with 16 ways, beside the
// better of LRU and perfect LFU; figures ".../lru", "/lfu" and "/belady" are those and the optimum
// beside the same. Caches of 1, 5 and 20 % of the rows. _scan, _drift and _trace (--trace, with
// scan and drift, too) are the same for other accesses, _prefetched for all of them with the next
// 200 batches prefetched; tier_policies compares all policies.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <utility>

#include "launch/bench/bench.h"
#include "launch/bench_tier/cache_hit_ratio.h"
#include "ps/cache/cache_policy.h"

namespace rowhouse {
namespace {

constexpr int kPercents[] = {1, 5, 20};
constexpr uint32_t kFullyAssociative = 1, kWays = 16;

size_t SlotsOf(const AccessTrace& trace, int percent) {
  return std::max<size_t>(1, trace.rows * static_cast<size_t>(percent) / 100);
}

constexpr TraceShape kShapes[] = {TraceShape::kPlain, TraceShape::kScan, TraceShape::kDrift};

std::vector<AccessTrace> ZipfTraces(TraceShape shape) {
  std::vector<AccessTrace> traces;
  for (const double exponent : {0.8, 1.05, 1.2}) traces.push_back(ZipfTrace(exponent, shape));
  return traces;
}

std::vector<AccessTrace> AllZipfTraces() {
  std::vector<AccessTrace> traces;
  for (const TraceShape shape : kShapes) {
    for (AccessTrace& trace : ZipfTraces(shape)) traces.push_back(std::move(trace));
  }
  return traces;
}

// That of --trace in all shapes.
Result<std::vector<AccessTrace>> TracesOfFile(const std::string& path) {
  ASSIGN_OR_RETURN(const AccessTrace plain, ReadTrace(path));
  std::vector<AccessTrace> traces;
  for (const TraceShape shape : kShapes) traces.push_back(Shaped(plain, shape));
  return traces;
}

// The least hits of a cache of these ways, with the better of the yardsticks beside it.
double LeastHits(const AccessTrace& trace, uint32_t ways, double better) {
  // Where popularity drifts it must be above both.
  if (trace.shape == TraceShape::kDrift) return std::nextafter(better, 1.0);
  return better - (ways == kFullyAssociative ? 0.015 : 0.03);
}

std::string WaysText(uint32_t ways) {
  return ways == kFullyAssociative ? "any" : fmt::format("{}", ways);
}

using HitFigures = Result<std::vector<BenchFigure>>;

// `add(what, hits, yardstick, least)` for figures of the trace's cache; `least` is the hit ratio
// that is the target.
template <typename Measure>
std::vector<BenchFigure> OfAllCaches(const std::vector<AccessTrace>& traces,
                                     const Measure& measure) {
  std::vector<BenchFigure> figures;
  for (const AccessTrace& trace : traces) {
    for (const int percent : kPercents) {
      const auto add = [&](const std::string& what, double hits, double yardstick,
                           std::optional<double> least = std::nullopt) {
        if (least) *least /= yardstick;
        figures.push_back(
            CountedFigure(fmt::format("tier_hits/{}/{}%/{}", trace.name, percent, what), "", hits,
                          yardstick, least));
      };
      measure(trace, SlotsOf(trace, percent), add);
    }
  }
  return figures;
}

HitFigures HitRatios(const std::vector<AccessTrace>& traces) {
  return OfAllCaches(traces, [](const AccessTrace& trace, size_t slots, const auto& add) {
    const double lru = LruHitRatio(trace, slots), lfu = LfuHitRatio(trace, slots);
    const double better = std::max(lru, lfu);
    add("lru", lru, better);
    add("lfu", lfu, better);
    for (const uint32_t ways : {kFullyAssociative, kWays}) {
      add(WaysText(ways),
          CacheHitRatio(trace, {.slots = slots, .ways = ways, .policy = kDefaultCachePolicy}),
          better, LeastHits(trace, ways, better));
    }
    add("belady", BeladyHitRatio(trace, slots), better);
  });
}

HitFigures OfTrace(const std::string& name, const BenchOptions& options) {
  if (options.trace.empty()) {
    fmt::print("{}: skipped: give a trace of accesses with --trace=FILE\n", name);
    return std::vector<BenchFigure>();
  }
  ASSIGN_OR_RETURN(const std::vector<AccessTrace> traces, TracesOfFile(options.trace));
  return HitRatios(traces);
}

HitFigures Prefetched(const std::string&, const BenchOptions& options) {
  std::vector<AccessTrace> traces = AllZipfTraces();
  if (!options.trace.empty()) {
    ASSIGN_OR_RETURN(std::vector<AccessTrace> more, TracesOfFile(options.trace));
    std::ranges::move(more, std::back_inserter(traces));
  }
  return OfAllCaches(traces, [](const AccessTrace& trace, size_t slots, const auto& add) {
    const double half = (LfuHitRatio(trace, slots) + BeladyHitRatio(trace, slots)) / 2.0;
    for (const uint32_t ways : {kFullyAssociative, kWays}) {
      add(WaysText(ways) + "+200",
          CacheHitRatio(trace, {.slots = slots,
                                .ways = ways,
                                .policy = kDefaultCachePolicy,
                                .prefetched_batches = 200}),
          half, half);
    }
  });
}

// Of each policy the mean over all traces, caches of 5 % and 16 ways.
HitFigures Policies(const std::string& name, const BenchOptions&) {
  const std::vector<AccessTrace> traces = AllZipfTraces();
  const auto mean = [&](const std::function<double(const AccessTrace&, size_t slots)>& of) {
    double sum = 0.0;
    for (const AccessTrace& trace : traces) sum += of(trace, SlotsOf(trace, 5));
    return sum / static_cast<double>(traces.size());
  };
  const double better = mean([](const AccessTrace& trace, size_t slots) {
    return std::max(LruHitRatio(trace, slots), LfuHitRatio(trace, slots));
  });
  std::vector<BenchFigure> figures;
  for (const std::string& policy : CachePolicies().Names()) {
    const double hits = mean([&](const AccessTrace& trace, size_t slots) {
      return CacheHitRatio(trace, {.slots = slots, .ways = kWays, .policy = policy});
    });
    figures.push_back(CountedFigure(name + "/" + policy, "", hits, better));
  }
  return figures;
}

template <TraceShape kShape>
HitFigures OfShape(const std::string&, const BenchOptions&) {
  return HitRatios(ZipfTraces(kShape));
}

bool AddHitRatioBenches() {
  constexpr const char* kBetter = "the better of LRU and perfect LFU, fully associative";
  const struct {
    const char *name, *what, *time, *yardstick;
    bool reads_trace;
    HitFigures (*count)(const std::string& name, const BenchOptions&);
  } all[] = {
      {"tier_hit_ratio", "hits of the default policy, beside LRU and LFU", "5 s", kBetter, false,
       &OfShape<TraceShape::kPlain>},
      {"tier_hit_ratio_scan", "the same with scans between", "5 s", kBetter, false,
       &OfShape<TraceShape::kScan>},
      {"tier_hit_ratio_drift", "the same where what is hot changes", "5 s", kBetter, false,
       &OfShape<TraceShape::kDrift>},
      {"tier_hit_ratio_trace", "the same of the accesses in --trace=FILE", "by the file", kBetter,
       true, &OfTrace},
      {"tier_hit_ratio_prefetched", "the same with the next 200 batches known", "15 s",
       "half way from perfect LFU to Belady's optimum", true, &Prefetched},
      {"tier_policies", "hits of all cache policies", "5 s",
       "mean of the better of LRU and perfect LFU, fully associative", false, &Policies},
  };
  return std::ranges::all_of(all, [](const auto& one) {
    return AddBench({.name = one.name,
                     .what = one.what,
                     .time = one.time,
                     .yardstick = one.yardstick,
                     .reads_trace = one.reads_trace,
                     .count = one.count});
  });
}

REGISTER_MEMBER(AddHitRatioBenches());

}  // namespace
}  // namespace rowhouse
