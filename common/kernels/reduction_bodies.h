// What reductions.cc compiles for each instruction set. Include that header, not this one.
#pragma once

#include <cstddef>
#include <cstring>

#include "common/kernels/target_clones.h"

namespace rowhouse::kernel_bodies {

// The tree over 16 lanes. The loops have constant bounds: they become shuffles and adds.
ROWHOUSE_KERNEL_BODY float SumLanes(float* lanes) {
  for (size_t i = 0; i < 8; ++i) lanes[i] += lanes[i + 8];
  for (size_t i = 0; i < 4; ++i) lanes[i] += lanes[i + 4];
  for (size_t i = 0; i < 2; ++i) lanes[i] += lanes[i + 2];
  return lanes[0] + lanes[1];
}

// SumLanes of the squares of 16 columns. In vectors by hand: gcc makes scalars of that tree.
ROWHOUSE_KERNEL_BODY float SumOf16Squares(const float* row) {
  typedef float Lanes __attribute__((vector_size(16)));
  Lanes of[4];
  std::memcpy(of, row, sizeof of);
  const Lanes four = (of[0] * of[0] + of[2] * of[2]) + (of[1] * of[1] + of[3] * of[3]);
  return (four[0] + four[2]) + (four[1] + four[3]);
}

ROWHOUSE_KERNEL_BODY float BlockSumOfSquares(const float* row, size_t columns) {
  if (columns >= 16) return SumOf16Squares(row);
  float lanes[16] = {};
  for (size_t i = 0; i < columns; ++i) lanes[i] = row[i] * row[i];
  return SumLanes(lanes);
}

ROWHOUSE_KERNEL_BODY float SumOfSquares(const float* row, size_t columns) {
  float sum = 0.0f;
  for (size_t column = 0; column < columns; column += 16) {
    sum += BlockSumOfSquares(row + column, columns - column);
  }
  return sum;
}

// SumOfSquares in f64, where the square of an f32 is exact.
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
