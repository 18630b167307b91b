// SimShard: drives one Shard in a simulation as ShardRunner does in production: carries out its
// actions and hands back what became of them as events, each after a random time.
//
// Actions of the store are carried out in their order, and so are those of the push log and those
// of saves; all three go on beside each other. Threads: one.
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
#include "ps/store/store_key.h"
#include "sharding/rows/rows_digest.h"
#include "tests/testing/sim_network.h"
#include "tests/testing/sim_scheduler.h"

namespace rowhouse {

class SimShard {
 public:
  using Send = std::function<void(const PeerId& peer, Frames frames)>;
  // The answer of the node's ledger.
  using AskLedger = std::function<CacheGrant(CacheDemands demands)>;

  // `name`: in the trace. `tables`: of the model. `scheduler` outlives it.
  SimShard(std::string name, std::unique_ptr<Shard> shard, const std::vector<TableSpec>& tables,
           SimScheduler& scheduler, const SimFaults& faults, Send send, AskLedger ask_ledger);

  Shard& shard() { return *shard_; }

  // What a run would go on from: the digest of the rows of each checkpoint, by steps.
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
  // A save's.
  ShardEvent ExecuteSave(ShardAction& action);
  // The rows of the cut and of these delta files.
  RowsDigest DigestOfPart(const std::vector<uint64_t>& deltas) const;
  // Whether a write finds no room now.
  bool FindsNoRoom(const ShardAction& action, Queue* queue);
  TimeNs Duration();

  using Records = std::map<StoreKey, std::vector<std::byte>>;

  const std::string name_;
  const std::unique_ptr<Shard> shard_;
  const std::vector<TableSpec> tables_;
  RowStore* rows_ = nullptr;  // of store_
  const std::unique_ptr<ShardStore> store_;
  SimScheduler& scheduler_;
  const SimFaults faults_;
  const Send send_;
  const AskLedger ask_ledger_;
  Queue of_store_, of_log_, of_save_;
  // Of the save under way, and of saves that were made.
  Records cut_, delta_;
  std::map<uint64_t, Records> deltas_;  // by steps
  std::map<uint64_t, RowsDigest> checkpoints_;
  uint64_t log_bytes_ = 0;
  uint64_t wake_ups_ = 0;  // asked for so far; only the last one counts
};

}  // namespace rowhouse
