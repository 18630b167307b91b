#include "ps/cache/slot_times.h"

namespace rowhouse {

void SlotTimes::BeginStep(uint64_t step, SlotTable& table) {
  const auto to = static_cast<int64_t>(step);
  if (!has_begun_) {
    has_begun_ = true;
    swept_ = to;
  } else if (policy_ != nullptr && to - swept_ >= kSweepSteps) {
    Sweep(to, table);
  }
  if (policy_ != nullptr) policy_->BeginStep(step, uses_);
  uses_ = 0;
  now_ = to;
}

void SlotTimes::GoOn(const SlotTimes& before) {
  has_begun_ = before.has_begun_;
  now_ = swept_ = before.now_;
  if (policy_ != nullptr && has_begun_) policy_->BeginStep(static_cast<uint64_t>(now_), 0);
}

// Bounds ages to kMaxAge, before times of 16 bits would wrap around to the future.
void SlotTimes::Sweep(int64_t step, SlotTable& table) {
  const int64_t oldest = step - kMaxAge;
  for (CacheSlot slot = 0; slot < table.slots(); ++slot) {
    SlotWord& word = table.word(slot);
    if (!word.is_occupied()) continue;
    const int64_t time = StepOf(word);
    if (time >= oldest) continue;
    const int64_t later = std::min<int64_t>(oldest - time, UINT32_MAX);
    word.state = policy_->Aged(word.state, static_cast<uint32_t>(later));
    word.time = static_cast<uint16_t>(oldest);
    word.ForgetNextUse();
  }
  swept_ = step;
}

void SlotTimes::Use(SlotWord& word, uint64_t step, const std::byte* trailer) {
  ++uses_;
  const auto at_step = static_cast<int64_t>(step);
  word.state =
      policy_->Use(word.state, {.step = step, .age = AgeAt(word, at_step), .trailer = trailer});
  const int64_t time = StepOf(word);
  if (word.is_next_use_known() && time > at_step) {
    // Used before its noted step, which stays noted.
    const auto low_bits = static_cast<uint8_t>(step << kPinShift);
    word.flags = (word.flags & (SlotWord::kOccupied | SlotWord::kDirty | SlotWord::kNextUseKnown)) |
                 SlotWord::kPinned | low_bits;
    return;
  }
  word.ForgetNextUse();
  word.time = static_cast<uint16_t>(std::max(time, at_step));
}

std::optional<SlotTimes::LaterUse> SlotTimes::NoteNextUse(SlotWord& word, uint64_t step) {
  const auto next_use = static_cast<int64_t>(step);
  if (next_use <= now_ || next_use - now_ > static_cast<int64_t>(kMaxStepsAhead)) {
    return std::nullopt;
  }
  const int64_t time = StepOf(word);
  std::optional<LaterUse> later;
  uint8_t pin =
      word.flags &
      static_cast<uint8_t>(~(SlotWord::kOccupied | SlotWord::kDirty | SlotWord::kNextUseKnown));
  if (word.is_next_use_known()) {
    if (time == next_use) return std::nullopt;
    const auto at = static_cast<uint64_t>(time);
    if (time >= now_ && time < next_use) return LaterUse{.after = at, .step = step};
    if (time > next_use) later = LaterUse{.after = step, .step = at};
  } else if (time >= now_) {
    // The row is pinned, too. A pin until after the use is stronger, and one that the flags cannot
    // hold is kept as it is.
    if (time >= next_use || time - now_ >= kMaxPinAhead) return std::nullopt;
    pin = static_cast<uint8_t>(SlotWord::kPinned | static_cast<uint8_t>(time << kPinShift));
  }
  if (next_use > time) {
    word.state = policy_->Aged(word.state, static_cast<uint32_t>(next_use - time));
  }
  word.time = static_cast<uint16_t>(step);
  word.flags =
      (word.flags & (SlotWord::kOccupied | SlotWord::kDirty)) | SlotWord::kNextUseKnown | pin;
  return later;
}

}  // namespace rowhouse
