#include "common/kernels/reductions.h"

#include <glog/logging.h>

#include "common/kernels/reduction_bodies.h"

namespace rowhouse {
namespace {

ROWHOUSE_TARGET_CLONES float SumOfSquaresClones(const float* row, size_t columns) {
  return kernel_bodies::SumOfSquares(row, columns);
}

ROWHOUSE_TARGET_CLONES void PartialsClones(const float* row, size_t columns, float* partials) {
  kernel_bodies::SumOfSquaresPartials(row, columns, partials);
}

}  // namespace

void SumOfSquaresPartials(std::span<const float> row, std::span<float> partials) {
  CHECK_EQ(partials.size(), ReductionPartials(row.size()));
  PartialsClones(row.data(), row.size(), partials.data());
}

float AddPartials(std::span<const float> partials) {
  float sum = 0.0f;
  for (const float partial : partials) sum += partial;
  return sum;
}

float SumOfSquares(std::span<const float> row) {
  return SumOfSquaresClones(row.data(), row.size());
}

float MeanSquare(std::span<const float> row) {
  CHECK(!row.empty());
  return SumOfSquares(row) / static_cast<float>(row.size());
}

}  // namespace rowhouse
