// BusyWait: how long a worker has waited for shards that say BUSY because their disk is full. It
// logs that the worker waits, and gives up after a time.
// Threads: one.
#pragma once

#include <optional>
#include <string>

#include "common/clock.h"
#include "common/status.h"
#include "common/types.h"

namespace rowhouse {

class BusyWait {
 public:
  // limit_ms: how long to wait in all.
  BusyWait(WorkerRank worker, TimeMs limit_ms) : worker_(worker), limit_ms_(limit_ms) {}

  // Nothing is waited for; the next BUSY begins a new wait.
  void Clear() { *this = BusyWait(worker_, limit_ms_); }

  // A shard said so. The first message is kept.
  void OnBusy(const std::string& message) {
    if (message_.empty()) message_ = message;
  }

  // To be called at every tick in which a deadline began anew. Logs the first time and then every
  // half minute, unless `is_silent`. kResourceExhausted after limit_ms.
  Status OnTick(TimeMs now, bool is_silent);

  // What the first shard said since Clear; "": none was busy.
  const std::string& message() const { return message_; }

 private:
  WorkerRank worker_;
  TimeMs limit_ms_;
  std::string message_;
  std::optional<TimeMs> since_, logged_at_;
};

}  // namespace rowhouse
