// A training run as a process of its own, and its report: what the system does with a model, as an
// operator runs it.
//
// Threads: one.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "common/status.h"

namespace rowhouse {

struct ChildRun {
  std::string yaml = {};           // its --config; "": none
  std::vector<std::string> flags;  // besides
  uint32_t deadline_ms = 120'000;  // it is ended then, and when this process is told to stop
};

// Runs `rowhouse train` of this program, without mpirun: one PS node and one worker. Returns its
// report.json. kInternal with the last line that it printed if it fails, kDeadlineExceeded.
Result<nlohmann::json> TrainInChild(const ChildRun& run);

}  // namespace rowhouse
