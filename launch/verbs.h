// What each verb does; `main` calls one of these. Settings are Validate()d.
#pragma once

#include <string>
#include <vector>

#include "common/status.h"
#include "launch/settings.h"

namespace rowhouse {

// Says on stderr what went wrong, once for all ranks; the exit code.
int RunTrain(const Settings& settings);
Status RunPs(const Settings& settings);

struct BenchRequest {
  std::vector<std::string> names;  // benchmarks to run; none: all
  std::string json_file;           // figures go here as well; "": nowhere
};
Status RunBench(const BenchRequest& request);

}  // namespace rowhouse
