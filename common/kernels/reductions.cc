#include "common/kernels/reductions.h"

#include <glog/logging.h>

#include "common/kernels/reduction_bodies.h"

namespace rowhouse {
namespace {

ROWHOUSE_TARGET_CLONES float SumOfSquaresClones(const float* row, size_t columns) {
  return kernel_bodies::SumOfSquares(row, columns);
}

}  // namespace

float SumOfSquares(std::span<const float> row) {
  return SumOfSquaresClones(row.data(), row.size());
}

float MeanSquare(std::span<const float> row) {
  CHECK(!row.empty());
  return SumOfSquares(row) / static_cast<float>(row.size());
}

}  // namespace rowhouse
