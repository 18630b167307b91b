// StepClock: where the time and the bytes of a worker's training steps go.
//
// Threads: one.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/clock.h"
#include "common/phase_log.h"
#include "common/thinned.h"
#include "worker/client/ps_client.h"
#include "worker/mpi/communicator.h"
#include "worker/train/kept_times.h"
#include "worker/train/step_phases.h"
#include "worker/train/worker_steps.h"

namespace rowhouse {

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
