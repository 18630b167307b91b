#include "common/file_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "common/durable_file.h"

namespace rowhouse {
namespace {

constexpr int kFlags = O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;

bool IsStillAt(int fd, const std::string& path) {
  struct stat mine = {}, there = {};
  return fstat(fd, &mine) == 0 && lstat(path.c_str(), &there) == 0 && mine.st_ino == there.st_ino &&
         mine.st_dev == there.st_dev;
}

}  // namespace

Result<std::unique_ptr<FileLock>> FileLock::Take(int fd, int kind, const std::string& path) {
  if (fd < 0) return StatusFromErrno(errno, "lock", path);
  std::unique_ptr<FileLock> lock(new FileLock(fd));
  int error = 0;
  do {
    error = flock(fd, kind | LOCK_NB) == 0 ? 0 : errno;
  } while (error == EINTR);
  if (error == EWOULDBLOCK) {
    return MakeStatus(StatusCode::kUnavailable, "{} is locked by another process", path);
  }
  LOG_IF(WARNING, error != 0) << path << " cannot be locked (" << std::strerror(error)
                              << "): nothing keeps another run away";
  if (!IsStillAt(fd, path)) {
    return MakeStatus(StatusCode::kUnavailable, "{} was replaced meanwhile", path);
  }
  return lock;
}

Result<std::unique_ptr<FileLock>> FileLock::Shared(const std::string& path) {
  return Take(open(path.c_str(), O_RDONLY | kFlags), LOCK_SH, path);
}

Result<std::unique_ptr<FileLock>> FileLock::Exclusive(const std::string& path, bool makes_file) {
  // NFS takes an exclusive lock only for a file that may be written.
  int fd = open(path.c_str(), O_RDWR | (makes_file ? O_CREAT : 0) | kFlags, 0644);
  if (fd < 0 && (errno == EACCES || errno == EROFS || errno == EPERM)) {
    fd = open(path.c_str(), O_RDONLY | kFlags);
  }
  return Take(fd, LOCK_EX, path);
}

FileLock::~FileLock() { close(fd_); }

void FileLock::Say(const std::string& text) const {
  if (ftruncate(fd_, 0) != 0) return;
  const ssize_t written = pwrite(fd_, text.data(), text.size(), 0);
  LOG_IF(WARNING, written < 0) << "a lock file cannot be written: " << std::strerror(errno);
}

}  // namespace rowhouse
