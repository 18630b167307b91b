#include "common/output_path.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <filesystem>
#include <optional>

#include "common/durable_file.h"

namespace rowhouse {
namespace {

namespace fs = std::filesystem;

constexpr int kMaxLinks = 40;  // as the kernel's

fs::path PlaceOf(const fs::path& path) {
  return path.has_parent_path() ? path.parent_path() : fs::path(".");
}

// The open descriptor of this process that `path` names, by way of links, too.
std::optional<int> DescriptorOf(fs::path path) {
  std::error_code error;
  const fs::path descriptors = fs::canonical("/proc/self/fd", error);
  if (error) return std::nullopt;
  for (int link = 0; link < kMaxLinks; ++link) {
    if (fs::canonical(PlaceOf(path), error) == descriptors && !error) {
      const std::string name = path.filename().string();
      int number = -1;
      const auto [end, fault] = std::from_chars(name.data(), name.data() + name.size(), number);
      if (fault == std::errc() && end == name.data() + name.size()) return number;
      return std::nullopt;
    }
    if (!fs::is_symlink(fs::symlink_status(path, error))) return std::nullopt;
    const fs::path to = fs::read_symlink(path, error);
    if (error) return std::nullopt;
    path = to.is_absolute() ? to : PlaceOf(path) / to;
  }
  return std::nullopt;
}

std::string KindOf(fs::file_type type) {
  switch (type) {
    case fs::file_type::directory:
      return "a directory";
    case fs::file_type::symlink:
      return "a link, which the file would replace";
    case fs::file_type::fifo:
      return "a pipe, which the file would replace";
    case fs::file_type::socket:
      return "a socket, which the file would replace";
    default:
      return "a device, which the file would replace";
  }
}

Status CheckFolder(const std::string& path) {
  std::error_code ignored;
  const fs::path folder = PlaceOf(path);
  if (fs::is_directory(folder, ignored)) return OkStatus();
  return UsageError("{}: there is no folder {}; make it, or name another file", path,
                    folder.string());
}

}  // namespace

bool IsWrittenThrough(const std::string& path) {
  if (DescriptorOf(path)) return true;
  std::error_code ignored;
  const fs::file_status there = fs::status(path, ignored);
  return fs::exists(there) && !fs::is_regular_file(there) && !fs::is_directory(there);
}

int OpenWrittenThrough(const std::string& path) {
  if (const std::optional<int> descriptor = DescriptorOf(path)) {
    return ::fcntl(*descriptor, F_DUPFD_CLOEXEC, 0);
  }
  return ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
}

std::string ReplacedFile(const std::string& path) {
  std::error_code error;
  fs::path file = path;
  for (int link = 0; link < kMaxLinks; ++link) {
    if (!fs::is_symlink(fs::symlink_status(file, error))) return file.string();
    const fs::path to = fs::read_symlink(file, error);
    if (error) break;
    file = to.is_absolute() ? to : PlaceOf(file) / to;
  }
  return path;
}

Status CheckReplaceable(const std::string& path) {
  std::error_code ignored;
  const fs::file_status there = fs::symlink_status(path, ignored);
  if (fs::exists(there) && !fs::is_regular_file(there)) {
    return UsageError("{} is {}; name a file", path, KindOf(there.type()));
  }
  return CheckFolder(path);
}

Status WriteOutput(const std::string& path, std::string_view text) {
  if (!IsWrittenThrough(path)) return WriteFileDurably(ReplacedFile(path), text);
  const int file = OpenWrittenThrough(path);
  if (file < 0) return StatusFromErrno(errno, "write", path);
  Status written = WriteAll(file, text, path);
  if (::close(file) != 0 && written.ok()) written = StatusFromErrno(errno, "close", path);
  return written;
}

Status CheckWritable(const std::string& path) {
  const std::optional<int> descriptor = DescriptorOf(path);
  if (descriptor && ::fcntl(*descriptor, F_GETFD) < 0) {
    return UsageError("{}: no such descriptor is open; name a file", path);
  }
  if (IsWrittenThrough(path)) return OkStatus();
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) return UsageError("{} is a directory; name a file", path);
  return CheckFolder(path);
}

}  // namespace rowhouse
