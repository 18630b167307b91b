#include "worker/train/step_clock.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <type_traits>

#include "common/median.h"

namespace rowhouse {

static_assert(std::is_trivially_copyable_v<WorkerSteps>, "it travels as bytes");

Result<StepsOfAll> GatherSteps(const WorkerSteps& mine,
                               const std::vector<uint64_t>& my_shard_wire_bytes,
                               Communicator& workers) {
  const size_t shards = my_shard_wire_bytes.size();
  const size_t message_size = sizeof(WorkerSteps) + shards * sizeof(uint64_t);
  std::vector<std::byte> message(message_size);
  std::memcpy(message.data(), &mine, sizeof(mine));
  if (shards > 0) {
    std::memcpy(message.data() + sizeof(mine), my_shard_wire_bytes.data(),
                shards * sizeof(uint64_t));
  }
  ASSIGN_OR_RETURN(const std::vector<std::vector<std::byte>> all,
                   workers.AllGather(message, "the end of training, times and bytes of steps"));
  StepsOfAll steps{.workers = {}, .shard_wire_bytes = std::vector<uint64_t>(shards)};
  for (const std::vector<std::byte>& bytes : all) {
    if (bytes.size() != message_size) {
      return MakeStatus(StatusCode::kInternal,
                        "the end of training: workers know different numbers of shards");
    }
    WorkerSteps its;
    std::memcpy(&its, bytes.data(), sizeof(its));
    steps.workers.push_back(its);
    for (size_t s = 0; s < shards; ++s) {
      uint64_t moved = 0;
      std::memcpy(&moved, bytes.data() + sizeof(its) + s * sizeof(moved), sizeof(moved));
      steps.shard_wire_bytes[s] += moved;
    }
  }
  return steps;
}

StepClock::StepClock(const Clock& clock, const PsClient& client)
    : clock_(clock),
      client_(client),
      phases_(clock, StepPhaseKinds()),
      shard_bytes_(client.shards().size()) {}

void StepClock::KeepSpans() {
  phases_.KeepSpans();
  pull_phases_ = ClientPhases::Of("pull", &phases_, &kept_times_.messages);
  push_phases_ = ClientPhases::Of("push", &phases_, &kept_times_.messages);
}

void StepClock::BeginStep(uint64_t step) {
  begin_ = clock_.NowNs();
  phases_.set_step(step);
  End(StepPhase::kBetween);
  shard_bytes_before_ = client_.moved_bytes().by_shard;
}

void StepClock::EndMessages() {
  most_message_bytes_ =
      std::max(most_message_bytes_, client_.moved_bytes().all - bytes_before_messages_);
}

void StepClock::EndAllreduce(uint64_t step, size_t floats, bool has_others) {
  const TimeNs came = phases_.began();
  End(StepPhase::kAllreduce, floats);
  std::vector<AllreduceTimes>& kept = kept_times_.allreduces;
  if (phases_.keeps_spans() && has_others && kept.size() < KeptTimes::kMaxAllreduces) {
    kept.push_back({.step = step, .begin = came, .end = phases_.began()});
  }
}

double StepClock::EndStep() {
  const double seconds = SecondsSince(begin_, clock_);
  seconds_ += seconds;
  step_seconds_.Add(static_cast<float>(seconds));
  for (size_t s = 0; s < shard_bytes_.size(); ++s) {
    shard_bytes_[s] += client_.moved_bytes().by_shard[s] - shard_bytes_before_[s];
  }
  End(StepPhase::kOther);
  return seconds;
}

WorkerSteps StepClock::steps() const {
  return {.median_seconds = step_seconds_.values().empty() ? 0.0 : MedianOf(step_seconds_.values()),
          .phases = StepPhasesOf(phases_)};
}

std::vector<PhaseKind> StepPhaseKinds() {
  std::vector<PhaseKind> kinds;
  for (const NamedStepPhase& phase : kNamedStepPhases) {
    kinds.push_back({.name = phase.name});
    if (phase.amount != nullptr) kinds.back().amounts = {phase.amount};
  }
  kinds.push_back({.name = "between steps"});
  return kinds;
}

StepPhases StepPhasesOf(const PhaseLog& log) {
  StepPhases phases;
  for (const NamedStepPhase& phase : kNamedStepPhases) {
    phases.*phase.value = log.seconds_of(phase.name);
  }
  return phases;
}

}  // namespace rowhouse
