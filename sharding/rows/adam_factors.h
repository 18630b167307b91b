// The factors of one step of Adam, in its two forms, for rows and the dense part alike. Computed in
// double, without std::pow.
#pragma once

#include <cmath>
#include <cstdint>

#include "common/kernels/row_updates.h"
#include "sharding/rows/optimizer_options.h"

namespace rowhouse {

// base^exponent by repeated squaring, so at most 128 multiplications; 1 for exponent 0. The bits
// are the same on every machine: std::pow may differ in the last bit between C libraries.
constexpr double Power(double base, uint64_t exponent) {
  double power = 1.0;
  for (double square = base; exponent != 0; exponent >>= 1) {
    if ((exponent & 1) != 0) power *= square;
    square *= square;
  }
  return power;
}

inline constexpr float kAdamEpsilon = 1e-8f;

// Adam as torch's (Kingma & Ba 2015, algorithm 1), t = step + 1:
//   w -= rate / (1 - beta1^t) * m / (sqrt(v) / sqrt(1 - beta2^t) + epsilon)
inline AdamFactors AdamFactorsOf(const OptimizerOptions& options, float rate, uint64_t step) {
  const double mean_bias = 1.0 - Power(double{options.beta1}, step + 1);
  const double square_bias = 1.0 - Power(double{options.beta2}, step + 1);
  return {.take_mean = static_cast<float>(1.0 - double{options.beta1}),
          .take_square = static_cast<float>(1.0 - double{options.beta2}),
          .root_scale = static_cast<float>(1.0 / std::sqrt(square_bias)),
          .epsilon = options.epsilon_or(kAdamEpsilon),
          .rate = static_cast<float>(double{rate} / mean_bias)};
}

// torch's SparseAdam adds epsilon to the root as it stands (section 2 of that paper):
//   w -= rate * sqrt(1 - beta2^t) / (1 - beta1^t) * m / (sqrt(v) + epsilon)
inline AdamFactors SparseAdamFactorsOf(const OptimizerOptions& options, float rate, uint64_t step) {
  const double mean_bias = 1.0 - Power(double{options.beta1}, step + 1);
  const double square_bias = 1.0 - Power(double{options.beta2}, step + 1);
  return {.take_mean = static_cast<float>(1.0 - double{options.beta1}),
          .take_square = static_cast<float>(1.0 - double{options.beta2}),
          .epsilon = options.epsilon_or(kAdamEpsilon),
          .rate = static_cast<float>(double{rate} * std::sqrt(square_bias) / mean_bias)};
}

}  // namespace rowhouse
