// DecayedGradient: the gradient of a row with L2, g + weight_decay * w, which torch and FBGEMM
// compute first. A row decays only in steps that touch it, so rare rows decay less than with dense
// gradients.
#pragma once

#include <array>
#include <span>

#include "common/kernels/row_updates.h"
#include "common/status.h"

namespace rowhouse {

class DecayedGradient {
 public:
  // With weight_decay 0 it is the gradient itself, to the last bit. The spans must outlive it.
  DecayedGradient(float weight_decay, std::span<const float> gradient,
                  std::span<const float> weights)
      : values_(gradient) {
    if (weight_decay == 0.0f) return;
    CHECK_LE(gradient.size(), sum_.size());
    const std::span<float> sum = std::span(sum_).first(gradient.size());
    AddDecay(weight_decay, gradient, weights, sum);
    values_ = sum;
  }
  DecayedGradient(const DecayedGradient&) = delete;
  DecayedGradient& operator=(const DecayedGradient&) = delete;

  std::span<const float> values() const { return values_; }

 private:
  std::array<float, 4096> sum_;  // TableSpec::Validate() allows no wider row
  std::span<const float> values_;
};

}  // namespace rowhouse
