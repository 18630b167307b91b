#include "launch/report/output_flags.h"

#include "common/output_path.h"
#include "launch/report/json_output.h"
#include "launch/settings/verb_flags.h"

namespace rowhouse {

Status CheckOutputFlags(const CommandLine& command_line) {
  const std::string_view of_compare = command_line.verb == "compare" ? kOutFlag : kCsvFlag;
  for (const std::string_view flag : {kJsonFlag, std::string_view("html"), kCsvFlag, of_compare}) {
    const std::string path = command_line.Value(flag);
    if (path.empty() || path == kJsonToStdout) continue;
    if (const Status status = CheckWritable(path); !status.ok()) {
      return UsageError("--{}={}", flag, status.message());  // It begins with the path.
    }
  }
  return OkStatus();
}

}  // namespace rowhouse
