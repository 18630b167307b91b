// What each verb does; `main` calls one of these, or RunBench (launch/bench/bench.h). Settings are
// Validate()d.
#pragma once

#include "common/status.h"
#include "launch/settings.h"

namespace rowhouse {

// Says on stderr what went wrong, once for all ranks; the exit code.
int RunTrain(const Settings& settings);
Status RunPs(const Settings& settings);

}  // namespace rowhouse
