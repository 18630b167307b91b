#include "launch/run/temporary_rows.h"

#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

namespace rowhouse {
namespace {

namespace fs = std::filesystem;

// Not fs::temp_directory_path(): its error does not name the path where TMPDIR is no directory.
std::string TemporaryDirectory() {
  const char* directory = std::getenv("TMPDIR");
  return directory == nullptr || *directory == '\0' ? "/tmp" : directory;
}

// With the host, because machines and containers may share the directory and have the same pids.
std::string NamePrefix(pid_t server) {
  char host[256] = {};
  gethostname(host, sizeof(host) - 1);
  return fmt::format("rowhouse-rows-{}-{}-", host, server);
}

Status CannotMake(const std::string& path, int error) {
  return UsageError("cannot make a directory for rows at {}: {}; give --row_dir or set TMPDIR",
                    path, std::strerror(error));
}

}  // namespace

Status TemporaryRows::Check() {
  const std::string directory = TemporaryDirectory() + "/";  // With the slash a file is refused.
  return access(directory.c_str(), W_OK | X_OK) == 0 ? OkStatus() : CannotMake(directory, errno);
}

Result<std::unique_ptr<TemporaryRows>> TemporaryRows::Make() {
  const std::string pattern =
      fmt::format("{}/{}XXXXXX", TemporaryDirectory(), NamePrefix(getpid()));
  std::string path = pattern;
  if (mkdtemp(path.data()) == nullptr) return CannotMake(pattern, errno);
  return std::unique_ptr<TemporaryRows>(new TemporaryRows(std::move(path)));
}

TemporaryRows::~TemporaryRows() {
  std::error_code ignored;  // What cannot be deleted is left.
  fs::remove_all(path_, ignored);
}

void TemporaryRows::RemoveThoseOf(pid_t server) {
  const std::string prefix = NamePrefix(server);
  std::error_code ignored;
  for (fs::directory_iterator entry(TemporaryDirectory(), ignored), end; entry != end;
       entry.increment(ignored)) {
    if (entry->path().filename().string().starts_with(prefix)) {
      fs::remove_all(entry->path(), ignored);
    }
    if (ignored) return;
  }
}

}  // namespace rowhouse
