// SimScheduler: tasks and events of a simulation, one at a time, in an order that a seed decides.
//
// Time is virtual: it stands still while code runs and moves to the time of the next event when
// nothing else can run. Events run in the order of their times; of those at one time a random
// number of the seed decides. A run is therefore the same, event for event, whenever it has the
// same seed and its code depends on nothing outside.
//
// Tasks are functions with stacks of their own (ucontext), so that code that blocks (a worker's
// training loop) runs as it is. A task that waits runs the events that come next, until one of them
// resumes a task; then it switches to that one.
//
// Threads: one, for the owner, tasks and events.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <queue>
#include <random>
#include <string>
#include <vector>

#include "common/clock.h"

namespace rowhouse {

class SimScheduler final : public Clock {
 public:
  static constexpr TimeNs kNever = std::numeric_limits<TimeNs>::max();

  explicit SimScheduler(uint64_t seed);
  ~SimScheduler() override;

  TimeNs NowNs() const override { return now_; }

  // Random numbers of the seed: uniform in [0, end), end >= 1; true with `probability`.
  uint64_t Random(uint64_t end);
  bool Happens(double probability);

  // Calls `event` after `delay` of virtual time, once.
  void After(TimeNs delay, std::function<void()> event);

  // Runs each function as a task until all have returned. Events that are left wait for the next
  // Run. Fails the test (CHECK) if tasks wait and no event is left.
  void Run(std::vector<std::function<void()>> tasks);

  // By a task: waits until WakeTask names it, or until `deadline`. May return earlier.
  void WaitUntil(TimeNs deadline);
  // `task`: its place in Run's argument. Nothing happens if it does not wait.
  void WakeTask(size_t task);

  // Begins to note what happens, one line per event: its time in ns, then what `Note` was given.
  void StartTrace() { is_tracing_ = true; }
  bool is_tracing() const { return is_tracing_; }
  void Note(const std::string& what);
  const std::string& trace() const { return trace_; }

 private:
  struct Event {
    TimeNs at = 0;
    uint64_t tie = 0;     // random: decides between events of one time
    uint64_t number = 0;  // and, should those be equal, the order in which they were made
    std::function<void()> call;

    bool operator>(const Event& other) const;
  };
  struct Task;

  static constexpr size_t kStackBytes = 8 << 20;

  // Runs events until one resumes a task. If that is another than `self`, switches to it, and
  // returns when `self` is resumed.
  void RunEvents(Task& self);
  // Ends the wait of this number, if it is not over.
  void Resume(uint64_t wait);
  // Where tasks begin. The address of the Task in two halves.
  static void Enter(unsigned high, unsigned low);

  std::mt19937_64 random_;
  TimeNs now_ = 0;
  uint64_t events_made_ = 0;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  std::vector<std::unique_ptr<Task>> tasks_;  // the last one is Run's caller
  size_t tasks_left_ = 0;
  Task* running_ = nullptr;
  Task* resumed_ = nullptr;  // by the event that just ran
  uint64_t waits_ = 0;       // so far; each has its number
  bool is_tracing_ = false;
  std::string trace_;
};

}  // namespace rowhouse
