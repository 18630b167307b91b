#include "common/new_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <random>

#include "common/durable_file.h"
#include "common/kill_point.h"

namespace rowhouse {
namespace {

namespace fs = std::filesystem;

// Before the name is ".<16 digits>.tmp" long: names have at most 255 bytes.
constexpr size_t kMaxOfName = 230;

std::string FolderOf(const std::string& path) {
  const std::string folder = fs::path(path).parent_path().string();
  return folder.empty() ? "." : folder;
}

Status Copy(const std::string& source, const std::string& path) {
  ASSIGN_OR_RETURN(const std::unique_ptr<NewFile> file, NewFile::Make(path));
  RETURN_IF_ERROR(
      ReadInPieces(source, [&file](std::string_view piece) { return file->Append(piece); }));
  return file->Commit();
}

Status SyncFile(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return StatusFromErrno(errno, "open", path);
  const int error = ::fsync(file) == 0 ? 0 : errno;
  ::close(file);
  return error == 0 ? OkStatus() : StatusFromErrno(error, "fsync", path);
}

}  // namespace

Status CheckCanMakeFiles(const std::string& directory) {
  const Status made = NewFile::Make(directory + "/probe").status();
  if (made.ok() || made.code() == StatusCode::kResourceExhausted) return OkStatus();
  return UsageError("cannot write into {} ({}); give a directory that can be written", directory,
                    made.message());
}

std::string RandomNameBeside(const std::string& path) {
  std::random_device device;
  const uint64_t word = (uint64_t{device()} << 32) | device();
  const fs::path file(path);
  const std::string name = file.filename().string().substr(0, kMaxOfName);
  return (file.parent_path() / fmt::format("{}.{:016x}.tmp", name, word)).string();
}

Result<std::unique_ptr<NewFile>> NewFile::Make(const std::string& path) {
  std::unique_ptr<NewFile> file(new NewFile(path));
  file->fd_ = ::open(FolderOf(path).c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0644);
  while (file->fd_ < 0) {
    file->temporary_ = RandomNameBeside(path);
    file->fd_ = ::open(file->temporary_.c_str(),
                       O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
    if (file->fd_ < 0 && errno != EEXIST) return StatusFromErrno(errno, "write", path);
  }
  // Who may not read the old file may not read the new one.
  struct stat replaced = {};
  if (::lstat(path.c_str(), &replaced) == 0 && S_ISREG(replaced.st_mode) &&
      ::fchmod(file->fd_, replaced.st_mode & 0777) != 0) {
    return StatusFromErrno(errno, "set the mode of", path);
  }
  return file;
}

NewFile::~NewFile() {
  if (fd_ >= 0) ::close(fd_);
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

Status NewFile::Append(std::string_view bytes) { return WriteAll(fd_, bytes, path_); }

Status NewFile::Commit() {
  if (::fsync(fd_) != 0) return StatusFromErrno(errno, "fsync", path_);
  KillPoint("file.before_name");
  const std::string self = fmt::format("/proc/self/fd/{}", fd_);
  const auto link_to = [&](const std::string& name) {
    return ::linkat(AT_FDCWD, self.c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW) == 0;
  };
  // At once where nothing has to be replaced.
  const bool is_named = temporary_.empty() && link_to(path_);
  while (temporary_.empty() && !is_named) {
    if (errno != EEXIST) return StatusFromErrno(errno, "name", path_);
    const std::string name = RandomNameBeside(path_);
    if (link_to(name)) temporary_ = name;
  }
  const int fd = std::exchange(fd_, -1);
  if (::close(fd) != 0) return StatusFromErrno(errno, "close", path_);
  if (!is_named) KillPoint("file.before_replacing");
  if (!is_named && std::rename(temporary_.c_str(), path_.c_str()) != 0) {
    return StatusFromErrno(errno, "replace", path_);
  }
  temporary_.clear();
  KillPoint("file.before_directory_sync");
  return SyncDirectory(FolderOf(path_));
}

Status LinkOrCopyDurably(const std::string& source, const std::string& path) {
  std::error_code ignored;
  if (fs::equivalent(source, path, ignored) && !fs::is_symlink(path, ignored)) return OkStatus();
  const std::string name = RandomNameBeside(path);
  if (::link(source.c_str(), name.c_str()) != 0) {
    // Another file system, one without links, a file of another user, too many links.
    const bool may_copy = errno == EXDEV || errno == EPERM || errno == EACCES || errno == EMLINK ||
                          errno == ENOSYS || errno == EOPNOTSUPP;
    return may_copy ? Copy(source, path) : StatusFromErrno(errno, "link", path);
  }
  Status made = SyncFile(name);
  KillPoint("link.before_replacing");
  if (made.ok() && std::rename(name.c_str(), path.c_str()) != 0) {
    made = StatusFromErrno(errno, "replace", path);
  }
  if (!made.ok()) {
    ::unlink(name.c_str());
    return made;
  }
  return SyncDirectory(FolderOf(path));
}

}  // namespace rowhouse
