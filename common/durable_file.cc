#include "common/durable_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>

#include "common/kill_point.h"
#include "common/new_file.h"

namespace rowhouse {
namespace {

// Closes on the way out.
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

 private:
  const int fd_;
};

std::string ParentOf(const std::string& path) {
  std::filesystem::path p = std::filesystem::path(path).lexically_normal();
  if (!p.has_filename()) p = p.parent_path();  // "a/b/" is "a/b".
  const std::string parent = p.parent_path().string();
  return parent.empty() ? "." : parent;
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
    case EFBIG:
      return MakeStatus(StatusCode::kResourceExhausted,
                        "cannot {} {}: {}, by the limit of the shell (ulimit -f) or of the file "
                        "system",
                        what, path, std::strerror(error));
    default:
      break;
  }
  return MakeStatus(code, "cannot {} {}: {}", what, path, std::strerror(error));
}

Status WriteAll(int file, std::string_view bytes, const std::string& path) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(file, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return StatusFromErrno(errno, "write", path);
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return OkStatus();
}

Status WriteFileDurably(const std::string& path, std::string_view text) {
  ASSIGN_OR_RETURN(const std::unique_ptr<NewFile> file, NewFile::Make(path));
  RETURN_IF_ERROR(file->Append(text));
  return file->Commit();
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

Status ReadInPieces(const std::string& path,
                    const std::function<Status(std::string_view piece)>& take) {
  constexpr size_t kPieceBytes = size_t{1} << 18;
  FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.valid()) return StatusFromErrno(errno, "read", path);
  const auto piece = std::make_unique_for_overwrite<char[]>(kPieceBytes);
  for (;;) {
    const ssize_t got = ::read(file.get(), piece.get(), kPieceBytes);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return StatusFromErrno(errno, "read", path);
    if (got == 0) return OkStatus();
    RETURN_IF_ERROR(take({piece.get(), static_cast<size_t>(got)}));
  }
}

Result<std::string> ReadFile(const std::string& path) {
  std::string text;
  RETURN_IF_ERROR(ReadInPieces(path, [&text](std::string_view piece) {
    text += piece;
    return OkStatus();
  }));
  return text;
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
  KillPoint("directory.before_sync");
  return SyncDirectory(parent);
}

}  // namespace rowhouse
