#include "launch/calibrate/calibration_file.h"

#include <filesystem>

#include "common/new_file.h"
#include "launch/hosts/host_facts.h"
#include "launch/lab/workload_of_run.h"

namespace rowhouse {

Result<std::string> CalibrationFileToWrite(const std::string& given) {
  if (given == "typical") {
    return UsageError(
        "--calibration=typical: that name means the built-in figures of a typical server; name "
        "another file to write");
  }
  const std::string path = given.empty() ? CalibrationPathOf(HostName()) : given;
  const std::filesystem::path directory = std::filesystem::path(path).parent_path();
  std::error_code error;
  if (given.empty()) std::filesystem::create_directories(directory, error);
  if (!directory.empty() && !std::filesystem::is_directory(directory, error)) {
    return UsageError("--calibration={}: there is no directory {}", path, directory.string());
  }
  if (std::filesystem::is_directory(path, error)) {
    return UsageError("--calibration={}: it is a directory; name a file in it", path);
  }
  // As it will be written; it leaves nothing.
  const Status made = NewFile::Make(path).status();
  if (!made.ok()) {
    return UsageError("--calibration={}: {}; name a file that can be written", path,
                      made.message());
  }
  return path;
}

}  // namespace rowhouse
