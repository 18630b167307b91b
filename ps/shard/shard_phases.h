// The phases of a shard's time. The shard's thread counts them as it goes; STATS brings the sums to
// the workers.
#pragma once

#include "common/mutex.h"
#include "common/phase_log.h"
#include "common/wire/message_log.h"
#include "common/wire/profile.h"
#include "common/wire/shard_times.h"

namespace rowhouse {

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

}  // namespace rowhouse
