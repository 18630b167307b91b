// LRFU (Lee et al., 2001): evicts the row with the smallest weighted sum of its uses; the weight of
// a use halves with every half-life (16 uses a slot). A long half-life gives LFU, a short one LRU.
//
// The published policy forgets a row when it is evicted, and loses most of what counting gains.
// Here a row brings along its record's lookups f and last step, and its past uses are assumed to be
// even: its sum begins as f * 2^(-gap / half-life) times the share of the run that one sum
// remembers. So the first half-life of a run is perfect LFU.
//
// A byte holds the logarithm of the sum, 12 steps an octave. One use increases a large sum by less
// than a step; it is then rounded up with the right probability (Morris, 1978), by a sequence that
// is the same in every run.
#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "ps/cache/cache_policy.h"
#include "ps/cache/half_life.h"

namespace rowhouse {
namespace {

// State 0: not used yet. Else log2 of the sum, as of the last use, in twelfths, from 2^-4 on.
constexpr int kPerOctave = 12;
constexpr int kOne = 4 * kPerOctave + 1;  // a sum of 1
constexpr int kMin = 1, kMax = 255;
constexpr int kFractionBits = 16;  // of logarithms between states
constexpr int64_t kUnit = int64_t{1} << kFractionBits;

class Lrfu final : public CachePolicy {
 public:
  explicit Lrfu(const CachePolicyOptions& options)
      : half_life_(options.half_life.value_or(16.0), options.slots) {
    for (size_t d = 0; d < increase_.size(); ++d) {
      const double sum = 1.0 + std::exp2(-static_cast<double>(d) / kPerOctave);
      increase_[d] = static_cast<int64_t>(std::llround(std::log2(sum) * kPerOctave * kUnit));
    }
  }

  void BeginStep(uint64_t step, uint64_t uses_before) override {
    half_life_.BeginStep(step, uses_before);
    half_life_steps_ = half_life_.steps();
    per_step_ = static_cast<int64_t>(std::llround(kPerOctave * kUnit / half_life_steps_));
    per_step_ = std::min(per_step_, kMax * kUnit);
    step_ = step;
  }

  uint8_t Use(uint8_t state, const CacheUse& use) override {
    const int64_t before = state == 0 ? Estimate(use.trailer) : Decayed(state, use.age);
    // log2(1 + 2^x) = max(0, x) + log2(1 + 2^-|x|), which is in the table.
    const int64_t x = before - kOne * kUnit;
    const auto apart = static_cast<size_t>(std::abs(x) >> kFractionBits);
    const int64_t sum =
        kOne * kUnit + std::max<int64_t>(x, 0) + (apart < increase_.size() ? increase_[apart] : 0);
    draw_ = draw_ * 0x9e3779b1u + 0x7f4a7c15u;
    return Clamped((sum + (draw_ >> (32 - kFractionBits))) >> kFractionBits);
  }

  uint8_t Aged(uint8_t state, uint32_t steps) override {
    return state == 0 ? state : Clamped((Decayed(state, steps) + kUnit / 2) >> kFractionBits);
  }

  size_t Choose(std::span<const CachedRow> rows) override {
    size_t chosen = 0;
    int64_t least = 0;
    for (size_t i = 0; i < rows.size(); ++i) {
      const uint8_t state = *rows[i].state;
      const int64_t worth = state == 0 ? Estimate(rows[i].trailer) : Decayed(state, rows[i].age);
      if (i == 0 || worth < least || (worth == least && rows[i].slot < rows[chosen].slot)) {
        chosen = i;
        least = worth;
      }
    }
    return chosen;
  }

 private:
  static uint8_t Clamped(int64_t state) {
    return static_cast<uint8_t>(std::clamp<int64_t>(state, kMin, kMax));
  }

  int64_t Decayed(uint8_t state, uint32_t age) const { return state * kUnit - age * per_step_; }

  // Of a row that just got its slot: its lookups so far, without this one.
  int64_t Estimate(const std::byte* from) const {
    const RecordTrailer trailer = TrailerAt(from);
    if (trailer.frequency <= 1) return -kMax * kUnit;
    const double steps_so_far = static_cast<double>(step_) + 1.0;
    const double gap = static_cast<double>(step_) - trailer.last_step;
    double sum = trailer.frequency - 1.0;
    if (gap > 0.0) sum *= std::exp2(-gap / half_life_steps_);
    // The sum of one use a step, for ever.
    const double remembered = half_life_steps_ / std::numbers::ln2 + 1.0;
    sum *= std::min(1.0, remembered / steps_so_far);
    sum = std::min(sum, remembered);
    if (sum < 0x1p-20) return -kMax * kUnit;
    return kOne * kUnit + static_cast<int64_t>(std::llround(std::log2(sum) * kPerOctave * kUnit));
  }

  HalfLife half_life_;
  double half_life_steps_ = std::numeric_limits<double>::infinity();
  int64_t per_step_ = 0;  // of a logarithm
  uint64_t step_ = 0;
  uint32_t draw_ = 0;
  std::array<int64_t, 20 * kPerOctave> increase_;  // log2(1 + 2^(-d / kPerOctave))
};

REGISTER_MEMBER(CachePolicies().Add<Lrfu>("lrfu", Retention{.by_count = 0.85}));

}  // namespace
}  // namespace rowhouse
