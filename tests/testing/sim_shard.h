// SimShard: drives one Shard in a simulation as ShardRunner does in production: carries out its
// actions and hands back what became of them as events, each after a random time.
//
// Actions of the store are carried out in their order, and so are those of the push log; both go
// on beside each other. Threads: one.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "ps/cache/cache_ledger.h"
#include "ps/shard/shard.h"
#include "ps/shard/shard_store.h"
#include "sharding/rows/rows_digest.h"
#include "tests/testing/sim_network.h"
#include "tests/testing/sim_scheduler.h"

namespace rowhouse {

class SimShard {
 public:
  using Send = std::function<void(const PeerId& peer, Frames frames)>;
  // The answer of the node's ledger.
  using AskLedger = std::function<CacheGrant(CacheDemands demands)>;

  // `name`: in the trace. `scheduler` outlives it.
  SimShard(std::string name, std::unique_ptr<Shard> shard, std::unique_ptr<ShardStore> store,
           SimScheduler& scheduler, const SimFaults& faults, Send send, AskLedger ask_ledger);

  Shard& shard() { return *shard_; }

  // What checkpoints held: the digest of the rows that were in the store, by steps. Where rows end
  // with the process, that is all that can be made.
  const std::map<uint64_t, RowsDigest>& checkpoints() const { return checkpoints_; }

  // One event for the shard, and all actions that follow from it.
  void Handle(ShardEvent event);

 private:
  // Actions that are carried out one after the other.
  struct Queue {
    std::deque<ShardAction> actions;
    bool is_under_way = false;  // the first of them
    bool is_blocked = false;    // it has found no room
    TimeNs full_until = 0;
  };

  void CarryOut(std::vector<ShardAction> actions);
  void Submit(ShardAction action, Queue* queue);
  void StartNext(Queue* queue);
  void End(Queue* queue);
  ShardEvent Execute(ShardAction& action);
  StoreCheckpointed Checkpoint(const CheckpointStore& action);
  // Whether a write finds no room now.
  bool FindsNoRoom(const ShardAction& action, Queue* queue);
  TimeNs Duration();

  const std::string name_;
  const std::unique_ptr<Shard> shard_;
  const std::unique_ptr<ShardStore> store_;
  SimScheduler& scheduler_;
  const SimFaults faults_;
  const Send send_;
  const AskLedger ask_ledger_;
  Queue of_store_, of_log_;
  std::map<uint64_t, RowsDigest> checkpoints_;
  uint64_t log_bytes_ = 0;
  uint64_t wake_ups_ = 0;  // asked for so far; only the last one counts
};

}  // namespace rowhouse
