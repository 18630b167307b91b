// ShardState: what the rooms of a shard share: options, step, time, counters, the failure, and the
// outbox of the event that is being handled.
//
// Threads: the shard's thread only.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "common/clock.h"
#include "common/mutex.h"
#include "common/phase_log.h"
#include "common/status.h"
#include "common/wire/codec.h"
#include "common/wire/control.h"
#include "common/wire/message.h"
#include "common/wire/message_log.h"
#include "common/wire/profile.h"
#include "ps/shard/events.h"
#include "ps/shard/shard_options.h"

namespace rowhouse {

// The phases of a shard's time. The shard's thread counts them as it goes; STATS brings the sums to
// the workers.
constexpr PhaseLog::Phase Number(ShardPhase phase) { return static_cast<PhaseLog::Phase>(phase); }
constexpr PhaseLog::Phase Number(StorePhase phase) { return static_cast<PhaseLog::Phase>(phase); }

// The logs of one shard, which its driver owns. Threads: `shard` and `messages` are the shard's
// thread's; the others are any thread's.
struct ShardPhases {
  explicit ShardPhases(const Clock& clock);

  // On the shard's thread.
  ShardTimes Times() EXCLUDES(mutex);

  // Spans are kept from now on, of all threads. On the shard's thread.
  void KeepSpans() EXCLUDES(mutex);
  // By thread, those that did something. On the shard's thread.
  std::vector<ThreadRecord> Records() EXCLUDES(mutex);

  PhaseLog shard;       // by ShardPhase
  MessageLog messages;  // of workers, if spans are kept
  uint32_t pid = 0;
  // Parts of an update, if spans are kept.
  PhaseLog::Phase update_merge = 0, update_lookup = 0, update_rows = 0;

  Mutex mutex;                          // no other is taken while it is held
  PhaseLog store GUARDED_BY(mutex);     // by StorePhase; of the I/O thread
  PhaseLog push_log GUARDED_BY(mutex);  // likewise
};

// A message that is to be answered.
struct Request {
  PeerId peer;
  Header header;
  TimeMs deadline = 0;  // by the shard's clock
};

// Actions of the event being handled, in order.
class Outbox {
 public:
  explicit Outbox(const ShardOptions& options)
      : job_id_(options.job_id), shard_(options.id), incarnation_(options.incarnation) {}

  // 1, 2, 3, ...: a greater ticket was taken later.
  uint64_t TakeTicket() { return next_ticket_++; }
  uint64_t next_ticket() const { return next_ticket_; }

  template <typename Action>
  void Add(Action action) {
    actions_.emplace_back(std::move(action));
  }
  std::vector<ShardAction> TakeActions() { return std::exchange(actions_, {}); }

  template <typename Reply>
  void Answer(const Request& request, const Reply& reply, Frames payload = {}) {
    Add(SendFrames{request.peer,
                   EncodeMessage(ReplyHeader(request.header), reply, std::move(payload))});
  }
  void Refuse(const Request& request, const Status& status);

 private:
  Header ReplyHeader(const Header& request) const;

  const uint64_t job_id_;
  const ShardId shard_;
  const uint64_t incarnation_;
  uint64_t next_ticket_ = 1;
  std::vector<ShardAction> actions_;
};

// Whether store and log find room to write.
struct Blockage {
  std::set<Blocked> blocked;      // who finds none now
  std::optional<TimeMs> last_at;  // when somebody last found none
  std::string why;                // the last time
  bool is_blocked() const { return !blocked.empty(); }
};

struct ShardState {
  explicit ShardState(const ShardOptions& shard_options)
      : options(shard_options),
        next_step(shard_options.first_step),
        lap_began(shard_options.first_step),
        clean_at(shard_options.first_step),
        out(shard_options) {}

  const ShardOptions options;
  uint64_t next_step = 0;  // the step to be applied next
  uint64_t lap_began = 0;  // steps applied when the sweeper's lap began
  uint64_t clean_at = 0;   // steps done when the store last was to have all rows
  TimeMs now = 0;          // of the event
  ShardCounters counters;
  Blockage blockage;
  Status failure;  // once set, the shard applies nothing and answers every request with it
  Outbox out;
  ShardPhases* phases = nullptr;  // null: nobody counts time
  // Of gradients and bags that wait for their step, now and at most; of the largest answer.
  uint64_t push_bytes = 0, most_push_bytes = 0, most_answer_bytes = 0;

  bool has_failed() const { return !failure.ok(); }
  // Counts the time since the last call for a phase; nowhere if nobody asks.
  void End(ShardPhase phase, uint64_t amount = 0) {
    if (phases != nullptr) phases->shard.End(Number(phase), amount);
  }
  // For what is timed more finely while the shard is profiled; null: it is not.
  PhaseLog* fine_phases() {
    return phases != nullptr && phases->shard.keeps_spans() ? &phases->shard : nullptr;
  }

  // The first failure counts.
  void Fail(const Status& status);
  // When the request must be answered; a header without a deadline: never.
  TimeMs DeadlineOf(const Header& header) const;
};

}  // namespace rowhouse
