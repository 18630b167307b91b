// What the judged points of a calibration say: the error of each group of kernels.
//
// Threads: pure functions.
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>

#include "launch/calibrate/calibration.h"
#include "sharding/lab/cost/prediction_error.h"

namespace rowhouse {

// The most that the geometric mean of a group's errors may be.
inline constexpr double kKernelTarget = 0.10;

struct GroupError {
  PredictionError all, held_out;  // of all points; of those that no table was made of
};
// By group.
std::map<std::string, GroupError> ErrorsOfGroups(std::span<const JudgedPoint> judged);

// A line a group, then the worst points.
std::string JudgementText(std::span<const JudgedPoint> judged);
// {groups: {NAME: {all, held_out}}, points: [{group, kernel, sizes, is_fitted, predicted_ns,
// measured_ns, spread}]}
nlohmann::ordered_json JudgementToJson(std::span<const JudgedPoint> judged);

}  // namespace rowhouse
