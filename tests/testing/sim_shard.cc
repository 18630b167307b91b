#include "tests/testing/sim_shard.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <utility>

namespace rowhouse {
namespace {

// As IoThread tries again.
constexpr TimeNs kTryAgainAfter = 500 * kNsPerMs;

}  // namespace

SimShard::SimShard(std::string name, std::unique_ptr<Shard> shard,
                   const std::vector<TableSpec>& tables, SimScheduler& scheduler,
                   const SimFaults& faults, Send send, AskLedger ask_ledger)
    : name_(std::move(name)),
      shard_(std::move(shard)),
      tables_(tables),
      store_([&] {
        std::unique_ptr<RowStore> rows = RowStores().Make("memory", {}).value();
        rows_ = rows.get();
        return std::make_unique<ShardStore>(std::move(rows), "", tables);
      }()),
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
    } else if (IsOfSave(action)) {
      Submit(std::move(action), &of_save_);
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
  if (std::holds_alternative<ReadRows>(action) || std::holds_alternative<ScanStore>(action) ||
      std::holds_alternative<CountStore>(action) || IsOfSave(action)) {
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
  if (IsOfSave(action)) return ExecuteSave(action);
  ShardEvent event = store_->Execute(action);
  // What the process takes is no part of the simulation.
  if (auto* counted = std::get_if<StoreCounted>(&event)) counted->process_peak_bytes = 0;
  return event;
}

ShardEvent SimShard::ExecuteSave(ShardAction& action) {
  const auto room = [this] {
    return scheduler_.Happens(faults_.no_room)
               ? Status(StatusCode::kResourceExhausted, "the disk is full")
               : OkStatus();
  };
  if (const auto* cut = std::get_if<CutStore>(&action)) {
    cut_.clear();
    const Status scanned = rows_->Scan(
        [this](TableId table, RowId row, uint16_t first_column, std::span<const std::byte> record) {
          cut_[{table, row, first_column}].assign(record.begin(), record.end());
          return OkStatus();
        });
    CHECK(scanned.ok());
    return StoreCut{.ticket = cut->ticket, .status = room()};
  }
  if (const auto* delta = std::get_if<WriteDelta>(&action)) {
    for (const StoreWrite& write : delta->writes) {
      const std::byte* record = write.records.data();
      for (const RowId row : write.rows) {
        delta_[{write.slice.table, row, write.slice.first_column}].assign(
            record, record + write.slice.record_bytes);
        record += write.slice.record_bytes;
      }
    }
    return DeltaWritten{.ticket = delta->ticket, .status = room()};
  }
  if (const auto* make = std::get_if<MakePart>(&action)) {
    PartMade made{.ticket = make->ticket, .status = room(), .directory = {}, .checksum = {}};
    if (!made.status.ok()) return made;
    for (const auto& [key, record] : delta_) made.delta_bytes += record.size();
    if (!delta_.empty()) deltas_[make->steps] = std::exchange(delta_, {});
    checkpoints_[make->steps] = DigestOfPart(make->deltas);
    std::erase_if(
        deltas_, [&](const auto& one) { return std::ranges::count(make->deltas, one.first) == 0; });
    return made;
  }
  if (std::holds_alternative<DropPart>(action)) delta_.clear();
  return PartsDeleted{};
}

RowsDigest SimShard::DigestOfPart(const std::vector<uint64_t>& deltas) const {
  const auto lsn_of = [](const std::vector<std::byte>& record) {
    return LsnIn({.record_bytes = static_cast<uint32_t>(record.size())}, record.data());
  };
  Records newest = cut_;
  for (const uint64_t steps : deltas) {
    for (const auto& [key, record] : deltas_.at(steps)) {
      std::vector<std::byte>& known = newest[key];
      if (known.empty() || lsn_of(record) > lsn_of(known)) known = record;
    }
  }
  std::unique_ptr<RowStore> rows = RowStores().Make("memory", {}).value();
  for (const auto& [key, record] : newest) {
    const Status put = rows->Put({.table = key.table,
                                  .first_column = key.first_column,
                                  .record_bytes = static_cast<uint32_t>(record.size())},
                                 std::array{key.row}, record);
    CHECK(put.ok());
  }
  const auto scanned =
      std::get<StoreScanned>(ShardStore(std::move(rows), "", tables_).Execute(ScanStore{}));
  CHECK(scanned.status.ok()) << scanned.status.ToString();
  return RowsDigest(scanned.digest_high, scanned.digest_low);
}

}  // namespace rowhouse
