// rowhouse train: this rank of a run, as a worker or as the supervisor of a PS node. Threads: the
// main thread.
#pragma once

#include <string>
#include <string_view>

#include "launch/settings/settings.h"

namespace rowhouse {

inline constexpr std::string_view kProfileFlag = "profile";

// Returns the exit code; an error is printed on stderr, once for all ranks. `profile`: the value of
// --profile (launch/profile/run_profiler.h), "" if it is not given. Requires settings that are
// Validate()d.
int RunTrain(const Settings& settings, const std::string& profile);

}  // namespace rowhouse
