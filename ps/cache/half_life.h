// HalfLife: the half-life of past uses, for policies that let them decay. It is given in uses of
// the cache per slot, but ages are in steps: it is converted by the mean number of uses that a step
// has had so far.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>

namespace rowhouse {

class HalfLife {
 public:
  // `uses_per_slot` 0: uses never decay.
  HalfLife(double uses_per_slot, uint64_t slots)
      : uses_(uses_per_slot * static_cast<double>(slots)) {}

  void BeginStep(uint64_t step, uint64_t uses_before) {
    if (!first_step_) first_step_ = step;
    all_uses_ += static_cast<double>(uses_before);
    steps_ = static_cast<double>(step - *first_step_);
  }

  // Steps in which a count falls to half; > 0, infinite if it never does.
  double steps() const {
    if (uses_ == 0.0) return std::numeric_limits<double>::infinity();
    // Before the first use nothing has an age, so any number would do.
    return uses_ * std::max(steps_, 1.0) / std::max(all_uses_, 1.0);
  }

 private:
  const double uses_;
  double all_uses_ = 0.0;
  double steps_ = 0.0;  // since the first
  std::optional<uint64_t> first_step_;
};

}  // namespace rowhouse
