#include "worker/data/convert/sorted_runs.h"

namespace rowhouse {

SpillFile::~SpillFile() {
  if (fd_ < 0) return;
  ::close(fd_);
  ::unlink(path_.c_str());
}

Status SpillFile::Append(const void* bytes, uint64_t count) {
  if (fd_ < 0) {
    fd_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_TRUNC | O_CLOEXEC, 0644);
    if (fd_ < 0) return StatusFromErrno(errno, "write", path_);
  }
  const char* begin = static_cast<const char*>(bytes);
  while (count > 0) {
    const ssize_t written = ::pwrite(fd_, begin, count, static_cast<off_t>(bytes_));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return StatusFromErrno(errno, "write", path_);
    begin += written;
    count -= static_cast<uint64_t>(written);
    bytes_ += static_cast<uint64_t>(written);
  }
  return OkStatus();
}

Status SpillFile::Read(uint64_t at, void* bytes, uint64_t count) const {
  char* begin = static_cast<char*>(bytes);
  while (count > 0) {
    const ssize_t got = ::pread(fd_, begin, count, static_cast<off_t>(at));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return StatusFromErrno(errno, "read", path_);
    if (got == 0) return IoError("{} is shorter than what was written", path_);
    begin += got;
    count -= static_cast<uint64_t>(got);
    at += static_cast<uint64_t>(got);
  }
  return OkStatus();
}

}  // namespace rowhouse
