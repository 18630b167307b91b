// What row_norm.cc compiles for each instruction set. Include that header, not this one.
#pragma once

#include <cstddef>

#include "common/kernels/target_clones.h"

namespace rowhouse::kernel_bodies {

// SumOfSquares of reduction_bodies.h in f64, where the square of an f32 is exact.
ROWHOUSE_KERNEL_BODY double WideSumOfSquares(const float* row, size_t columns) {
  double sum = 0.0;
  for (size_t column = 0; column < columns; column += 16) {
    double lanes[16] = {};
    const float* block = row + column;
    if (columns - column >= 16) {
      for (size_t i = 0; i < 16; ++i) lanes[i] = double{block[i]} * double{block[i]};
    } else {
      for (size_t i = 0; i < columns - column; ++i) lanes[i] = double{block[i]} * double{block[i]};
    }
    for (size_t i = 0; i < 8; ++i) lanes[i] += lanes[i + 8];
    for (size_t i = 0; i < 4; ++i) lanes[i] += lanes[i + 4];
    for (size_t i = 0; i < 2; ++i) lanes[i] += lanes[i + 2];
    sum += lanes[0] + lanes[1];
  }
  return sum;
}

ROWHOUSE_KERNEL_BODY void ScaleRow(float factor, float* row, size_t columns) {
  for (size_t i = 0; i < columns; ++i) row[i] *= factor;
}

}  // namespace rowhouse::kernel_bodies
