#include "launch/model/linked_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <vector>

#include "common/durable_file.h"

namespace rowhouse {
namespace {

constexpr size_t kPieceBytes = size_t{1} << 20;

// An open file; -1: none.
class Descriptor {
 public:
  Descriptor(const std::string& path, int flags)
      : fd_(open(path.c_str(), flags | O_CLOEXEC, 0666)) {}
  ~Descriptor() { Close(); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  int get() const { return fd_; }
  // Some file systems report a failed write only now.
  int Close() {
    const int fd = fd_;
    fd_ = -1;
    return fd < 0 ? 0 : close(fd);
  }

 private:
  int fd_;
};

// Calls use(data, size) for the bytes of the file, in order.
template <typename Use>
Status ForEachPiece(const std::string& path, const Use& use) {
  const Descriptor file(path, O_RDONLY);
  if (file.get() < 0) return StatusFromErrno(errno, "open", path);
  std::vector<char> piece(kPieceBytes);
  for (;;) {
    const ssize_t got = read(file.get(), piece.data(), piece.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return StatusFromErrno(errno, "read", path);
    if (got == 0) return OkStatus();
    RETURN_IF_ERROR(use(piece.data(), static_cast<size_t>(got)));
  }
}

Status WriteAll(int fd, const char* data, size_t size, const std::string& path) {
  while (size > 0) {
    const ssize_t written = write(fd, data, size);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return StatusFromErrno(errno, "write", path);
    data += written;
    size -= static_cast<size_t>(written);
  }
  return OkStatus();
}

Status Copy(const std::string& source, const std::string& path) {
  Descriptor copy(path, O_WRONLY | O_CREAT | O_TRUNC);
  if (copy.get() < 0) return StatusFromErrno(errno, "make", path);
  RETURN_IF_ERROR(ForEachPiece(source, [&](const char* data, size_t size) {
    return WriteAll(copy.get(), data, size, path);
  }));
  return copy.Close() == 0 ? OkStatus() : StatusFromErrno(errno, "write", path);
}

Status Sync(const std::string& path) {
  const Descriptor file(path, O_RDONLY);
  if (file.get() < 0) return StatusFromErrno(errno, "open", path);
  return fsync(file.get()) == 0 ? OkStatus() : StatusFromErrno(errno, "sync", path);
}

Status LinkOrCopy(const std::string& source, const std::string& path) {
  if (link(source.c_str(), path.c_str()) == 0) return OkStatus();
  // Another file system, one without links, a file of another user, too many links.
  const bool may_copy = errno == EXDEV || errno == EPERM || errno == EACCES || errno == EMLINK ||
                        errno == ENOSYS || errno == EOPNOTSUPP;
  if (!may_copy) return StatusFromErrno(errno, "link", path);
  return Copy(source, path);
}

}  // namespace

Status LinkOrCopyDurably(const std::string& source, const std::string& path) {
  std::error_code ignored;
  if (std::filesystem::equivalent(source, path, ignored)) return OkStatus();
  const std::string partial = path + ".tmp";
  std::filesystem::remove(partial, ignored);
  Status made = LinkOrCopy(source, partial);
  if (made.ok()) made = Sync(partial);
  if (made.ok() && rename(partial.c_str(), path.c_str()) != 0) {
    made = StatusFromErrno(errno, "rename", partial);
  }
  if (made.ok()) made = Sync(std::filesystem::path(path).parent_path());
  if (!made.ok()) std::filesystem::remove(partial, ignored);
  return made;
}

}  // namespace rowhouse
