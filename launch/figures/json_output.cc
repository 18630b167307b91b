#include "launch/figures/json_output.h"

#include <cstdio>

#include "common/clean_text.h"
#include "common/output_path.h"

namespace rowhouse {

Status DeliverFigures(const std::string& json, const std::string& json_text,
                      const std::string& text) {
  if (json == kJsonToStdout) {
    std::fputs(json_text.c_str(), stdout);
    return OkStatus();
  }
  if (!json.empty()) {
    const Status written = WriteOutput(json, json_text);
    if (written.code() == StatusCode::kNotFound) {
      return UsageError("--json={}: {}", json, written.message());
    }
    RETURN_IF_ERROR(written.Annotate("--json=" + json));
  }
  std::fputs(CleanLines(text).c_str(), stdout);
  return OkStatus();
}

}  // namespace rowhouse
