// What caches are compared with: the textbook's policies, exactly, over a whole trace, in a cache
// of any slot that begins empty. All return the part of the accesses that found their row.
//
// Threads: pure functions.
#pragma once

#include <cstddef>

#include "launch/bench/access_trace.h"

namespace rowhouse {

// The least recently used row goes. Requires slots > 0, as the others.
double LruHitRatio(const AccessTrace& trace, size_t slots);

// The row looked up least often since the trace began, in the cache or not ("perfect" LFU), goes;
// of several that whose last use is longest ago.
double LfuHitRatio(const AccessTrace& trace, size_t slots);

// The row needed last goes (Belady, 1966): no policy that takes in every row does better.
double BeladyHitRatio(const AccessTrace& trace, size_t slots);

}  // namespace rowhouse
