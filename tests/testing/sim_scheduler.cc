#include "tests/testing/sim_scheduler.h"

#include <glog/logging.h>
#include <ucontext.h>

#include <algorithm>
#include <cstddef>
#include <tuple>
#include <utility>

namespace rowhouse {

struct SimScheduler::Task {
  ucontext_t context = {};  // where it goes on
  std::unique_ptr<std::byte[]> stack;
  std::function<void()> body;
  SimScheduler* scheduler = nullptr;
  uint64_t wait = 0;  // the number of its present wait; 0: it does not wait
};

bool SimScheduler::Event::operator>(const Event& other) const {
  return std::tie(at, tie, number) > std::tie(other.at, other.tie, other.number);
}

SimScheduler::SimScheduler(uint64_t seed) : random_(seed) {}
SimScheduler::~SimScheduler() = default;

uint64_t SimScheduler::Random(uint64_t end) {
  CHECK_GT(end, 0u);
  return random_() % end;
}

bool SimScheduler::Happens(double probability) {
  // No draw where there is nothing to decide.
  if (probability <= 0.0) return false;
  return static_cast<double>(random_() >> 11) * 0x1p-53 < probability;
}

void SimScheduler::After(TimeNs delay, std::function<void()> event) {
  CHECK_GE(delay, 0);
  events_.push(
      {.at = now_ + delay, .tie = random_(), .number = events_made_++, .call = std::move(event)});
}

void SimScheduler::Run(std::vector<std::function<void()>> bodies) {
  CHECK(running_ == nullptr) << "tasks start no tasks";
  if (bodies.empty()) return;
  tasks_left_ = bodies.size();
  for (std::function<void()>& body : bodies) {
    tasks_.push_back(std::make_unique<Task>());
    Task& task = *tasks_.back();
    task.body = std::move(body);
    task.scheduler = this;
    task.stack = std::make_unique_for_overwrite<std::byte[]>(kStackBytes);
    CHECK_EQ(getcontext(&task.context), 0);
    task.context.uc_stack.ss_sp = task.stack.get();
    task.context.uc_stack.ss_size = kStackBytes;
    // makecontext passes ints only.
    const auto address = reinterpret_cast<uintptr_t>(&task);
    makecontext(&task.context, reinterpret_cast<void (*)()>(&SimScheduler::Enter), 2,
                static_cast<unsigned>(address >> 32), static_cast<unsigned>(address));
    task.wait = ++waits_;
    After(0, [this, wait = task.wait] { Resume(wait); });
  }
  tasks_.push_back(std::make_unique<Task>());  // the caller
  RunEvents(*tasks_.back());
  tasks_.clear();
  running_ = nullptr;
}

void SimScheduler::Enter(unsigned high, unsigned low) {
  Task& task = *reinterpret_cast<Task*>(uintptr_t{high} << 32 | low);
  task.body();
  SimScheduler& scheduler = *task.scheduler;
  if (--scheduler.tasks_left_ == 0) scheduler.resumed_ = scheduler.tasks_.back().get();
  scheduler.RunEvents(task);
  LOG(FATAL) << "a task that has ended was resumed";
}

void SimScheduler::RunEvents(Task& self) {
  while (resumed_ == nullptr) {
    CHECK(!events_.empty()) << "tasks wait and nothing moves any more";
    // The event is taken out first: it may make others.
    auto call = std::move(const_cast<Event&>(events_.top()).call);
    now_ = events_.top().at;
    events_.pop();
    call();
  }
  running_ = std::exchange(resumed_, nullptr);
  if (running_ == &self) return;
  CHECK_EQ(swapcontext(&self.context, &running_->context), 0);
}

void SimScheduler::Resume(uint64_t wait) {
  const auto task = std::ranges::find_if(
      tasks_, [wait](const std::unique_ptr<Task>& one) { return one->wait == wait; });
  if (task == tasks_.end()) return;  // The wait is over.
  (*task)->wait = 0;
  resumed_ = task->get();
}

void SimScheduler::WaitUntil(TimeNs deadline) {
  CHECK(running_ != nullptr) << "only tasks wait";
  Task& self = *running_;
  self.wait = ++waits_;
  if (deadline != kNever) {
    After(std::max<TimeNs>(deadline - now_, 0), [this, wait = self.wait] { Resume(wait); });
  }
  RunEvents(self);
}

void SimScheduler::WakeTask(size_t task) {
  if (task >= tasks_.size() || tasks_[task]->wait == 0) return;
  After(0, [this, wait = tasks_[task]->wait] { Resume(wait); });
}

void SimScheduler::Note(const std::string& what) {
  if (!is_tracing_) return;
  trace_ += std::to_string(now_) + " " + what + "\n";
}

}  // namespace rowhouse
