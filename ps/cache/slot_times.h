// SlotTimes: what the words of slots say about steps: last use, pin and next use.
//
// Words keep steps modulo 2^16. They mean the step nearest to the present one, so ages are kept
// below 2^15 by a sweep over all words every 2^13 steps. Keeps the states of the policy true to
// these ages.
//
// Threads: one at a time.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "ps/cache/cache_policy.h"
#include "ps/cache/slot.h"
#include "ps/cache/slot_table.h"

namespace rowhouse {

class SlotTimes {
 public:
  // A use that the caller notes again when step `after` is over.
  struct LaterUse {
    uint64_t after = 0;
    uint64_t step = 0;
  };
  // NoteNextUse ignores uses farther ahead than this, steps.
  static constexpr uint64_t kMaxStepsAhead = 4096;

  // `policy` outlives the object; null: of a direct array, of which nothing but AdvanceTo and GoOn
  // is called.
  explicit SlotTimes(CachePolicy* policy) : policy_(policy) {}

  // The latest step named.
  int64_t now() const { return now_; }

  // The step is now at least this one. `table`: of all words.
  void AdvanceTo(uint64_t step, SlotTable& table) {
    if (!has_begun_ || static_cast<int64_t>(step) > now_) BeginStep(step, table);
  }
  // Begins in the step of `before`. No word of this object has a time yet.
  void GoOn(const SlotTimes& before);

  // The step that `time` of a word means; may be negative.
  int64_t StepOf(const SlotWord& word) const {
    return now_ + static_cast<int16_t>(word.time - static_cast<uint16_t>(now_));
  }
  // Steps between the last use and `step`.
  uint32_t AgeAt(const SlotWord& word, int64_t step) const {
    return static_cast<uint32_t>(std::max<int64_t>(step - StepOf(word), 0));
  }
  // Whether the row is kept for `step` or a later step.
  bool IsPinned(const SlotWord& word, int64_t step) const {
    if (!word.is_next_use_known()) return StepOf(word) >= step;
    if ((word.flags & SlotWord::kPinned) == 0) return false;
    return (((word.flags >> kPinShift) - step) & 15) < kMaxPinAhead;
  }

  // The word of a row that comes in for `step`: occupied, clean and unpinned.
  SlotWord NewWord(uint64_t step) const {
    return {.time = static_cast<uint16_t>(step - 1),
            .state = policy_->Admit(),
            .flags = SlotWord::kOccupied};
  }

  // Notes a use in `step` and pins the row until then. `trailer`: of its record.
  void Use(SlotWord& word, uint64_t step, const std::byte* trailer);

  // Notes that the next use is in `step`; see RowCache::NoteNextUse.
  std::optional<LaterUse> NoteNextUse(SlotWord& word, uint64_t step);

 private:
  static constexpr int kPinShift = 4;
  static constexpr int64_t kMaxPinAhead = 8;  // steps; half of what four bits can tell apart
  static constexpr int64_t kMaxAge = 0x4000;
  static constexpr int64_t kSweepSteps = 0x2000;

  void BeginStep(uint64_t step, SlotTable& table);
  void Sweep(int64_t step, SlotTable& table);

  CachePolicy* policy_;
  bool has_begun_ = false;  // a call named a step
  int64_t now_ = 0;         // the latest step named
  uint64_t uses_ = 0;       // in that step
  int64_t swept_ = 0;       // step in which ages were last bounded
};

}  // namespace rowhouse
