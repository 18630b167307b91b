// Refusals: errors to workers that send nonsense. A sound worker stops at its first error. One that
// goes on would be read, refused and answered as fast as the machine can, at the cost of the
// others: of what it has sent amiss, the answers beyond a window of requests wait for their turn.
// Source: the virtual scheduling form of the generic cell rate algorithm (ITU-T I.371).
// Threads: the shard's thread only.
#pragma once

#include <glog/logging.h>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <limits>
#include <map>
#include <utility>

#include "ps/shard/shard_state.h"

namespace rowhouse {

class Refusals {
 public:
  // Of each worker: this many at once, and then one every kEveryMs.
  static constexpr TimeMs kAtOnce = 64, kEveryMs = 10;
  // This many may wait for their turn; a further one is not answered, only logged.
  static constexpr size_t kMaxWaiting = 256;

  explicit Refusals(ShardState& state) : state_(state) {}

  // Requires that the job has such a worker.
  void Refuse(Request request, Status status) {
    Sender& sender = senders_[request.header.sender];
    if (sender.waiting.size() == kMaxWaiting) {
      constexpr int kSeconds = 10;
      LOG_EVERY_T(WARNING, kSeconds) << state_.options.name << ": worker " << request.header.sender
                                     << " sends faster than it is refused: " << status.message();
      return;
    }
    sender.waiting.emplace_back(std::move(request), std::move(status));
    SendDueOf(sender);
  }

  void SendDue() {
    for (auto& [worker, sender] : senders_) SendDueOf(sender);
  }

  // When the next one is due; the greatest time if none waits.
  TimeMs next_at() const {
    TimeMs next = std::numeric_limits<TimeMs>::max();
    for (const auto& [worker, sender] : senders_) {
      if (!sender.waiting.empty()) next = std::min(next, DueAt(sender));
    }
    return next;
  }

 private:
  struct Sender {
    TimeMs paid_until = 0;  // what was sent is evenly spread until then
    std::deque<std::pair<Request, Status>> waiting;
  };

  static TimeMs DueAt(const Sender& sender) { return sender.paid_until - (kAtOnce - 1) * kEveryMs; }
  void SendDueOf(Sender& sender) {
    for (; !sender.waiting.empty() && DueAt(sender) <= state_.now; sender.waiting.pop_front()) {
      const auto& [request, status] = sender.waiting.front();
      state_.out.Refuse(request, status);
      sender.paid_until = std::max(sender.paid_until, state_.now) + kEveryMs;
    }
  }

  ShardState& state_;
  std::map<uint32_t, Sender> senders_;
};

}  // namespace rowhouse
