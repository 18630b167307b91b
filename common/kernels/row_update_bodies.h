// What row_updates.cc compiles for each instruction set. Include that header, not this one.
#pragma once

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "common/kernels/reduction_bodies.h"
#include "common/kernels/row_updates.h"
#include "common/kernels/target_clones.h"

namespace rowhouse::kernel_bodies {

ROWHOUSE_KERNEL_BODY void AddRow(const float* __restrict addend, float* __restrict sum, size_t n) {
  for (size_t i = 0; i < n; ++i) sum[i] += addend[i];
}

ROWHOUSE_KERNEL_BODY void SgdUpdate(float rate, const float* __restrict g, float* __restrict w,
                                    size_t n) {
  for (size_t i = 0; i < n; ++i) w[i] -= rate * g[i];
}

ROWHOUSE_KERNEL_BODY void AdagradUpdate(float rate, float epsilon, const float* __restrict g,
                                        float* __restrict w, float* __restrict h, size_t n) {
  for (size_t i = 0; i < n; ++i) {
    h[i] += g[i] * g[i];
    w[i] -= rate * (g[i] / (std::sqrt(h[i]) + epsilon));
  }
}

// The divisors of some rows first: no division then waits for its own row's square root.
ROWHOUSE_KERNEL_BODY void RowwiseAdagradUpdate(float rate, float epsilon, size_t n,
                                               const UpdatedRow* rows, size_t count) {
  constexpr size_t kAtOnce = 8;
  float divisors[kAtOnce];
  for (size_t begin = 0; begin < count; begin += kAtOnce) {
    const size_t some = count - begin < kAtOnce ? count - begin : kAtOnce;
    for (size_t r = 0; r < some; ++r) {
      float* const h = rows[begin + r].state;
      *h += SumOfSquares(rows[begin + r].gradient, n) / static_cast<float>(n);
      divisors[r] = std::sqrt(*h) + epsilon;
    }
    for (size_t r = 0; r < some; ++r) {
      const float* __restrict g = rows[begin + r].gradient;
      float* __restrict w = rows[begin + r].weights;
      const float divisor = divisors[r];
      for (size_t i = 0; i < n; ++i) w[i] -= rate * (g[i] / divisor);
    }
  }
}

ROWHOUSE_KERNEL_BODY void AddDecay(float decay, const float* __restrict g,
                                   const float* __restrict w, float* __restrict sum, size_t n) {
  for (size_t i = 0; i < n; ++i) sum[i] = g[i] + decay * w[i];
}

ROWHOUSE_KERNEL_BODY void MomentumUpdate(float rate, float momentum, const float* __restrict g,
                                         float* __restrict w, float* __restrict v, size_t n) {
  for (size_t i = 0; i < n; ++i) {
    v[i] = momentum * v[i] + g[i];
    w[i] -= rate * v[i];
  }
}

ROWHOUSE_KERNEL_BODY void AdamUpdate(const AdamFactors& factors, const float* __restrict g,
                                     float* __restrict w, float* __restrict m, float* __restrict v,
                                     size_t n) {
  const AdamFactors f = factors;  // A local copy: the stores below cannot change it.
  for (size_t i = 0; i < n; ++i) {
    const float mean = m[i] * f.keep_mean;
    const float square = v[i] * f.keep_square;
    m[i] = mean + (g[i] - mean) * f.take_mean;
    v[i] = square + (g[i] * g[i] - square) * f.take_square;
    w[i] = w[i] * f.keep_weight - f.rate * (m[i] / (std::sqrt(v[i]) * f.root_scale + f.epsilon));
  }
}

// takes ? yes : no, for values that are there already. The compiler may make a branch of ?:, which
// AVX2 has no vector form of where one side divides.
ROWHOUSE_KERNEL_BODY float Select(bool takes, float yes, float no) {
  const uint32_t mask = -static_cast<uint32_t>(takes);
  return std::bit_cast<float>((std::bit_cast<uint32_t>(yes) & mask) |
                              (std::bit_cast<uint32_t>(no) & ~mask));
}

ROWHOUSE_KERNEL_BODY void FtrlUpdate(const FtrlFactors& factors, const float* __restrict g,
                                     float* __restrict w, float* __restrict q, float* __restrict n,
                                     size_t size) {
  const FtrlFactors f = factors;
  const float rate_l2 = f.rate * f.l2;
  for (size_t i = 0; i < size; ++i) {
    n[i] += g[i] * g[i];
    const float divisor = (f.beta + std::sqrt(n[i])) + rate_l2;
    const float r = Select(divisor > 0.0f, f.rate / divisor, 0.0f);
    const float old = w[i], before = q[i];
    const float p = Select(old > 0.0f, f.l1, Select(old < 0.0f, -f.l1, before));
    const float push = p - g[i];
    const float up = old + r * (push - f.l1);
    const float down = old + r * (push + f.l1);
    const float used = Select(r > 0.0f, old / r + push, before);
    const float bounded = Select(used > f.l1, f.l1, Select(used < -f.l1, -f.l1, used));
    const bool is_up = up > 0.0f, is_down = down < 0.0f;
    w[i] = Select(is_up, up, Select(is_down, down, 0.0f));
    q[i] = Select(is_up, 0.0f, Select(is_down, 0.0f, bounded));
  }
}

}  // namespace rowhouse::kernel_bodies
