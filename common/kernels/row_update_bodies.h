// What row_updates.cc compiles for each instruction set. Include that header, not this one.
#pragma once

#include <cmath>
#include <cstddef>

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

ROWHOUSE_KERNEL_BODY void ScaledUpdate(float rate, float divisor, const float* __restrict g,
                                       float* __restrict w, size_t n) {
  for (size_t i = 0; i < n; ++i) w[i] -= rate * (g[i] / divisor);
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

ROWHOUSE_KERNEL_BODY void FtrlUpdate(const FtrlFactors& factors, const float* __restrict g,
                                     float* __restrict w, float* __restrict q, float* __restrict n,
                                     size_t size) {
  const FtrlFactors f = factors;
  const float rate_l2 = f.rate * f.l2;
  for (size_t i = 0; i < size; ++i) {
    n[i] += g[i] * g[i];
    const float divisor = (f.beta + std::sqrt(n[i])) + rate_l2;
    const float r = divisor > 0.0f ? f.rate / divisor : 0.0f;
    const float old = w[i];
    const float p = old > 0.0f ? f.l1 : (old < 0.0f ? -f.l1 : q[i]);
    const float push = p - g[i];
    const float up = old + r * (push - f.l1);
    const float down = old + r * (push + f.l1);
    const float used = r > 0.0f ? old / r + push : q[i];
    const float bounded = used > f.l1 ? f.l1 : (used < -f.l1 ? -f.l1 : used);
    w[i] = up > 0.0f ? up : (down < 0.0f ? down : 0.0f);
    q[i] = up > 0.0f || down < 0.0f ? 0.0f : bounded;
  }
}

}  // namespace rowhouse::kernel_bodies
