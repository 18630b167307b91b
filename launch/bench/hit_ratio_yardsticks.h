// Yardsticks of caches: textbook policies, exact, over a whole trace, in a fully associative cache
// that begins empty. All return the share of accesses that hit, and require slots > 0.
//
// Threads: pure functions.
#pragma once

#include <cstddef>

#include "launch/bench/access_trace.h"

namespace rowhouse {

// Evicts the least recently used row.
double LruHitRatio(const AccessTrace& trace, size_t slots);

// Evicts the row with the fewest lookups since the trace began, in the cache or not ("perfect"
// LFU); of several the least recently used.
double LfuHitRatio(const AccessTrace& trace, size_t slots);

// Evicts the row whose next use is latest (Belady, 1966): no policy without admission does better.
double BeladyHitRatio(const AccessTrace& trace, size_t slots);

}  // namespace rowhouse
