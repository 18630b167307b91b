// CacheMoves: the bytes of a shard's caches move to where they save most misses, as the node's
// ledger says (ps/cache/cache_ledger.h). That changes which rows are in memory, nothing else.
//
// In every cache_move_steps-th step a round begins, and the shard asks the ledger. At the step
// boundary after the answer the shard begins to resize its caches; it may take several boundaries.
// Then it asks again and reports what its caches hold, until they have what the ledger decided.
// Threads: the shard's thread only.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "ps/cache/cache_ledger.h"
#include "ps/shard/cache_admission.h"
#include "ps/shard/local_tables.h"
#include "ps/shard/shard_state.h"
#include "ps/shard/store_writer.h"
#include "ps/shard/sweeper.h"
#include "sharding/plans/reuse_sampler.h"

namespace rowhouse {

class CacheMoves {
 public:
  struct Rooms {
    LocalTables& tables;
    StoreWriter& writer;
    CacheAdmission& admission;
    Sweeper& sweeper;
  };
  // Nothing moves if all rows fit, or if cache_move_steps is 0.
  CacheMoves(ShardState& state, const Rooms& rooms);

  bool is_on() const { return !moving_.empty(); }

  // A step was applied, and no pull waits for the store. So nobody needs a row of a cache, except
  // rows that were prefetched; a cache keeps as many of these as it has room for.
  void OnStepApplied();
  void OnGranted(CacheGranted event);

 private:
  // A slice whose cache may change its size.
  struct Moving {
    LocalSlice* slice;
    std::unique_ptr<ReuseSampler> reuse;  // of rows pulled
    uint64_t first_bytes = 0;             // of its cache, when the shard opened
    double accesses_before = 0.0;         // when the round began
    RowCache::Slot cleaned = 0;           // before a resize: slots below were written
  };

  void BeginRound();
  bool CarryOutGrant();
  bool Resize(Moving& moving, uint64_t bytes);
  bool Clean(Moving& moving);
  void CountBytes();

  ShardState& state_;
  const Rooms rooms_;
  std::vector<Moving> moving_;
  CacheDemands demands_;           // as the round began
  CacheGrant grant_;               // the last
  bool is_grant_awaited_ = false;  // asked for, not answered
};

}  // namespace rowhouse
