// What row_updates.cc compiles for each instruction set. Include that header, not this one.
#pragma once

#include <cmath>
#include <cstddef>

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

}  // namespace rowhouse::kernel_bodies
