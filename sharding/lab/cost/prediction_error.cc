#include "sharding/lab/cost/prediction_error.h"

#include <glog/logging.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <vector>

namespace rowhouse {

double RelativeError(double predicted, double measured) {
  if (predicted == measured) return 0;
  if (measured == 0) return std::numeric_limits<double>::infinity();
  return (predicted - measured) / measured;
}

PredictionError ErrorOf(std::span<const double> predicted, std::span<const double> measured,
                        double floor) {
  CHECK_EQ(predicted.size(), measured.size());
  PredictionError result;
  result.count = predicted.size();
  if (result.count == 0) return result;
  std::vector<double> errors;
  double logarithms = 0;
  for (size_t i = 0; i < predicted.size(); ++i) {
    const double error = std::abs(RelativeError(predicted[i], measured[i]));
    errors.push_back(error);
    logarithms += std::log(error + floor);
    result.mean += error;
  }
  const auto count = static_cast<double>(result.count);
  result.gmae = std::exp(logarithms / count);
  result.mean /= count;
  double squares = 0;
  for (const double error : errors) squares += (error - result.mean) * (error - result.mean);
  if (result.count > 1) result.deviation = std::sqrt(squares / (count - 1));
  std::sort(errors.begin(), errors.end());
  result.p90 = errors[(result.count * 9 + 9) / 10 - 1];
  result.largest = errors.back();
  return result;
}

nlohmann::ordered_json PredictionErrorToJson(const PredictionError& error) {
  return {{"count", error.count},         {"gmae", error.gmae}, {"mean", error.mean},
          {"deviation", error.deviation}, {"p90", error.p90},   {"largest", error.largest}};
}

}  // namespace rowhouse
