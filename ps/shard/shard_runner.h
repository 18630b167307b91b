// ShardRunner: drives one Shard in production: a thread with the shard's listener, an I/O thread
// with its store, and another with its push log, if it has one. The shard itself sees none.
//
// Threads: Start and Stop from the owner's thread; everything else happens inside.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "common/clock.h"
#include "common/mutex.h"
#include "common/transport/transport.h"
#include "ps/cache/cache_ledger.h"
#include "ps/shard/shard.h"
#include "ps/shard/shard_store.h"

namespace rowhouse {

// Makes the shard's listener on the thread that will use it.
using ListenerFactory = std::function<Result<std::unique_ptr<Listener>>()>;

// A shard's place in its node's ledger.
struct CacheAccount {
  std::shared_ptr<CacheLedger> ledger;  // null: none
  size_t shard = 0;
};

class ShardRunner {
 public:
  // `log`: where a shard that logs pushes does; else null. `account`: of a shard whose caches may
  // change their sizes.
  ShardRunner(std::string name, std::unique_ptr<Shard> shard, std::unique_ptr<ShardStore> store,
              std::unique_ptr<PushLog> log, ListenerFactory make_listener, const Clock& clock,
              CacheAccount account = {});
  // Stops if need be.
  ~ShardRunner();

  // Listens and serves. Returns the endpoint peers connect to.
  Result<std::string> Start();

  // Refuses new work, finishes store actions under way and joins. Stopping twice is fine.
  void Stop();

  // When the last message arrived; 0: none has. Any thread may ask.
  TimeMs heard_at() const { return heard_at_; }

  const std::string& directory() const { return store_->directory(); }

 private:
  void Run(std::function<void(Result<std::string>)> started);
  void Serve(Listener& listener);

  const std::string name_;
  std::unique_ptr<Shard> shard_;
  std::unique_ptr<ShardStore> store_;
  std::unique_ptr<PushLog> log_;
  const ListenerFactory make_listener_;
  const Clock& clock_;
  const CacheAccount account_;

  std::atomic<bool> is_stopping_ = false;
  std::atomic<TimeMs> heard_at_ = 0;
  Mutex mutex_;  // no other is taken while it is held
  std::vector<ShardEvent> completed_ GUARDED_BY(mutex_);
  Listener* waking_ GUARDED_BY(mutex_) = nullptr;  // whom to wake
  std::thread thread_;
};

}  // namespace rowhouse
