#include "ps/shard/shard_runner.h"

#include <unistd.h>

#include <algorithm>
#include <future>
#include <limits>
#include <optional>
#include <utility>

#include "common/inquiry/inquiry.h"
#include "common/thread_name.h"
#include "ps/shard/io_thread.h"

namespace rowhouse {

std::vector<ShardEvent> CarryOutLogActions(PushLog& log, std::span<const ShardAction> actions) {
  std::vector<ShardEvent> events;
  if (const auto* truncate = std::get_if<TruncateLog>(&actions.front())) {
    events.push_back(LogTruncated{log.Truncate(truncate->low_water)});
    return events;
  }
  const auto* first = std::get_if<AppendLog>(&actions.front());
  CHECK(first != nullptr) << "not an action of the log";
  const uint64_t lap = first->lap;
  std::vector<LoggedPush> pushes;
  std::vector<uint64_t> tickets;
  for (const ShardAction& action : actions) {
    const auto* append = std::get_if<AppendLog>(&action);
    if (append == nullptr || append->lap != lap) break;
    pushes.push_back(*append->push);
    tickets.push_back(append->ticket);
  }
  const Status status = log.Append(pushes, lap);
  for (const uint64_t ticket : tickets) {
    events.push_back(
        LogAppended{.ticket = ticket, .status = status, .log_bytes = log.bytes_appended()});
    if (status.code() == StatusCode::kResourceExhausted) break;
  }
  return events;
}

ShardRunner::ShardRunner(std::string name, std::unique_ptr<Shard> shard,
                         std::unique_ptr<ShardStore> store, std::unique_ptr<PushLog> log,
                         ListenerFactory make_listener, const Clock& clock, CacheAccount account)
    : name_(std::move(name)),
      shard_(std::move(shard)),
      store_(std::move(store)),
      log_(std::move(log)),
      make_listener_(std::move(make_listener)),
      clock_(clock),
      phases_(clock),
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
  local_endpoint_ = listener.value()->local_endpoint();
  started(listener.value()->endpoint());
  Serve(*listener.value());
  MutexLock lock(mutex_);
  waking_ = nullptr;
}

// Carries out the shard's actions until the runner stops. Events of the I/O threads are queued in
// the runner and handled between messages.
class ShardRunner::Loop {
 public:
  Loop(ShardRunner& runner, Listener& listener)
      : runner_(runner),
        listener_(listener),
        io_(
            runner.name_ + "-io", /*max_batch=*/1,
            [this](std::span<ShardAction> actions) { return CarryOutInStore(actions); },
            [this](ShardEvent event) { runner_.Complete(std::move(event)); }),
        save_io_(
            runner_.name_ + "-save", /*max_batch=*/1,
            [this](std::span<ShardAction> actions) {
              std::vector<ShardEvent> events;
              events.push_back(runner_.store_->ExecuteSave(actions.front()));
              return events;
            },
            [this](ShardEvent event) { runner_.Complete(std::move(event)); }) {
    runner_.phases_.pid = static_cast<uint32_t>(getpid());
    runner_.shard_->CountPhasesIn(&runner_.phases_);
    runner_.phases_.shard.Restart();
    if (runner.log_ == nullptr) return;
    constexpr size_t kMaxPushesASync = 64;
    log_io_.emplace(
        runner.name_ + "-log", kMaxPushesASync,
        [this](std::span<ShardAction> actions) { return CarryOutInLog(actions); },
        [this](ShardEvent event) { runner_.Complete(std::move(event)); });
  }

  // Logs (VLOG 1) how its time divides.
  ~Loop() {
    std::string text;
    for (const char* name : kShardPhaseNames) {
      text += fmt::format(" {}={:.3f}s", name, runner_.phases_.shard.seconds_of(name));
    }
    VLOG(1) << runner_.name_ << ":" << text;
  }

  void Run() {
    while (!runner_.is_stopping_) {
      for (ShardEvent& event : runner_.TakeCompleted()) Handle(std::move(event));
      if (inquiry_.IsAsked()) {
        inquiry_.Answer(runner_.shard_->DescribeStanding(), runner_.shard_->WaitsNow());
      }
      constexpr TimeMs kMaxWaitMs = 1000;
      const TimeMs wait = calls_again_ ? 0 : std::clamp<TimeMs>(wake_at_ - Now(), 0, kMaxWaitMs);
      Result<std::optional<Incoming>> incoming =
          takes_messages_ ? Receive(wait) : std::optional<Incoming>();
      if (!incoming.ok()) {
        LOG(ERROR) << runner_.name_ << " stops serving: " << incoming.status().message();
        return;
      }
      if (incoming.value()) {
        runner_.heard_at_ = Now();
        if (runner_.phases_.shard.keeps_spans()) {
          runner_.phases_.messages.OnRequest(incoming.value()->peer, incoming.value()->frames,
                                             ready_at_, runner_.phases_.shard.began());
        }
        Handle(
            MessageArrived{std::move(incoming.value()->peer), std::move(incoming.value()->frames)});
      }
      if (Now() >= wake_at_) {
        wake_at_ = std::numeric_limits<TimeMs>::max();
        Handle(Tick{});
      }
      // After a message, if one is there: a step may go on for long.
      if (calls_again_) Handle(Continue{});
    }
  }

 private:
  void End(ShardPhase phase) { runner_.phases_.shard.End(Number(phase)); }

  // While the shard is profiled, receiving what is there already counts as work with the socket.
  Result<std::optional<Incoming>> Receive(TimeMs wait) {
    End(ShardPhase::kOther);
    ready_at_ = runner_.phases_.shard.began();
    if (runner_.phases_.shard.keeps_spans()) {
      Result<std::optional<Incoming>> incoming = listener_.Receive(0);
      End(ShardPhase::kSocket);
      if (!incoming.ok() || incoming.value()) return incoming;
    }
    Result<std::optional<Incoming>> incoming = listener_.Receive(static_cast<int>(wait));
    End(ShardPhase::kWait);
    return incoming;
  }

  TimeMs Now() const { return runner_.clock_.NowMs(); }

  // What is ready is sent before the shard goes on with a step.
  void Handle(ShardEvent event) {
    std::vector<ShardAction> actions = runner_.shard_->Handle(std::move(event), Now());
    End(ShardPhase::kOther);
    const auto* const again = actions.empty() ? nullptr : std::get_if<CallAgain>(&actions.back());
    calls_again_ = again != nullptr;
    takes_messages_ = again == nullptr || again->takes_messages;
    if (calls_again_) actions.pop_back();
    for (ShardAction& action : actions) {
      CarryOut(action);
      End(std::holds_alternative<SendFrames>(action) ? ShardPhase::kSocket : ShardPhase::kStore);
    }
  }

  void CarryOut(ShardAction& action) {
    if (auto* send = std::get_if<SendFrames>(&action)) {
      if (runner_.phases_.shard.keeps_spans()) {
        runner_.phases_.messages.OnAnswer(send->peer, send->frames, runner_.phases_.shard.Now());
      }
      // The peer may be gone; its worker reports the loss itself.
      const Status status = listener_.Send(send->peer, std::move(send->frames));
      LOG_IF(WARNING, !status.ok()) << runner_.name_ << " reply lost: " << status.message();
    } else if (auto* wake = std::get_if<WakeAt>(&action)) {
      wake_at_ = wake->at;
    } else if (std::holds_alternative<AppendLog>(action) ||
               std::holds_alternative<TruncateLog>(action)) {
      CHECK(log_io_) << runner_.name_ << " has no push log";
      log_io_->Submit(std::move(action));
    } else if (auto* ask = std::get_if<AskCacheBudget>(&action)) {
      const CacheAccount& account = runner_.account_;
      CHECK(account.ledger != nullptr) << runner_.name_ << " has no account";
      // Queued, so that the actions after this one come before those of the answer.
      runner_.Complete(CacheGranted{account.ledger->Ask(account.shard, std::move(ask->demands))});
    } else if (IsOfSave(action)) {
      save_io_.Submit(std::move(action));
    } else {
      io_.Submit(std::move(action));
    }
  }

  std::vector<ShardEvent> CarryOutInStore(std::span<ShardAction> actions) {
    const StorePhase phase = PhaseOf(actions.front());
    EndOnThread(&ShardPhases::store, StorePhase::kIdle);
    std::vector<ShardEvent> events;
    events.push_back(runner_.store_->Execute(actions.front()));
    EndOnThread(&ShardPhases::store, phase);
    return events;
  }

  std::vector<ShardEvent> CarryOutInLog(std::span<ShardAction> actions) {
    EndOnThread(&ShardPhases::push_log, StorePhase::kIdle);
    std::vector<ShardEvent> events = CarryOutLogActions(*runner_.log_, actions);
    EndOnThread(&ShardPhases::push_log, StorePhase::kWrite);
    return events;
  }

  static StorePhase PhaseOf(const ShardAction& action) {
    if (std::holds_alternative<ReadRows>(action)) return StorePhase::kRead;
    if (std::holds_alternative<WriteRows>(action)) return StorePhase::kWrite;
    return StorePhase::kOther;
  }

  // On an I/O thread.
  void EndOnThread(PhaseLog ShardPhases::*log, StorePhase phase) {
    MutexLock lock(runner_.phases_.mutex);
    (runner_.phases_.*log).End(Number(phase));
  }

  ShardRunner& runner_;
  Inquiry inquiry_;
  Listener& listener_;
  TimeMs wake_at_ = std::numeric_limits<TimeMs>::max();
  bool calls_again_ = false;  // the shard waits for Continue
  bool takes_messages_ = true;
  TimeNs ready_at_ = 0;  // when it last began to look for a message
  IoThread io_;
  IoThread save_io_;
  std::optional<IoThread> log_io_;
};

void ShardRunner::Serve(Listener& listener) { Loop(*this, listener).Run(); }

void ShardRunner::Complete(ShardEvent event) {
  MutexLock lock(mutex_);
  completed_.push_back(std::move(event));
  if (waking_ != nullptr) waking_->Wake();
}

std::vector<ShardEvent> ShardRunner::TakeCompleted() {
  MutexLock lock(mutex_);
  return std::exchange(completed_, {});
}

}  // namespace rowhouse
