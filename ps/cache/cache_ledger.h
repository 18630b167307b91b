// CacheLedger: divides a PS node's bytes for cached rows among its shards, and records who holds
// how many.
//
// All shards ask once a round, in the same training steps. When the last of them has asked, the
// ledger decides what every slice should have (ps/cache/cache_budget.h). A shard that asks is told
// which bytes to give back. It shrinks its caches, asks again and reports what they hold now; only
// then does the ledger grant these bytes to others. So the shards together never hold more than the
// budget, and no shard waits for another.
//
// Threads: Ask may be called from any thread. One lock, held during a decision (a few ms a round).
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "common/mutex.h"
#include "ps/cache/cache_budget.h"

namespace rowhouse {

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
