// CacheLedger: divides a PS node's bytes for cached rows among its shards, and records who holds
// how many.
//
// All shards ask once a round, in the same training steps. When the last of them has asked, the
// ledger decides what every slice should have (SplitBudget). A shard that asks is told
// which bytes to give back. It shrinks its caches, asks again and reports what they hold now; only
// then does the ledger grant these bytes to others. So the shards together never hold more than the
// budget, and no shard waits for another.
//
// Threads: Ask may be called from any thread. One lock, held during a decision (a few ms a round).
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <vector>

#include "common/mutex.h"

namespace rowhouse {

// ---- What every table should have ---------------------------------------------------------------
//
// A node's bytes for cached rows are divided among its tables so that the fewest accesses miss,
// given each table's miss ratio as a function of its cache size (sharding/plans/reuse_sampler.h).
//
// Bytes go, one after the other, where they save most misses. Each table's hits are replaced by
// their upper concave hull, for which this greedy division is optimal (Suh, Devadas and Rudolph,
// 2001; Talus, Beckmann and Sanchez, 2015, say why hulls). Moving rows costs reads, so small gains
// move nothing.
//
// Until accesses are known, bytes lie as the plan says (sharding/plans/cache_division.h).
struct TableDemand {
  uint64_t bytes = 0;                                          // of all its rows
  uint64_t least_bytes = 0;                                    // it keeps at least these
  uint64_t most_bytes = std::numeric_limits<uint64_t>::max();  // it may have at most these
  uint64_t row_bytes = 1;                                      // of one cached row, > 0
  double accesses = 0.0;                                       // as the reuse sampler weighs them
  std::function<double(double cache_rows)> miss_ratio;         // falls with rows, [0, 1]
  uint64_t has_bytes = 0;                                      // now
};

// Expected misses over all tables with these bytes each.
double PredictedMisses(const std::vector<TableDemand>& tables, const std::vector<uint64_t>& bytes);

// Bytes of each table: at most what all its rows take and most_bytes; at least least_bytes, as far
// as the budget allows. The sum is at most `budget`, and less only if no table needs more.
// Deterministic.
std::vector<uint64_t> SplitBudget(const std::vector<TableDemand>& tables, uint64_t budget);

// As SplitBudget, but the tables keep the bytes that they have now if a new division would save
// less than the share `least_saving` of the misses that are predicted for the present one. If the
// tables exceed the budget, it is always divided anew, at once. Otherwise at most about
// `most_moved` bytes move in one call; the next call moves on.
std::vector<uint64_t> MoveBudget(const std::vector<TableDemand>& tables, uint64_t budget,
                                 double least_saving = 0.05,
                                 uint64_t most_moved = std::numeric_limits<uint64_t>::max());

// What a shard reports.
struct CacheDemands {
  uint64_t round = 0;               // ascending
  uint64_t fixed_bytes = 0;         // of slices whose bytes never change
  std::vector<TableDemand> slices;  // the others, always in the same order
};

// What a shard may have.
struct CacheGrant {
  std::vector<uint64_t> bytes;  // of each slice
  bool is_settled = true;       // false: resize the caches and ask again
};

class CacheLedger {
 public:
  struct Shard {
    uint64_t bytes = 0;  // that it holds at the start
    bool asks = false;   // false: it keeps these bytes
  };

  // Requires that the shards hold no more than the budget. At most about `most_moved_bytes` move in
  // a round: evicted rows are read again, and a resize moves the others while requests wait.
  CacheLedger(uint64_t budget_bytes, const std::vector<Shard>& shards,
              uint64_t most_moved_bytes = std::numeric_limits<uint64_t>::max());

  // Requires that `shard` asks, and that has_bytes of the demands is what its caches hold now.
  CacheGrant Ask(size_t shard, CacheDemands demands);

  // Upper bound of what the shards hold together.
  uint64_t held_bytes() const;

 private:
  struct Account {
    uint64_t held = 0;  // upper bound: as reported, or as granted since
    bool asks = false;
    bool has_asked = false;
    CacheDemands said;
    std::vector<uint64_t> targets;

    bool is_moving() const;
  };

  bool IsRoundComplete() const REQUIRES(mutex_);
  void Decide() REQUIRES(mutex_);
  uint64_t Held() const REQUIRES(mutex_);

  const uint64_t budget_bytes_, most_moved_bytes_;
  mutable Mutex mutex_;
  std::vector<Account> accounts_ GUARDED_BY(mutex_);
  uint64_t decided_round_ GUARDED_BY(mutex_) = 0;
};

}  // namespace rowhouse
