// IoThread: one thread that carries out actions of a shard in order - those of its store, or those
// of its push log - so that the shard's own thread never waits for a disk.
//
// Faults: an action for which there is no room (a full disk, a stalled store) is tried again until
//         there is; those after it wait, in their order, but for TruncateLog, which makes room
//         and goes first. Not when the thread is to end.
// Bound: a shard has at most one read a pull in flight (peers x window of them) and stops serving
// pulls while too many bytes wait to be written, so the queue here needs no bound of its own.
#pragma once

#include <deque>
#include <functional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "common/mutex.h"
#include "ps/shard/events.h"

namespace rowhouse {

class IoThread {
 public:
  // Carries out some actions, at least one, in order; returns the events of those it has. One that
  // found no room is the last event, and may be carried out again.
  using Executor = std::function<std::vector<ShardEvent>(std::span<ShardAction>)>;

  // `execute` gets up to `max_batch` actions at once. `done` is called on the I/O thread with each
  // action's event.
  IoThread(std::string name, size_t max_batch, Executor execute,
           std::function<void(ShardEvent)> done);
  // Carries out what was submitted, then joins.
  ~IoThread();

  void Submit(ShardAction action);

 private:
  void Run();
  // Tries actions that find no room again and again, telling `done` each time.
  void CarryOut(std::vector<ShardAction>& actions);
  // Waits, but not long, for what actions[next] did not find. What may make it, of those after or
  // submitted meanwhile, is put before it. False: the thread is to end.
  bool WaitForRoom(std::vector<ShardAction>& actions, size_t next);

  const size_t max_batch_;
  const Executor execute_;
  const std::function<void(ShardEvent)> done_;
  Mutex mutex_;      // held only to move actions in and out
  CondVar changed_;  // something was submitted, or the end has come
  std::deque<ShardAction> queue_ GUARDED_BY(mutex_);
  bool is_closing_ GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace rowhouse
