#include "ps/shard/io_thread.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include "common/thread_name.h"

namespace rowhouse {

IoThread::IoThread(std::string name, size_t max_batch, Executor execute,
                   std::function<void(ShardEvent)> done)
    : max_batch_(max_batch),
      execute_(std::move(execute)),
      done_(std::move(done)),
      thread_([this, name = std::move(name)] {
        NameThisThread(name);
        Run();
      }) {}

IoThread::~IoThread() {
  {
    MutexLock lock(mutex_);
    is_closing_ = true;
  }
  changed_.NotifyOne();
  thread_.join();
}

void IoThread::Submit(ShardAction action) {
  {
    MutexLock lock(mutex_);
    queue_.push_back(std::move(action));
  }
  changed_.NotifyOne();
}

namespace {

// The status of an event whose action may have found no room; null for others.
const Status* StatusOf(const ShardEvent& event) {
  if (const auto* written = std::get_if<RowsWritten>(&event)) return &written->status;
  if (const auto* synced = std::get_if<StoreSynced>(&event)) return &synced->status;
  if (const auto* truncated = std::get_if<LogTruncated>(&event)) return &truncated->status;
  const auto* appended = std::get_if<LogAppended>(&event);
  return appended == nullptr ? nullptr : &appended->status;
}

Blocked WhatIsBlocked(const ShardEvent& event) {
  const bool is_log =
      std::holds_alternative<LogAppended>(event) || std::holds_alternative<LogTruncated>(event);
  return is_log ? Blocked::kLog : Blocked::kStore;
}

bool MakesRoom(const ShardAction& action) { return std::holds_alternative<TruncateLog>(action); }

bool FoundNoRoom(const ShardEvent& event) {
  const Status* const status = StatusOf(event);
  return status != nullptr && status->code() == StatusCode::kResourceExhausted;
}

}  // namespace

void IoThread::CarryOut(std::vector<ShardAction>& actions) {
  bool is_blocked = false;
  for (size_t next = 0; next < actions.size();) {
    std::vector<ShardEvent> events = execute_(std::span(actions).subspan(next));
    CHECK(!events.empty() && events.size() <= actions.size() - next);
    std::optional<ShardEvent> blocked;
    if (FoundNoRoom(events.back())) {
      done_(StoreBlocked{*StatusOf(events.back()), WhatIsBlocked(events.back())});
      is_blocked = true;
      blocked = std::move(events.back());
      events.pop_back();
    } else if (std::exchange(is_blocked, false)) {
      done_(StoreUnblocked{WhatIsBlocked(events.back())});
    }
    next += events.size();
    for (ShardEvent& event : events) done_(std::move(event));
    if (blocked && !WaitForRoom(actions, next)) {
      ++next;
      done_(std::move(*blocked));
    }
  }
}

bool IoThread::WaitForRoom(std::vector<ShardAction>& actions, size_t next) {
  constexpr auto kTryAgainAfter = std::chrono::milliseconds(500);
  const auto waiting = actions.begin() + static_cast<std::ptrdiff_t>(next);
  const bool is_waiting_itself = MakesRoom(*waiting);
  if (!is_waiting_itself) {
    const auto behind = std::find_if(waiting, actions.end(), MakesRoom);
    if (behind != actions.end()) {
      std::rotate(waiting, behind, behind + 1);
      return true;
    }
  }
  MutexLock lock(mutex_);
  const auto submitted = [is_waiting_itself](std::deque<ShardAction>& queue) {
    return is_waiting_itself ? queue.end() : std::find_if(queue.begin(), queue.end(), MakesRoom);
  };
  const auto deadline = CondVar::After(kTryAgainAfter);
  while (!is_closing_ && submitted(queue_) == queue_.end() &&
         changed_.WaitUntil(mutex_, deadline)) {
    continue;
  }
  if (is_closing_) return false;
  if (const auto found = submitted(queue_); found != queue_.end()) {
    actions.insert(waiting, std::move(*found));
    queue_.erase(found);
  }
  return true;
}

void IoThread::Run() {
  std::vector<ShardAction> actions;
  for (;;) {
    actions.clear();
    {
      MutexLock lock(mutex_);
      while (!is_closing_ && queue_.empty()) changed_.Wait(mutex_);
      if (queue_.empty()) return;
      while (!queue_.empty() && actions.size() < max_batch_) {
        actions.push_back(std::move(queue_.front()));
        queue_.pop_front();
      }
    }
    CarryOut(actions);
  }
}

}  // namespace rowhouse
