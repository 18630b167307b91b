// rowhouse train: this rank of a run, as a worker or as the supervisor of a PS node. Threads: the
// main thread.
#pragma once

#include <string>
#include <string_view>

#include "launch/settings/settings.h"

namespace rowhouse {

inline constexpr std::string_view kProfileFlag = "profile";

// What a run is told beside its settings.
struct TrainRequest {
  // The value of --profile (launch/profile/run_profiler.h); "": not given.
  std::string profile = {};
};

// Returns the exit code; an error is printed on stderr, once for all ranks. Requires settings that
// are Validate()d.
int RunTrain(const Settings& settings, const TrainRequest& request = {});

}  // namespace rowhouse
