#include "ps/store/rocksdb_status.h"

#include <fcntl.h>
#include <unistd.h>

namespace rowhouse {
namespace {

// RocksDB reports the errno of a system call only as text.
bool Mentions(const rocksdb::Status& status, std::string_view text) {
  return status.ToString().find(text) != std::string::npos;
}

Status InUse(const std::string& path) {
  return UsageError(
      "row directory {} is in use by another process (its LOCK is held); wait until that has "
      "ended, or give another --row_dir",
      path);
}

}  // namespace

Status Translate(const rocksdb::Status& status, const std::string& path, std::string_view what) {
  if (status.ok()) return OkStatus();
  if (status.IsNoSpace()) {
    // From here on RocksDB refuses writes; see MakeRoom. Earlier Puts stay in memory until then.
    return MakeStatus(StatusCode::kResourceExhausted, "row directory {}: {}: the disk is full: {}",
                      path, what, status.ToString());
  }
  const StatusCode code = status.IsCorruption() ? StatusCode::kCorruption : StatusCode::kIoError;
  return MakeStatus(code, "row directory {}: {}: {}{}", path, what, status.ToString(),
                    Mentions(status, "File too large")
                        ? ", by the limit of the shell (ulimit -f) or of the file system"
                        : "");
}

Status CheckNotInUse(const std::string& path) {
  const int fd = ::open((path + "/LOCK").c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return OkStatus();  // Never locked, or opening will report the error.
  struct flock lock = {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  const bool is_held = fcntl(fd, F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
  ::close(fd);
  return is_held ? InUse(path) : OkStatus();
}

Status TranslateOpen(const rocksdb::Status& status, const std::string& path) {
  if (status.IsIOError() && Mentions(status, "LOCK: Resource temporarily unavailable")) {
    return InUse(path);
  }
  if (status.IsIOError() && Mentions(status, "lock hold by current process")) {
    return UsageError("row directory {} is in use by this process already (its LOCK is held): {}",
                      path, status.ToString());
  }
  if (status.IsInvalidArgument()) {
    return UsageError("row directory {} holds a RocksDB database that is not ours: {}", path,
                      status.ToString());
  }
  const Status translated = Translate(status, path, "open");
  if (Mentions(status, "Permission denied") || Mentions(status, "Read-only file system")) {
    return UsageError("{}", translated.message());
  }
  return translated;
}

}  // namespace rowhouse
