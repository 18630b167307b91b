// CacheLedger: the bytes that a PS node has for cached rows, over all of its shards, and who has
// them.
//
// Shards ask in rounds, all in the same steps of training. When the last of them has asked, what
// all slices should have is decided once (ps/cache/cache_budget.h). Whoever is to give bytes back
// is told so when it asks next; what it says then that it holds, no more, is free for others. So at
// no time do shards hold more than the budget together, and nobody waits for anybody.
//
// Threads: Ask from any; one lock, held for the time of a decision (some ms, once a round).
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "common/mutex.h"
#include "ps/cache/cache_budget.h"

namespace rowhouse {

// What a shard says of itself.
struct CacheDemands {
  uint64_t round = 0;               // grows
  uint64_t fixed_bytes = 0;         // of slices whose bytes never change
  std::vector<TableDemand> slices;  // of all others, always the same ones in the same order
};

// What it is told.
struct CacheGrant {
  std::vector<uint64_t> bytes;  // of each slice
  bool is_settled = true;       // false: to be asked again, soon, when the caches have these sizes
};

class CacheLedger {
 public:
  struct Shard {
    uint64_t bytes = 0;  // that it holds at first
    bool asks = false;   // else it holds them for ever
  };

  // Requires that shards hold no more than the budget. `most_moved_bytes`: in one round, about:
  // rows that leave are read again, and those that stay are moved in memory while nobody is served.
  CacheLedger(uint64_t budget_bytes, const std::vector<Shard>& shards,
              uint64_t most_moved_bytes = std::numeric_limits<uint64_t>::max());

  // `has_bytes` of the demands is what the shard's caches have now: all that was granted before, if
  // anything was. Requires that the shard is one that asks.
  CacheGrant Ask(size_t shard, CacheDemands demands);

  // What shards hold at most, together.
  uint64_t held_bytes() const;

 private:
  struct Account {
    uint64_t held = 0;  // at most: as said, or as granted since
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
