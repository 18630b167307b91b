#include "launch/figures/json_output.h"

#include <fmt/format.h>

#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "common/clean_text.h"
#include "common/durable_file.h"
#include "common/json_text.h"
#include "common/output_path.h"

namespace rowhouse {

Status WriteFileOfFlag(const std::string& flag, const std::string& path, const std::string& text) {
  const std::string given = fmt::format("--{}={}", flag, path);
  const Status written = WriteOutput(path, text);
  if (written.code() == StatusCode::kNotFound)
    return UsageError("{}: {}", given, written.message());
  return written.Annotate(given);
}

Status DeliverFigures(const std::string& json, const std::string& json_text,
                      const std::string& text) {
  if (json == kJsonToStdout) {
    std::fputs(json_text.c_str(), stdout);
    return OkStatus();
  }
  if (!json.empty()) RETURN_IF_ERROR(WriteFileOfFlag("json", json, json_text));
  std::fputs(CleanLines(text).c_str(), stdout);
  return OkStatus();
}

Status WriteReportFile(const std::string& path, std::string_view text) {
  const std::string directory = std::filesystem::path(path).parent_path().string();
  if (!directory.empty()) RETURN_IF_ERROR(MakeDirectoryDurably(directory));
  // A link that lies in a model directory is not followed, unless it leads to a stream.
  return IsWrittenThrough(path) ? WriteOutput(path, text) : WriteFileDurably(path, text);
}

Result<nlohmann::json> ReadReportFile(const std::string& path) {
  const Result<std::string> text = ReadFile(path);
  // The operator named the file, so any error is the operator's to mend.
  if (!text.ok()) return UsageError("the report of a run: {}", text.status().message());
  Result<nlohmann::json> json = ParseJson(text.value());
  if (json.ok()) return json;
  return UsageError("{} {}, so it is not the report of a run", path, json.status().message());
}

}  // namespace rowhouse
