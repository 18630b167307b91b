// StepClock: where the time and the bytes of a worker's training steps go.
//
// Threads: one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "common/clock.h"
#include "common/phase_log.h"
#include "common/serialized.h"
#include "common/status.h"
#include "common/step_phases.h"
#include "common/wire/message_log.h"
#include "worker/client/ps_client.h"
#include "worker/mpi/communicator.h"

namespace rowhouse {

// The number of a phase in the log of a worker's step phases (common/step_phases.h).
constexpr PhaseLog::Phase Number(StepPhase phase) { return static_cast<PhaseLog::Phase>(phase); }

// The kinds of a log that begins with these phases, in their order.
std::vector<PhaseKind> StepPhaseKinds();

// Of a log made with StepPhaseKinds; seconds.
StepPhases StepPhasesOf(const PhaseLog& log);

// What the training steps of one worker took. All workers tell each other at the end of training,
// as plain bytes.
struct WorkerSteps {
  double median_seconds = 0.0;  // of a step
  StepPhases phases;            // seconds of all steps
};

struct StepsOfAll {
  std::vector<WorkerSteps> workers;  // by rank
  // Of frames to and from each shard in steps, over all workers.
  std::vector<uint64_t> shard_wire_bytes;
};

// Collective: every worker gives its own and has those of all. kInternal if workers know different
// numbers of shards.
Result<StepsOfAll> GatherSteps(const WorkerSteps& mine,
                               const std::vector<uint64_t>& my_shard_wire_bytes,
                               Communicator& workers);

// When a worker came to the allreduce of a step, and when it had the sums.
struct AllreduceTimes {
  uint64_t step = 0;
  TimeNs begin = 0, end = 0;
  SERIALIZED(step, begin, end);
};

// What a worker of a profiled run keeps of its steps besides the spans of its phases, so that
// waiting can be told from work once the times of all ranks are together.
struct KeptTimes {
  static constexpr size_t kMaxAllreduces = size_t{1} << 16;  // the first ones

  std::vector<AllreduceTimes> allreduces;  // none of a worker that is alone
  MessageLog messages;
};

// Thinned<T>: a bounded sample of a series that may go on for ever: all values as long as there are
// fewer than kMax, then every second, every fourth, ... one, evenly over the whole series. Which
// ones depends on their number alone.
template <typename T>
class Thinned {
 public:
  static constexpr size_t kMax = size_t{1} << 16;

  void Add(T value) {
    if (added_++ % every_ != 0) return;
    values_.push_back(value);
    if (values_.size() < kMax) return;
    for (size_t i = 0; 2 * i < values_.size(); ++i) values_[i] = values_[2 * i];
    values_.resize(kMax / 2);
    every_ *= 2;
  }
  // In order.
  const std::vector<T>& values() const { return values_; }

 private:
  std::vector<T> values_;
  uint64_t added_ = 0, every_ = 1;
};

class StepClock {
 public:
  // Both outlive it; `client` moves the bytes.
  StepClock(const Clock& clock, const PsClient& client);

  // The phases of steps; those of StepPhases come first.
  PhaseLog& phases() { return phases_; }
  const PhaseLog& phases() const { return phases_; }
  // Divides time more finely from now on, and keeps spans.
  void KeepSpans();
  const ClientPhases& pull_phases() const { return pull_phases_; }
  const ClientPhases& push_phases() const { return push_phases_; }
  // Empty unless spans are kept.
  const KeptTimes& kept_times() const { return kept_times_; }

  void BeginStep(uint64_t step);
  // A phase ends here, and the next one begins.
  void End(StepPhase phase, uint64_t amount = 0) { phases_.End(Number(phase), amount); }
  // A pull or a push begins; it ends with EndMessages.
  void BeginMessages() { bytes_before_messages_ = client_.moved_bytes().all; }
  void EndMessages();
  // The allreduce of a step with others has ended: it began when the phase before it ended.
  void EndAllreduce(uint64_t step, size_t floats, bool has_others);
  // Returns the seconds of the step.
  double EndStep();

  double seconds() const { return seconds_; }  // of all steps
  // Bytes of all messages of the largest pull or push, both ways: no more are under way at once.
  uint64_t most_message_bytes() const { return most_message_bytes_; }
  WorkerSteps steps() const;
  // Of frames to and from each shard in steps.
  const std::vector<uint64_t>& shard_bytes() const { return shard_bytes_; }

 private:
  const Clock& clock_;
  const PsClient& client_;
  PhaseLog phases_;
  KeptTimes kept_times_;
  ClientPhases pull_phases_, push_phases_;  // if the phases keep spans
  TimeNs begin_ = 0;                        // of the step under way
  std::vector<uint64_t> shard_bytes_, shard_bytes_before_;
  uint64_t bytes_before_messages_ = 0, most_message_bytes_ = 0;
  Thinned<float> step_seconds_;
  double seconds_ = 0.0;
};

}  // namespace rowhouse
