// PhaseTimer: how the time of one thread divides into phases. `Phase` is an enum whose values count
// from 0 and whose last one is kCount:
//
//   enum class StepPhase { kPull, kCompute, kCount };
//   PhaseTimer<StepPhase> timer(clock);
//   Pull();     timer.End(StepPhase::kPull);
//   Compute();  timer.End(StepPhase::kCompute);
//
// Threads: one. A call reads the clock once.
#pragma once

#include <array>
#include <cstddef>
#include <utility>

#include "common/clock.h"

namespace rowhouse {

template <typename Phase>
class PhaseTimer {
 public:
  // Starts the first phase. `clock` outlives the timer.
  explicit PhaseTimer(const Clock& clock) : clock_(clock), began_(clock.NowNs()) {}

  // Starts a phase anew: the time since the last call counts for no phase.
  void Restart() { began_ = clock_.NowNs(); }

  // Counts the time since the last End or Restart for `phase` and starts the next one.
  void End(Phase phase) {
    const TimeNs now = clock_.NowNs();
    spent_[static_cast<size_t>(phase)] += now - std::exchange(began_, now);
  }

  double seconds(Phase phase) const { return SecondsOf(spent_[static_cast<size_t>(phase)]); }

 private:
  const Clock& clock_;
  TimeNs began_;
  std::array<TimeNs, static_cast<size_t>(Phase::kCount)> spent_ = {};
};

}  // namespace rowhouse
