// Predictions beside measurements, from files that runs wrote. Threads: any.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "common/status.h"

namespace rowhouse {

// [{name, predicted_ms, measured_ms}] of the files that `paths` names, joined by commas: the
// report.json of runs, and the JSON of `rowhouse plan --accountability`. kUsage, with the path, for
// others, and for reports without a prediction.
Result<nlohmann::ordered_json> MeasuredRuns(const std::string& paths);

}  // namespace rowhouse
