// Zipf: random ranks 1, 2, ..., rank k with a probability proportional to k^-exponent; ids in click
// logs have such frequencies. Constant memory and constant expected time for any number of ranks.
//
// Source: rejection-inversion, Hormann and Derflinger, "Rejection-inversion to generate variates
// from monotone discrete distributions", ACM TOMACS 6(3), 1996.
#pragma once

#include <cstdint>

#include "common/random.h"

namespace rowhouse {

class Zipf {
 public:
  // Requires ranks in [1, 2^50] and exponent in [0, 20]; with exponent 0 all ranks are as likely.
  Zipf(uint64_t ranks, double exponent);

  // A rank in [1, ranks]. Draws from `bits` until a rank is accepted, mostly once.
  uint64_t Draw(SplitMix64* bits) const;

 private:
  // The density, its integral from 1 and the integral's inverse.
  double Density(double x) const;
  double Integral(double x) const;
  double IntegralInverse(double y) const;

  double ranks_;
  double exponent_;
  double integral_low_;  // the range that a uniform number is scaled to
  double integral_high_;
  double accept_within_;  // a number at most this far below a rank needs no test to be accepted
};

}  // namespace rowhouse
