#include "launch/report/report_file.h"

#include <filesystem>
#include <nlohmann/json.hpp>

#include "common/durable_file.h"

namespace rowhouse {

Status WriteReportFile(const std::string& path, std::string_view text) {
  const std::string directory = std::filesystem::path(path).parent_path().string();
  if (!directory.empty()) RETURN_IF_ERROR(MakeDirectoryDurably(directory));
  return WriteFileDurably(path, text);
}

Result<nlohmann::json> ReadReportFile(const std::string& path) {
  const Result<std::string> text = ReadFile(path);
  // Whatever the reason, it is the operator who named the file.
  if (!text.ok()) return UsageError("the report of a run: {}", text.status().message());
  nlohmann::json json = nlohmann::json::parse(text.value(), nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded()) return UsageError("{}: no JSON, so no report of a run", path);
  return json;
}

}  // namespace rowhouse
