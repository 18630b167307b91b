#include "tests/testing/sim_shard.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

namespace rowhouse {
namespace {

// As IoThread tries again.
constexpr TimeNs kTryAgainAfter = 500 * kNsPerMs;

}  // namespace

SimShard::SimShard(std::string name, std::unique_ptr<Shard> shard,
                   std::unique_ptr<ShardStore> store, SimScheduler& scheduler,
                   const SimFaults& faults, Send send, AskLedger ask_ledger)
    : name_(std::move(name)),
      shard_(std::move(shard)),
      store_(std::move(store)),
      scheduler_(scheduler),
      faults_(faults),
      send_(std::move(send)),
      ask_ledger_(std::move(ask_ledger)) {}

void SimShard::Handle(ShardEvent event) {
  if (scheduler_.is_tracing()) {
    scheduler_.Note(fmt::format("{} handles event {}", name_, event.index()));
  }
  CarryOut(shard_->Handle(std::move(event), scheduler_.NowMs()));
}

void SimShard::CarryOut(std::vector<ShardAction> actions) {
  for (ShardAction& action : actions) {
    if (auto* send = std::get_if<SendFrames>(&action)) {
      send_(send->peer, std::move(send->frames));
    } else if (const auto* wake = std::get_if<WakeAt>(&action)) {
      const TimeNs in = std::max<TimeNs>(wake->at * kNsPerMs - scheduler_.NowNs(), 0);
      scheduler_.After(in, [this, number = ++wake_ups_] {
        if (number == wake_ups_) Handle(Tick{});
      });
    } else if (std::holds_alternative<CallAgain>(action)) {
      Handle(Continue{});
    } else if (auto* ask = std::get_if<AskCacheBudget>(&action)) {
      auto demands = std::make_shared<CacheDemands>(std::move(ask->demands));
      scheduler_.After(Duration(),
                       [this, demands] { Handle(CacheGranted{ask_ledger_(std::move(*demands))}); });
    } else if (std::holds_alternative<AppendLog>(action)) {
      Submit(std::move(action), &of_log_);
    } else if (!std::holds_alternative<TruncateLog>(action)) {  // This log forgets by itself.
      Submit(std::move(action), &of_store_);
    }
  }
}

TimeNs SimShard::Duration() {
  auto duration = static_cast<TimeNs>(scheduler_.Random(SimNetwork::kMaxLatency));
  if (scheduler_.Happens(faults_.slow_store)) {
    duration += static_cast<TimeNs>(
        scheduler_.Random(static_cast<uint64_t>(faults_.max_delay_ms * kNsPerMs) + 1));
  }
  return duration;
}

void SimShard::Submit(ShardAction action, Queue* queue) {
  queue->actions.push_back(std::move(action));
  StartNext(queue);
}

void SimShard::StartNext(Queue* queue) {
  if (queue->is_under_way || queue->actions.empty()) return;
  queue->is_under_way = true;
  scheduler_.After(Duration(), [this, queue] { End(queue); });
}

bool SimShard::FindsNoRoom(const ShardAction& action, Queue* queue) {
  const auto* write = std::get_if<WriteRows>(&action);
  if (write != nullptr && write->gives_up) return false;
  if (std::holds_alternative<ReadRows>(action) || std::holds_alternative<ScanStore>(action) ||
      std::holds_alternative<CountStore>(action) ||
      std::holds_alternative<CheckpointStore>(action)) {
    return false;
  }
  if (!queue->is_blocked && faults_.max_full_ms > 0 && scheduler_.Random(3) == 0) {
    queue->full_until =
        scheduler_.NowNs() + static_cast<TimeNs>(scheduler_.Random(
                                 static_cast<uint64_t>(faults_.max_full_ms * kNsPerMs)));
  }
  return scheduler_.NowNs() < queue->full_until;
}

void SimShard::End(Queue* queue) {
  const Blocked what = queue == &of_log_ ? Blocked::kLog : Blocked::kStore;
  if (FindsNoRoom(queue->actions.front(), queue)) {
    queue->is_blocked = true;
    scheduler_.After(kTryAgainAfter, [this, queue] { End(queue); });
    return Handle(StoreBlocked{Status(StatusCode::kResourceExhausted, "the disk is full"), what});
  }
  ShardAction action = std::move(queue->actions.front());
  queue->actions.pop_front();
  ShardEvent event = Execute(action);
  queue->is_under_way = false;
  if (std::exchange(queue->is_blocked, false)) Handle(StoreUnblocked{what});
  Handle(std::move(event));
  StartNext(queue);
}

ShardEvent SimShard::Execute(ShardAction& action) {
  if (const auto* append = std::get_if<AppendLog>(&action)) {
    for (const auto frame : append->push->frames) log_bytes_ += frame.size();
    return LogAppended{append->ticket, OkStatus(), log_bytes_};
  }
  if (const auto* checkpoint = std::get_if<CheckpointStore>(&action)) {
    return Checkpoint(*checkpoint);
  }
  if (const auto* write = std::get_if<WriteRows>(&action);
      write != nullptr && write->gives_up && scheduler_.Happens(faults_.no_room)) {
    return RowsWritten{.ticket = write->ticket,
                       .status = Status(StatusCode::kResourceExhausted, "the disk is full")};
  }
  ShardEvent event = store_->Execute(action);
  // What the process takes is no part of the simulation.
  if (auto* counted = std::get_if<StoreCounted>(&event)) counted->process_peak_bytes = 0;
  return event;
}

StoreCheckpointed SimShard::Checkpoint(const CheckpointStore& action) {
  StoreCheckpointed event{.ticket = action.ticket, .status = {}, .directory = {}, .checksum = {}};
  if (action.phase != CheckpointPhase::kDelete && scheduler_.Happens(faults_.no_room)) {
    event.status = Status(StatusCode::kResourceExhausted, "the disk is full");
  } else if (action.phase == CheckpointPhase::kMake) {
    const auto rows = std::get<StoreScanned>(store_->Execute(ScanStore{.ticket = 0}));
    CHECK(rows.status.ok()) << rows.status.ToString();
    checkpoints_[action.steps] = RowsDigest(rows.digest_high, rows.digest_low);
  }
  return event;
}

}  // namespace rowhouse
