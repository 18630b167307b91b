#include "common/kernels/reductions.h"

#include <glog/logging.h>

#include <algorithm>
#include <cmath>
#include <limits>

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

namespace {

ROWHOUSE_TARGET_CLONES double DoubleSumOfSquaresClones(const float* row, size_t columns) {
  return kernel_bodies::WideSumOfSquares(row, columns);
}

ROWHOUSE_TARGET_CLONES void ScaleClones(float factor, float* row, size_t columns) {
  kernel_bodies::ScaleRow(factor, row, columns);
}

// Natural logarithm of a finite x > 0: x = m * 2^e with m in [sqrt(1/2), sqrt(2)), and
// log m = 2 * (s + s^3/3 + s^5/5 + ...), s = (m - 1) / (m + 1).
double Log(double x) {
  constexpr double kLn2 = 0x1.62e42fefa39efp-1;
  constexpr double kRootHalf = 0x1.6a09e667f3bcdp-1;
  constexpr int kTerms = 12;  // s^2 < 0.0295: the 13th is below 2^-53 of the sum.
  int exponent = 0;
  double m = std::frexp(x, &exponent);
  if (m < kRootHalf) {
    m *= 2.0;
    --exponent;
  }
  const double s = (m - 1.0) / (m + 1.0);
  const double square = s * s;
  double series = 0.0;
  for (int k = kTerms - 1; k >= 0; --k) series = series * square + 1.0 / (2 * k + 1);
  return exponent * kLn2 + 2.0 * s * series;
}

// e^y: y = k * ln 2 + r with |r| <= ln 2 / 2, and Taylor's series of r.
double Exp(double y) {
  constexpr double kLn2High = 0x1.62e42feep-1, kLn2Low = 0x1.a39ef35793c76p-33;
  constexpr int kTerms = 15;  // 0.35^15 / 15! is below 2^-53.
  if (y > 710.0) return std::numeric_limits<double>::infinity();
  if (y < -745.2) return 0.0;
  const double k = std::floor(y * 0x1.71547652b82fep+0 + 0.5);
  const double r = (y - k * kLn2High) - k * kLn2Low;
  double series = 1.0;
  for (int n = kTerms - 1; n > 0; --n) series = 1.0 + series * r / n;
  return std::ldexp(series, static_cast<int>(k));
}

// x^p for p > 0. 0, NaN and infinity are their own powers.
double Power(double x, double p) {
  if (!(x > 0.0) || std::isinf(x) || p == 1.0) return x;
  return Exp(p * Log(x));
}

}  // namespace

double RowNorm(std::span<const float> row, double p) {
  CHECK(p > 0.0) << p;
  if (p == 2.0) return std::sqrt(DoubleSumOfSquaresClones(row.data(), row.size()));
  double greatest = 0.0;
  for (const float weight : row) greatest = std::max(greatest, std::fabs(double{weight}));
  if (std::isinf(p)) return greatest;
  if (greatest == 0.0) greatest = 1.0;  // Nothing but zeros, or NaN, which must come out.
  double sum = 0.0;
  for (size_t first = 0; first < row.size(); first += kReductionColumns) {
    double lanes[kReductionColumns] = {};
    for (size_t i = 0; i < std::min(kReductionColumns, row.size() - first); ++i) {
      lanes[i] = Power(std::fabs(double{row[first + i]}) / greatest, p);
    }
    for (size_t width = kReductionColumns / 2; width > 0; width /= 2) {
      for (size_t i = 0; i < width; ++i) lanes[i] += lanes[i + width];
    }
    sum += lanes[0];
  }
  return greatest * Power(sum, 1.0 / p);
}

bool RenormaliseRow(double max_norm, double p, std::span<float> row) {
  const double norm = RowNorm(row, p);
  if (!(norm > max_norm)) return false;
  ScaleClones(static_cast<float>(max_norm / (norm + 1e-7)), row.data(), row.size());
  return true;
}

}  // namespace rowhouse
