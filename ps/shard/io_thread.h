// IoThread: a thread that carries out a shard's store actions, or its log actions, or those of its
// saves, in order, so that the shard's own thread never waits for a disk.
//
// Faults: an action that finds no room (a full disk, a stalled store) is retried until there is
//         room or the thread must end; later actions wait. TruncateLog makes room and goes first.
//         What belongs to a save in mid-run is not retried.
// Bound:  the queue has no bound of its own. A shard has at most one read for each pull in flight
//         (peers x their window), and serves no pulls while too many bytes wait to be written.
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
  // Carries out the first actions, at least one; returns their events. If an action found no room,
  // its event is the last, and the action can be carried out again.
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
  // Retries actions that find no room; `done` is told each time.
  void CarryOut(std::vector<ShardAction>& actions);
  // Waits a moment before actions[next], which found no room, is retried. A later action that may
  // make room, whether it is there already or is submitted meanwhile, is moved before it and ends
  // the wait. False: the thread must end.
  bool WaitForRoom(std::vector<ShardAction>& actions, size_t next);

  const size_t max_batch_;
  const Executor execute_;
  const std::function<void(ShardEvent)> done_;
  Mutex mutex_;      // held only to move actions in and out
  CondVar changed_;  // queue_ or is_closing_ has changed
  std::deque<ShardAction> queue_ GUARDED_BY(mutex_);
  bool is_closing_ GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace rowhouse
