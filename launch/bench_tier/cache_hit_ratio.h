// CacheHitRatio: the hit ratio of the row cache over a trace, used as a shard uses it: a batch of
// accesses is a step, its rows are pinned and their lookups counted, and evicted records keep their
// trailers, as in the store. Threads: pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "common/status.h"
#include "ps/cache/row_access_counts.h"

namespace rowhouse {

enum class TraceShape {
  kPlain,
  kScan,  // after every 25,000 accesses 5,000 rows are read in order, each scan beginning where the
          // last ended: a sixth of all accesses
  kDrift,  // with every 10th access two random rows exchange their popularity
};

// Rows of a table in the order of their lookups, generated or read from a file.
struct AccessTrace {
  std::string name;   // ends with "+scan" or "+drift" for these shapes
  uint64_t rows = 0;  // every access is below it
  std::vector<uint32_t> accesses;
  TraceShape shape = TraceShape::kPlain;
};

// 200,000 accesses, scans included, to 50,000 rows; the k-th most popular row, a random one, has a
// share ~ k^-exponent. The same in every run.
AccessTrace ZipfTrace(double exponent, TraceShape shape);

// A plain trace with scans added, or with rows exchanging their future accesses. The same in every
// run.
AccessTrace Shaped(const AccessTrace& plain, TraceShape shape);

// Reads a trace of ids of any form (worker/data/traces/trace_reader.h), such as a text of one
// number a line: the lookups of all tables, sample by sample. Rows of all tables are numbered by
// first appearance. kUsage, naming file and place, for any other file.
Result<AccessTrace> ReadTrace(const std::string& path);

// For each access the position of the next one to the same row; kNoNextAccess if there is none.
inline constexpr uint64_t kNoNextAccess = ~uint64_t{0};
std::vector<uint64_t> NextAccesses(const AccessTrace& trace);

struct CacheRun {
  size_t slots = 1;
  uint32_t ways = 16;  // 1: fully associative
  std::string policy;
  std::shared_ptr<const RowAccessCounts> access_counts = nullptr;  // for the policy; null: none
  size_t prefetched_batches = 0;  // batches after the current one that are prefetched
  size_t batch_accesses = 0;      // 0: a tenth of the slots, which few runs exceed

  size_t batch() const {
    if (batch_accesses > 0) return batch_accesses;
    return slots < 160 ? 16 : slots / 10;
  }
};

// The share of accesses that hit. A row that finds no slot, as the batch needs all, is a miss.
double CacheHitRatio(const AccessTrace& trace, const CacheRun& run);

// Yardsticks of caches: textbook policies, exact, over a whole trace, in a fully associative cache
// that begins empty. All return the share of accesses that hit, and require slots > 0.

// Evicts the least recently used row.
double LruHitRatio(const AccessTrace& trace, size_t slots);

// Evicts the row with the fewest lookups since the trace began, in the cache or not ("perfect"
// LFU); of several the least recently used.
double LfuHitRatio(const AccessTrace& trace, size_t slots);

// Evicts the row whose next use is latest (Belady, 1966): no policy without admission does better.
double BeladyHitRatio(const AccessTrace& trace, size_t slots);

}  // namespace rowhouse
