#include "launch/report/output_flags.h"

#include "common/output_path.h"
#include "launch/model/output_place.h"
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
  // Verbs check the rest of their --out themselves.
  for (const std::string_view flag : {kJsonFlag, std::string_view("html"), kCsvFlag, kOutFlag}) {
    if (const Status status = CheckOutsideModels(command_line.Value(flag)); !status.ok()) {
      return UsageError("--{}={}", flag, status.message());
    }
  }
  return OkStatus();
}

}  // namespace rowhouse
