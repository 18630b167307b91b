#include "launch/score/score_file.h"

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
  std::unique_ptr<ScoreFile> file(new ScoreFile(path == "-" ? "standard output" : path));
  if (path == "-") {
    file->stream_ = STDOUT_FILENO;
    return file;
  }
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) {
    return UsageError("--out={}: is a directory; name a file", path);
  }
  // A device or a pipe is written to; only a file is replaced.
  if (IsWrittenThrough(path)) {
    file->stream_ = OpenWrittenThrough(path);
    if (file->stream_ >= 0) return file;
    return UsageError("--out={}: {}", path, StatusFromErrno(errno, "write", path).message());
  }
  Result<std::unique_ptr<NewFile>> made = NewFile::Make(ReplacedFile(path));
  if (!made.ok()) return UsageError("--out={}: {}", path, made.status().message());
  file->file_ = std::move(made).value();
  return file;
}

ScoreFile::~ScoreFile() {
  if (stream_ >= 0 && stream_ != STDOUT_FILENO) ::close(stream_);
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
  RETURN_IF_ERROR(file_ ? file_->Append(text_) : WriteAll(stream_, text_, path_));
  text_.clear();
  return OkStatus();
}

Status ScoreFile::Finish() {
  RETURN_IF_ERROR(WriteText());
  return file_ ? file_->Commit() : OkStatus();
}

}  // namespace rowhouse
