#include "launch/report/report_file.h"

#include <filesystem>

#include "common/durable_file.h"

namespace rowhouse {

Status WriteReportFile(const std::string& path, std::string_view text) {
  const std::string directory = std::filesystem::path(path).parent_path().string();
  if (!directory.empty()) RETURN_IF_ERROR(MakeDirectoryDurably(directory));
  return WriteFileDurably(path, text);
}

}  // namespace rowhouse
