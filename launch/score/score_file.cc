#include "launch/score/score_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <iterator>

#include "common/durable_file.h"
#include "common/output_path.h"

namespace rowhouse {
namespace {

// Text is handed to the system in pieces of about this size.
constexpr size_t kBufferBytes = size_t{1} << 20;

}  // namespace

Result<std::unique_ptr<ScoreFile>> ScoreFile::Create(const std::string& path) {
  std::unique_ptr<ScoreFile> file(new ScoreFile(path));
  if (path == "-") {
    file->is_stream_ = true;
    file->fd_ = STDOUT_FILENO;
    return file;
  }
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) {
    return UsageError("--out={}: is a directory; name a file", path);
  }
  // A device or a pipe is written to; only a file is replaced.
  file->is_stream_ = IsWrittenThrough(path);
  if (file->is_stream_) {
    file->fd_ = OpenWrittenThrough(path);
    if (file->fd_ >= 0) return file;
    return UsageError("--out={}: {}", path, StatusFromErrno(errno, "write", path).message());
  }
  file->path_ = ReplacedFile(path);
  file->fd_ = ::open(file->partial_path().c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (file->fd_ < 0) {
    return UsageError("--out={}: {}", path,
                      StatusFromErrno(errno, "write", file->partial_path()).message());
  }
  return file;
}

ScoreFile::~ScoreFile() {
  if (fd_ < 0 || fd_ == STDOUT_FILENO) return;
  ::close(fd_);
  if (!is_stream_) ::unlink(partial_path().c_str());
}

Status ScoreFile::Append(std::span<const float> scores, std::span<const float> labels) {
  auto out = std::back_inserter(text_);
  for (size_t i = 0; i < scores.size(); ++i) {
    if (labels.empty()) {
      fmt::format_to(out, "{}\n", scores[i]);
    } else {
      fmt::format_to(out, "{}\t{}\n", scores[i], labels[i]);
    }
  }
  return text_.size() < kBufferBytes ? OkStatus() : WriteText();
}

Status ScoreFile::WriteText() {
  for (std::string_view rest = text_; !rest.empty();) {
    const ssize_t written = ::write(fd_, rest.data(), rest.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0)
      return StatusFromErrno(errno, "write", fd_ == STDOUT_FILENO ? "standard output" : path_);
    rest.remove_prefix(static_cast<size_t>(written));
  }
  text_.clear();
  return OkStatus();
}

Status ScoreFile::Finish() {
  RETURN_IF_ERROR(WriteText());
  if (is_stream_) return OkStatus();
  if (::fsync(fd_) != 0) return StatusFromErrno(errno, "fsync", partial_path());
  if (::rename(partial_path().c_str(), path_.c_str()) != 0) {
    return StatusFromErrno(errno, "rename to", path_);
  }
  ::close(fd_);
  fd_ = -1;
  return OkStatus();
}

}  // namespace rowhouse
