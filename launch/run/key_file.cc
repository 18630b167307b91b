#include "launch/run/key_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "common/durable_file.h"

namespace rowhouse {
namespace {

constexpr mode_t kOwnerOnly = 0600;

std::string OfTheHome() {
  const char* const home = std::getenv("HOME");
  return home == nullptr || *home == '\0' ? "" : std::string(home) + "/.config/rowhouse/key";
}

Status CannotMakeKey(const std::string& path, int error) {
  return UsageError(
      "cannot make the key file {}: {}; name another with --key_file, or give --open, and nobody "
      "is asked for a key",
      path, std::strerror(error));
}

// Whole or not at all: a link to a file of its own, which fails if the name is taken.
Status MakeKeyFile(const std::string& path) {
  const std::string folder = std::filesystem::path(path).parent_path();
  std::error_code error;
  if (!folder.empty()) std::filesystem::create_directories(folder, error);
  if (error) return CannotMakeKey(path, error.value());
  std::string own = path + ".XXXXXX";
  const int fd = mkostemp(own.data(), O_CLOEXEC);  // O_EXCL, mode 0600
  if (fd < 0) return CannotMakeKey(path, errno);
  const std::string line = NewKey() + "\n";
  int failed = 0;
  if (write(fd, line.data(), line.size()) != static_cast<ssize_t>(line.size())) failed = ENOSPC;
  if (failed == 0 && fsync(fd) != 0) failed = errno;
  close(fd);
  if (failed == 0 && link(own.c_str(), path.c_str()) != 0 && errno != EEXIST) failed = errno;
  unlink(own.c_str());
  return failed == 0 ? OkStatus() : CannotMakeKey(path, failed);
}

// kNotFound if there is none.
Result<std::string> ReadKey(const std::string& path) {
  struct stat found = {};
  if (stat(path.c_str(), &found) != 0) return StatusFromErrno(errno, "read", path);
  if (!S_ISREG(found.st_mode)) return UsageError("the key file {} is no regular file", path);
  const bool is_anothers = found.st_uid != geteuid() && geteuid() != 0;
  if (is_anothers || (found.st_mode & ~kOwnerOnly & 0777) != 0) {
    return UsageError(
        "others than you may read or use the key file {} (mode {:04o}): whoever has the key can "
        "change rows; delete it, and the next PS node or worker makes a new one, or chmod 600 {} "
        "if nobody has read it",
        path, found.st_mode & 0777, path);
  }
  ASSIGN_OR_RETURN(std::string text, ReadFile(path));
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  if (IsKey(text)) return text;
  return UsageError(
      "the key file {} holds no key, which is 64 hex digits (0-9, a-f); delete it, and the next "
      "PS node or worker makes a new one",
      path);
}

}  // namespace

Result<std::string> ReadOrMakeKey(const std::string& path) {
  Result<std::string> key = ReadKey(path);
  if (key.status().code() != StatusCode::kNotFound) return key;
  RETURN_IF_ERROR(MakeKeyFile(path));
  return ReadKey(path);
}

Result<Security> FindSecurity(const Settings& settings, bool by_hand) {
  const ClusterSettings& cluster = settings.cluster;
  if (cluster.open && (cluster.encrypt || !cluster.key_file.empty())) {
    return UsageError("--open asks nobody for a key, and --{} needs one: give only one of them",
                      cluster.encrypt ? "encrypt" : "key_file");
  }
  if (cluster.open) return Security();
  Security security = {.kind = cluster.encrypt ? Security::Kind::kCurve : Security::Kind::kPlain,
                       .key = {}};
  if (cluster.key_file.empty() && !by_hand) {
    security.key = NewKey();
    return security;
  }
  const std::string path = cluster.key_file.empty() ? OfTheHome() : cluster.key_file;
  if (path.empty()) {
    return UsageError(
        "no key: HOME is not set, so there is no ~/.config/rowhouse/key; name the file of the key "
        "with --key_file, or give --open, and nobody is asked for one");
  }
  ASSIGN_OR_RETURN(security.key, ReadOrMakeKey(path));
  return security;
}

std::string DescribeSecurity(const Settings& settings) {
  const ClusterSettings& cluster = settings.cluster;
  if (cluster.open) return "open: whoever reaches its ports can change and delete rows";
  return fmt::format("workers need the key in {}{}",
                     cluster.key_file.empty() ? OfTheHome() : cluster.key_file,
                     cluster.encrypt ? " and --encrypt" : "");
}

}  // namespace rowhouse
