#include "launch/bench/hit_ratio_yardsticks.h"

#include <glog/logging.h>

#include <set>
#include <utility>
#include <vector>

namespace rowhouse {
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
