#include "launch/model/temporary_rows.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace rowhouse {
namespace {

constexpr const char* kName = "rowhouse-rows";

Status CannotMake(std::string_view why) {
  return UsageError("rows need a directory: {}; give --row_dir or set TMPDIR", why);
}

}  // namespace

Status CheckTemporaryRows() {
  const std::string directory = TemporaryDirectory::Place() + "/";  // So that a file is refused.
  if (access(directory.c_str(), W_OK | X_OK) == 0) return OkStatus();
  return CannotMake(fmt::format("cannot make one in {}: {}", directory, std::strerror(errno)));
}

Result<std::unique_ptr<TemporaryDirectory>> MakeTemporaryRows() {
  auto made = TemporaryDirectory::Make(kName);
  if (made.ok()) return made;
  return CannotMake(made.status().message());
}

void RemoveRowsLeftOver() { TemporaryDirectory::RemoveLeftOver(kName); }

}  // namespace rowhouse
