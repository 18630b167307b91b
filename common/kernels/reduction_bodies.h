// What reductions.cc compiles for each instruction set. Include that header, not this one.
#pragma once

#include <cstddef>

#include "common/kernels/target_clones.h"

namespace rowhouse::kernel_bodies {

// The tree over 16 lanes. The loops have constant bounds: they become shuffles and adds.
ROWHOUSE_KERNEL_BODY float SumLanes(float* lanes) {
  for (size_t i = 0; i < 8; ++i) lanes[i] += lanes[i + 8];
  for (size_t i = 0; i < 4; ++i) lanes[i] += lanes[i + 4];
  for (size_t i = 0; i < 2; ++i) lanes[i] += lanes[i + 2];
  return lanes[0] + lanes[1];
}

ROWHOUSE_KERNEL_BODY float BlockSumOfSquares(const float* row, size_t columns) {
  float lanes[16] = {};
  if (columns >= 16) {
    for (size_t i = 0; i < 16; ++i) lanes[i] = row[i] * row[i];
  } else {
    for (size_t i = 0; i < columns; ++i) lanes[i] = row[i] * row[i];
  }
  return SumLanes(lanes);
}

ROWHOUSE_KERNEL_BODY float SumOfSquares(const float* row, size_t columns) {
  float sum = 0.0f;
  for (size_t column = 0; column < columns; column += 16) {
    sum += BlockSumOfSquares(row + column, columns - column);
  }
  return sum;
}

}  // namespace rowhouse::kernel_bodies
