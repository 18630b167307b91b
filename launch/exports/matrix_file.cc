#include "launch/exports/matrix_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <glog/logging.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <iterator>

#include "common/durable_file.h"

namespace rowhouse {
namespace {

constexpr size_t kBufferBytes = size_t{1} << 20;
// "-0.012345678" and a tab.
constexpr double kTextBytesOfValue = 13.0;

// https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html
std::string NpyHeader(const std::string& type, const std::string& shape) {
  constexpr size_t kAlignment = 64, kPrefix = 10;
  std::string text =
      fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}", type, shape);
  const size_t bytes = (kPrefix + text.size() + 1 + kAlignment - 1) / kAlignment * kAlignment;
  text.append(bytes - kPrefix - text.size() - 1, ' ');
  text += '\n';
  std::string header("\x93NUMPY\x01\x00", 8);
  header += static_cast<char>(text.size() & 0xff);
  header += static_cast<char>(text.size() >> 8);
  return header + text;
}

}  // namespace

const std::vector<std::string>& MatrixFormats() {
  static const std::vector<std::string> formats = {"npy", "tsv"};
  return formats;
}

double BytesOfMatrix(const std::string& format, uint64_t rows, uint64_t columns, uint32_t bits) {
  const double values = static_cast<double>(rows) * static_cast<double>(columns);
  return format == "npy"
             ? static_cast<double>(rows) * static_cast<double>(BytesOfRow(bits, columns))
             : values * kTextBytesOfValue + static_cast<double>(rows) * 8.0;
}

Result<std::unique_ptr<MatrixFile>> MatrixFile::Create(const std::string& path,
                                                       const std::string& format, uint64_t rows,
                                                       uint64_t columns, bool is_vector,
                                                       uint32_t bits) {
  CHECK_EQ(std::ranges::count(MatrixFormats(), format), 1) << format;
  CHECK(!is_vector || columns == 1);
  CHECK(bits == kFloatBits || format == "npy");
  std::unique_ptr<MatrixFile> file(new MatrixFile(path, format == "npy", rows, columns, bits));
  file->fd_ = ::open(path.c_str(), O_WRONLY | O_CREAT | O_NOFOLLOW | O_TRUNC | O_CLOEXEC, 0644);
  if (file->fd_ < 0) return StatusFromErrno(errno, "write", path);
  if (file->is_npy_) {
    const uint64_t width = bits < 16 ? BytesOfRow(bits, columns) : columns;
    file->text_ =
        NpyHeader(bits == kFloatBits ? "<f4"
                  : bits == 16       ? "<f2"
                                     : "|u1",
                  is_vector ? fmt::format("{},", rows) : fmt::format("{}, {}", rows, width));
  }
  return file;
}

MatrixFile::~MatrixFile() {
  if (fd_ >= 0) ::close(fd_);
}

Status MatrixFile::Append(std::span<const float> values) {
  CHECK_EQ(values.size() % columns_, 0u);
  const uint64_t rows = values.size() / columns_;
  if (bits_ != kFloatBits) {
    const size_t at = text_.size();
    text_.resize(at + rows * BytesOfRow(bits_, columns_));
    RETURN_IF_ERROR(QuantiseRows(bits_, next_row_, values, columns_,
                                 std::as_writable_bytes(std::span(text_).subspan(at))));
  } else if (is_npy_) {
    text_.append(reinterpret_cast<const char*>(values.data()), values.size_bytes());
  } else {
    auto out = std::back_inserter(text_);
    for (uint64_t r = 0; r < rows; ++r) {
      fmt::format_to(out, "{}", next_row_ + r);
      for (const float value : values.subspan(r * columns_, columns_)) {
        fmt::format_to(out, "\t{}", value);
      }
      text_ += '\n';
    }
  }
  next_row_ += rows;
  return text_.size() < kBufferBytes ? OkStatus() : WriteText();
}

Status MatrixFile::WriteText() {
  RETURN_IF_ERROR(WriteAll(fd_, text_, path_));
  text_.clear();
  return OkStatus();
}

Status MatrixFile::Finish() {
  CHECK_EQ(next_row_, rows_);
  RETURN_IF_ERROR(WriteText());
  if (::fsync(fd_) != 0) return StatusFromErrno(errno, "fsync", path_);
  const int fd = fd_;
  fd_ = -1;
  return ::close(fd) == 0 ? OkStatus() : StatusFromErrno(errno, "close", path_);
}

}  // namespace rowhouse
