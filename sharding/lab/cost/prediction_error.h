// PredictionError: how far predictions are from measurements, in the figures of the papers on
// performance models (Lin et al., HiPC 2022): GMAE is the geometric mean of |relative error|.
//
// Threads: pure functions.
#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <span>

namespace rowhouse {

// (predicted - measured) / measured; 0 if both are 0, infinite if only `measured` is.
double RelativeError(double predicted, double measured);

// Of |relative error|, as fractions.
struct PredictionError {
  size_t count = 0;
  double gmae = 0;
  double mean = 0;
  double deviation = 0;  // of a sample: divided by count - 1; 0 for one error
  double p90 = 0;        // the least error that at least 90 % of the errors do not exceed
  double largest = 0;
};

// What is added to each error inside GMAE's logarithm, as the authors' later code does: without it
// a single exact prediction makes the geometric mean 0.
inline constexpr double kErrorFloor = 4e-4;

// Requires two spans of one length. All 0 for empty ones.
PredictionError ErrorOf(std::span<const double> predicted, std::span<const double> measured,
                        double floor = kErrorFloor);

// {count, gmae, mean, deviation, p90, largest}
nlohmann::ordered_json PredictionErrorToJson(const PredictionError& error);

}  // namespace rowhouse
