// ShardRunner: drives one Shard in production, with a thread for the shard and its listener, an I/O
// thread for its store, another one for its saves in mid-run, and one for its push log, if it has
// one.
//
// Threads: Start and Stop are called on the owner's thread.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "common/clock.h"
#include "common/mutex.h"
#include "common/transport/transport.h"
#include "ps/cache/cache_ledger.h"
#include "ps/log/push_log.h"
#include "ps/shard/events.h"
#include "ps/shard/shard.h"
#include "ps/shard/shard_state.h"
#include "ps/shard/shard_store.h"

namespace rowhouse {

// Carries out the first of these log actions, on the shard's log thread. A TruncateLog is carried
// out alone; an AppendLog together with the AppendLogs of the same lap that directly follow it, so
// that pushes that came together share one sync. Returns one event for each action carried out. If
// there was no room, nothing was done, and the one event returned has kResourceExhausted.
std::vector<ShardEvent> CarryOutLogActions(PushLog& log, std::span<const ShardAction> actions);

// Makes the shard's listener; called on the thread that will use it.
using ListenerFactory = std::function<Result<std::unique_ptr<Listener>>()>;

// A shard's place in its node's ledger.
struct CacheAccount {
  std::shared_ptr<CacheLedger> ledger;  // null: none
  size_t shard = 0;
};

class ShardRunner {
 public:
  // `log`: null unless the shard logs pushes. `account`: of a shard that moves bytes of caches.
  ShardRunner(std::string name, std::unique_ptr<Shard> shard, std::unique_ptr<ShardStore> store,
              std::unique_ptr<PushLog> log, ListenerFactory make_listener, const Clock& clock,
              CacheAccount account = {});
  // Calls Stop.
  ~ShardRunner();

  // Listens and serves. Returns the endpoint peers connect to.
  Result<std::string> Start();
  // Once it has started: see Listener.
  const std::string& local_endpoint() const { return local_endpoint_; }

  // Takes no more messages, finishes the store actions under way and joins. May be called twice.
  void Stop();

  // When the last message arrived; 0: none has. Any thread may ask.
  TimeMs heard_at() const { return heard_at_; }

  const std::string& directory() const { return store_->directory(); }

 private:
  void Run(std::function<void(Result<std::string>)> started);
  void Serve(Listener& listener);
  // Queues an event for the shard, and wakes it. Any thread.
  void Complete(ShardEvent event);
  std::vector<ShardEvent> TakeCompleted();

  class Loop;

  const std::string name_;
  std::unique_ptr<Shard> shard_;
  std::unique_ptr<ShardStore> store_;
  std::unique_ptr<PushLog> log_;
  const ListenerFactory make_listener_;
  const Clock& clock_;
  ShardPhases phases_;
  const CacheAccount account_;

  std::string local_endpoint_;
  std::atomic<bool> is_stopping_ = false;
  std::atomic<TimeMs> heard_at_ = 0;
  Mutex mutex_;  // no other is taken while it is held
  std::vector<ShardEvent> completed_ GUARDED_BY(mutex_);
  Listener* waking_ GUARDED_BY(mutex_) = nullptr;  // whom to wake
  std::thread thread_;
};

}  // namespace rowhouse
