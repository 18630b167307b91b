#include "worker/data/zipf.h"

#include <glog/logging.h>

#include <algorithm>
#include <cmath>

namespace rowhouse {
namespace {

// (e^x - 1) / x and log(1 + x) / x, whole near 0, where the exponent is near 1.
double ExpRatio(double x) { return std::abs(x) > 1e-8 ? std::expm1(x) / x : 1.0 + x / 2.0; }
double LogRatio(double x) { return std::abs(x) > 1e-8 ? std::log1p(x) / x : 1.0 - x / 2.0; }

}  // namespace

Zipf::Zipf(uint64_t ranks, double exponent)
    : ranks_(static_cast<double>(ranks)), exponent_(exponent) {
  CHECK(ranks >= 1 && ranks <= uint64_t{1} << 50) << ranks;
  CHECK(exponent >= 0.0 && exponent <= 20.0) << exponent;
  integral_low_ = Integral(1.5) - 1.0;
  integral_high_ = Integral(ranks_ + 0.5);
  accept_within_ = 2.0 - IntegralInverse(Integral(2.5) - Density(2.0));
}

uint64_t Zipf::Draw(SplitMix64* bits) const {
  while (true) {
    const double y = integral_high_ + ToUnitDouble(bits->Next()) * (integral_low_ - integral_high_);
    const double x = IntegralInverse(y);
    const double rank = std::clamp(std::floor(x + 0.5), 1.0, ranks_);
    if (rank - x <= accept_within_ || y >= Integral(rank + 0.5) - Density(rank)) {
      return static_cast<uint64_t>(rank);
    }
  }
}

double Zipf::Density(double x) const { return std::exp(-exponent_ * std::log(x)); }

// (x^(1 - exponent) - 1) / (1 - exponent), which is log(x) for exponent 1.
double Zipf::Integral(double x) const {
  const double log_x = std::log(x);
  return ExpRatio((1.0 - exponent_) * log_x) * log_x;
}

double Zipf::IntegralInverse(double y) const {
  const double t = std::max(y * (1.0 - exponent_), -1.0);  // Rounding may pass the end.
  return std::exp(LogRatio(t) * y);
}

}  // namespace rowhouse
