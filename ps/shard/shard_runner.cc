#include "ps/shard/shard_runner.h"

#include <algorithm>
#include <future>
#include <limits>
#include <optional>
#include <utility>

#include "common/thread_name.h"
#include "ps/log/log_actions.h"
#include "ps/node/io_thread.h"

namespace rowhouse {

ShardRunner::ShardRunner(std::string name, std::unique_ptr<Shard> shard,
                         std::unique_ptr<ShardStore> store, std::unique_ptr<PushLog> log,
                         ListenerFactory make_listener, const Clock& clock, CacheAccount account)
    : name_(std::move(name)),
      shard_(std::move(shard)),
      store_(std::move(store)),
      log_(std::move(log)),
      make_listener_(std::move(make_listener)),
      clock_(clock),
      account_(std::move(account)) {}

ShardRunner::~ShardRunner() { Stop(); }

Result<std::string> ShardRunner::Start() {
  std::promise<Result<std::string>> promise;
  std::future<Result<std::string>> endpoint = promise.get_future();
  // The thread owns the promise: set_value may still be returning when this function has.
  thread_ = std::thread([this, started = std::move(promise)]() mutable {
    NameThisThread(name_);
    Run([&started](Result<std::string> result) { started.set_value(std::move(result)); });
  });
  Result<std::string> result = endpoint.get();
  if (!result.ok()) thread_.join();
  return result;
}

void ShardRunner::Stop() {
  if (!thread_.joinable()) return;
  is_stopping_ = true;
  {
    MutexLock lock(mutex_);
    if (waking_ != nullptr) waking_->Wake();
  }
  thread_.join();
}

void ShardRunner::Run(std::function<void(Result<std::string>)> started) {
  Result<std::unique_ptr<Listener>> listener = make_listener_();
  if (!listener.ok()) return started(listener.status());
  {
    MutexLock lock(mutex_);
    waking_ = listener.value().get();
  }
  started(listener.value()->endpoint());
  Serve(*listener.value());
  MutexLock lock(mutex_);
  waking_ = nullptr;
}

void ShardRunner::Serve(Listener& listener) {
  const auto done = [this](ShardEvent event) {
    MutexLock lock(mutex_);
    completed_.push_back(std::move(event));
    if (waking_ != nullptr) waking_->Wake();
  };
  const auto execute = [this](std::span<ShardAction> actions) {
    std::vector<ShardEvent> events;
    events.push_back(store_->Execute(actions.front()));
    return events;
  };
  IoThread io(name_ + "-io", /*max_batch=*/1, execute, done);
  std::optional<IoThread> log_io;
  if (log_ != nullptr) {
    constexpr size_t kMaxPushesASync = 64;
    log_io.emplace(
        name_ + "-log", kMaxPushesASync,
        [this](std::span<ShardAction> actions) { return CarryOutLogActions(*log_, actions); },
        done);
  }
  TimeMs wake_at = std::numeric_limits<TimeMs>::max();

  const auto carry_out = [&](std::vector<ShardAction> actions) {
    for (ShardAction& action : actions) {
      if (auto* send = std::get_if<SendFrames>(&action)) {
        // The peer is gone; its worker reports the loss itself.
        const Status status = listener.Send(send->peer, std::move(send->frames));
        LOG_IF(WARNING, !status.ok()) << name_ << " reply lost: " << status.message();
      } else if (auto* wake = std::get_if<WakeAt>(&action)) {
        wake_at = wake->at;
      } else if (std::holds_alternative<AppendLog>(action) ||
                 std::holds_alternative<TruncateLog>(action)) {
        CHECK(log_io) << name_ << " has no push log";
        log_io->Submit(std::move(action));
      } else if (auto* ask = std::get_if<AskCacheBudget>(&action)) {
        CHECK(account_.ledger != nullptr) << name_ << " has no account";
        // Queued, so that the actions after this one come before those of the answer.
        done(CacheGranted{account_.ledger->Ask(account_.shard, std::move(ask->demands))});
      } else {
        io.Submit(std::move(action));
      }
    }
  };
  const auto handle = [&](ShardEvent event) {
    for (;;) {
      std::vector<ShardAction> actions = shard_->Handle(std::move(event), clock_.NowMs());
      const bool calls_again =
          !actions.empty() && std::holds_alternative<CallAgain>(actions.back());
      if (calls_again) actions.pop_back();
      carry_out(std::move(actions));
      if (!calls_again) return;
      event = Continue{};
    }
  };

  while (!is_stopping_) {
    std::vector<ShardEvent> completed;
    {
      MutexLock lock(mutex_);
      completed.swap(completed_);
    }
    for (ShardEvent& event : completed) handle(std::move(event));

    constexpr TimeMs kMaxWaitMs = 1000;
    const TimeMs wait = std::clamp<TimeMs>(wake_at - clock_.NowMs(), 0, kMaxWaitMs);
    Result<std::optional<Incoming>> incoming = listener.Receive(static_cast<int>(wait));
    if (!incoming.ok()) {
      LOG(ERROR) << name_ << " stops serving: " << incoming.status().message();
      return;
    }
    if (incoming.value()) {
      heard_at_ = clock_.NowMs();
      handle(
          MessageArrived{std::move(incoming.value()->peer), std::move(incoming.value()->frames)});
    }
    if (clock_.NowMs() >= wake_at) {
      wake_at = std::numeric_limits<TimeMs>::max();
      handle(Tick{});
    }
  }
}

}  // namespace rowhouse
