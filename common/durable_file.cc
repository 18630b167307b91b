#include "common/durable_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "common/output_path.h"

namespace rowhouse {
namespace {

// Closes on the way out; Close() reports what close(2) says.
class FileDescriptor {
 public:
  explicit FileDescriptor(int fd) : fd_(fd) {}
  ~FileDescriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  FileDescriptor(const FileDescriptor&) = delete;
  FileDescriptor& operator=(const FileDescriptor&) = delete;
  bool valid() const { return fd_ >= 0; }
  int get() const { return fd_; }
  bool Close() {
    const int fd = fd_;
    fd_ = -1;
    return ::close(fd) == 0;
  }

 private:
  int fd_;
};

std::string ParentOf(const std::string& path) {
  std::filesystem::path p = std::filesystem::path(path).lexically_normal();
  if (!p.has_filename()) p = p.parent_path();  // "a/b/" is "a/b".
  const std::string parent = p.parent_path().string();
  return parent.empty() ? "." : parent;
}

Status WriteAll(const FileDescriptor& file, const std::string& path, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(file.get(), text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return StatusFromErrno(errno, "write", path);
    text.remove_prefix(static_cast<size_t>(written));
  }
  return OkStatus();
}

Status WriteToStream(const std::string& path, std::string_view text) {
  FileDescriptor file(OpenWrittenThrough(path));
  if (!file.valid()) return StatusFromErrno(errno, "write", path);
  RETURN_IF_ERROR(WriteAll(file, path, text));
  if (!file.Close()) return StatusFromErrno(errno, "close", path);
  return OkStatus();
}

Status WriteAndSync(const std::string& path, std::string_view text) {
  FileDescriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
  if (!file.valid()) return StatusFromErrno(errno, "write", path);
  RETURN_IF_ERROR(WriteAll(file, path, text));
  if (::fsync(file.get()) != 0) return StatusFromErrno(errno, "fsync", path);
  if (!file.Close()) return StatusFromErrno(errno, "close", path);
  return OkStatus();
}

}  // namespace

Status StatusFromErrno(int error, std::string_view what, const std::string& path) {
  StatusCode code = StatusCode::kIoError;
  switch (error) {
    case ENOENT:
      code = StatusCode::kNotFound;
      break;
    case EACCES:
    case EPERM:
    case EROFS:
    case ENOTDIR:
    case EISDIR:
    case EEXIST:
    case ENAMETOOLONG:
      code = StatusCode::kUsage;
      break;
    case ENOSPC:
    case EDQUOT:
      code = StatusCode::kResourceExhausted;
      break;
    default:
      break;
  }
  return MakeStatus(code, "cannot {} {}: {}", what, path, std::strerror(error));
}

Status WriteFileDurably(const std::string& path, std::string_view text) {
  if (IsWrittenThrough(path)) return WriteToStream(path, text);
  const std::string replaced = ReplacedFile(path);
  const std::string temporary = replaced + ".tmp";
  Status written = WriteAndSync(temporary, text);
  if (written.ok() && std::rename(temporary.c_str(), replaced.c_str()) != 0) {
    written = StatusFromErrno(errno, "replace", path);
  }
  if (!written.ok()) {
    ::unlink(temporary.c_str());  // Whether this works changes nothing: the error is told.
    return written;
  }
  return SyncDirectory(ParentOf(replaced));
}

Status SyncDirectory(const std::string& path) {
  FileDescriptor directory(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!directory.valid()) return StatusFromErrno(errno, "open directory", path);
  if (::fsync(directory.get()) != 0) return StatusFromErrno(errno, "fsync directory", path);
  return OkStatus();
}

Status RenameDurably(const std::string& from, const std::string& to) {
  if (std::rename(from.c_str(), to.c_str()) != 0) {
    return StatusFromErrno(errno, "rename " + from + " to", to);
  }
  return SyncDirectory(ParentOf(to));
}

Result<std::string> ReadFile(const std::string& path) {
  FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.valid()) return StatusFromErrno(errno, "read", path);
  std::string text;
  char buffer[16384];
  for (;;) {
    const ssize_t got = ::read(file.get(), buffer, sizeof(buffer));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return StatusFromErrno(errno, "read", path);
    if (got == 0) return text;
    text.append(buffer, static_cast<size_t>(got));
  }
}

Status MakeDirectoryDurably(const std::string& path) {
  struct stat existing;
  if (::stat(path.c_str(), &existing) == 0) {
    if (S_ISDIR(existing.st_mode)) return OkStatus();
    return UsageError("{} is a file where a directory is due", path);
  }
  if (errno != ENOENT) return StatusFromErrno(errno, "make directory", path);
  const std::string parent = ParentOf(path);
  RETURN_IF_ERROR(MakeDirectoryDurably(parent));
  // Another process may have made it meanwhile: that is what was wanted.
  if (::mkdir(path.c_str(), 0755) != 0 && errno != EEXIST) {
    return StatusFromErrno(errno, "make directory", path);
  }
  return SyncDirectory(parent);
}

}  // namespace rowhouse
