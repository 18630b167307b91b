// IoThread: one thread that carries out a shard's store actions in order, so that the shard's own
// thread never waits for a disk.
//
// Bound: a shard has at most one read a pull in flight (peers x window of them) and stops serving
// pulls while too many bytes wait to be written, so the queue here needs no bound of its own.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

#include "ps/shard.h"
#include "ps/shard_store.h"

namespace rowhouse {

class IoThread {
 public:
  // `done` is called on the I/O thread with each action's event. `store` outlives this.
  IoThread(std::string name, ShardStore& store, std::function<void(ShardEvent)> done);
  // Carries out what was submitted, then joins.
  ~IoThread();

  void Submit(ShardAction action);

 private:
  void Run();

  ShardStore& store_;
  const std::function<void(ShardEvent)> done_;
  std::mutex mutex_;  // Held only to move actions in and out.
  std::condition_variable submitted_;
  std::deque<ShardAction> queue_;  // guarded by mutex_
  bool is_closing_ = false;        // guarded by mutex_
  std::thread thread_;
};

}  // namespace rowhouse
