// PhaseLog: how the time of one thread divides into phases, and, if it is told to keep them, when
// each phase was (spans, for a picture of a run).
//
//   PhaseLog log(clock, {{.name = "pull"}, {.name = "compute"}});
//   log.Restart();
//   Pull();     log.End(0, rows);
//   Compute();  log.End(1);
//
// A call of End counts the time since the last one, so phases never overlap, and those of a step
// sum to its time. A phase may be part of another: "pull/wait" of "pull". Threads: one. A call
// reads the clock once.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "common/clock.h"
#include "common/serialized.h"

namespace rowhouse {

struct PhaseKind {
  std::string name;
  // What is counted in the phase: {"rows"}, {"samples", "lookups"}. Unnamed amounts are not told.
  std::array<std::string, 2> amounts = {};
  // What the phase works on, for pictures and cost models: {{"inputs", 512}, {"outputs", 256}}.
  std::vector<std::pair<std::string, double>> sizes = {};
  SERIALIZED(name, amounts, sizes);
};

struct PhaseTotal {
  uint64_t ns = 0;
  uint64_t times = 0;  // calls of End
  std::array<uint64_t, 2> amounts = {};
  SERIALIZED(ns, times, amounts);
};

struct PhaseSpan {
  TimeNs begin = 0, end = 0;  // by the thread's clock
  uint64_t step = 0;
  uint32_t phase = 0;  // index into PhaseRecord::kinds
  std::array<uint32_t, 2> amounts = {};
  SERIALIZED(begin, end, step, phase, amounts);
};

// What a log holds.
struct PhaseRecord {
  std::vector<PhaseKind> kinds;
  std::vector<PhaseTotal> totals;  // of each kind
  // In order of time, without overlaps: the first ones, and after a gap the last ones.
  std::vector<PhaseSpan> spans;
  uint64_t dropped_spans = 0;  // in the gap
  SERIALIZED(kinds, totals, spans, dropped_spans);
};

class PhaseLog {
 public:
  using Phase = uint32_t;
  static constexpr size_t kMaxSpans = size_t{1} << 15;  // kept of one log: half first, half last

  // `clock` outlives the log. Phases count from 0. Starts the first phase.
  PhaseLog(const Clock& clock, std::vector<PhaseKind> phases);

  // Another phase.
  Phase Add(PhaseKind kind);

  // Starts a phase anew: the time since the last call counts for no phase.
  void Restart() { began_ = clock_.NowNs(); }
  // Counts the time since the last End or Restart for `phase` and starts the next one.
  void End(Phase phase, uint64_t amount = 0, uint64_t second_amount = 0);
  // Counts a share of it, 0 to 1, for one phase and the rest for another: for two that take turns
  // too quickly to be timed each time (TurnTimer).
  void EndTwo(Phase first, Phase second, double share_of_first, uint64_t amount = 0);

  // Until Resume, End does nothing; the time up to Resume counts for `phase`.
  void Suspend() { is_suspended_ = true; }
  void Resume(Phase phase);

  // The step of spans to come.
  void set_step(uint64_t step) { step_ = step; }
  // Forgets what was counted, and keeps spans from now on, too; callers divide time more finely.
  void KeepSpans();
  bool keeps_spans() const { return keeps_spans_; }

  const std::vector<PhaseKind>& kinds() const { return kinds_; }
  const PhaseTotal& total(Phase phase) const { return totals_[phase]; }
  double seconds(Phase phase) const { return static_cast<double>(totals_[phase].ns) * 1e-9; }
  // Of a phase and all that are part of it.
  double seconds_of(const std::string& name) const;
  TimeNs Now() const { return clock_.NowNs(); }
  // When the phase under way began. Reads no clock.
  TimeNs began() const { return began_; }

  PhaseRecord Record() const;

 private:
  void Count(Phase phase, TimeNs end, uint64_t amount, uint64_t second_amount);
  void Keep(const PhaseSpan& span);

  const Clock& clock_;
  std::vector<PhaseKind> kinds_;
  std::vector<PhaseTotal> totals_;
  TimeNs began_;
  uint64_t step_ = 0;
  bool is_suspended_ = false;
  bool keeps_spans_ = false;
  std::vector<PhaseSpan> first_;
  std::vector<PhaseSpan> last_;  // a ring
  uint64_t after_first_ = 0;     // spans that came when first_ was full
};

// The part of "pull" in "pull/wait": "pull"; of "data" itself: "data".
std::string GroupOfPhase(const std::string& name);

// TurnTimer: of two activities that take turns many times, the share of the first, found by timing
// one turn in kEvery. Null log: it does nothing.
class TurnTimer {
 public:
  explicit TurnTimer(const PhaseLog* log) : log_(log) {}

  // Around the first activity of each turn; the second one follows.
  void BeginFirst() {
    if (log_ == nullptr) return;
    StopSecond();
    is_timing_ = turn_++ % kEvery == 0;
    if (is_timing_) since_ = log_->Now();
  }
  void EndFirst() {
    if (!is_timing_) return;
    const TimeNs now = log_->Now();
    first_ += now - std::exchange(since_, now);
  }

  // After the last turn. 0 if there was none.
  double share_of_first() {
    StopSecond();
    const TimeNs both = first_ + second_;
    return both > 0 ? static_cast<double>(first_) / static_cast<double>(both) : 0.0;
  }

 private:
  static constexpr uint64_t kEvery = 7;  // odd: turns may repeat a pattern of 2, 4 or 8

  void StopSecond() {
    if (!std::exchange(is_timing_, false)) return;
    second_ += log_->Now() - since_;
  }

  const PhaseLog* const log_;
  uint64_t turn_ = 0;
  bool is_timing_ = false;
  TimeNs since_ = 0, first_ = 0, second_ = 0;
};

}  // namespace rowhouse
