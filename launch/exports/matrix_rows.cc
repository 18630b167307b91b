#include "launch/exports/matrix_rows.h"

#include <fcntl.h>
#include <glog/logging.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <thread>

#include "common/durable_file.h"
#include "common/kernels/quantised_rows.h"
#include "ps/cache/page_memory.h"

namespace rowhouse {
namespace {

constexpr uint64_t kAlignment = 4096;  // of reads that bypass the page cache

constexpr uint64_t RoundDown(uint64_t bytes) { return bytes / kAlignment * kAlignment; }
constexpr uint64_t RoundUp(uint64_t bytes) { return RoundDown(bytes + kAlignment - 1); }

}  // namespace

Result<std::unique_ptr<MatrixRows>> MatrixRows::Open(const std::string& path, uint64_t rows,
                                                     uint32_t bits, uint32_t dim) {
  int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_DIRECT);
  // Some file systems, such as that of memory, know no O_DIRECT.
  if (fd < 0 && errno == EINVAL) fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return StatusFromErrno(errno, "open", path);
  std::unique_ptr<MatrixRows> file(new MatrixRows(path, fd));
  struct stat stat {};
  if (fstat(fd, &stat) != 0) return StatusFromErrno(errno, "look at", path);
  file->bits_ = bits;
  file->row_bytes_ = BytesOfRow(bits, dim);
  file->end_ = static_cast<uint64_t>(stat.st_size);
  CHECK_GE(file->end_, rows * file->row_bytes_);
  file->first_byte_ = file->end_ - rows * file->row_bytes_;
  return file;
}

MatrixRows::~MatrixRows() { ::close(fd_); }

Status MatrixRows::ReadAt(uint64_t begin, std::span<std::byte> out) const {
  const uint64_t due = std::min<uint64_t>(out.size(), end_ - begin);
  for (uint64_t done = 0; done < due;) {
    const ssize_t got =
        ::pread(fd_, out.data() + done, out.size() - done, static_cast<off_t>(begin + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return StatusFromErrno(errno, "read", path_);
    done += static_cast<uint64_t>(got);
    bytes_read_ += static_cast<uint64_t>(got);
    // Only at the end of a file is a direct read no multiple of the alignment.
    if (done < due && (got == 0 || done % kAlignment != 0)) {
      return CorruptionError("{} ends after {} bytes and had {} when it was opened", path_,
                             begin + done, end_);
    }
  }
  return OkStatus();
}

std::vector<MatrixRows::Piece> MatrixRows::PiecesOf(std::span<const RowId> rows) const {
  std::vector<Piece> pieces;
  for (size_t r = 0; r < rows.size(); ++r) {
    const uint64_t first = first_byte_ + Raw(rows[r]) * row_bytes_, end = first + row_bytes_;
    CHECK_LE(end, end_);
    const bool goes_on = !pieces.empty() &&
                         first <= pieces.back().begin + pieces.back().bytes + kGapBytes &&
                         end - pieces.back().begin <= kReadBytes;
    if (!goes_on) pieces.push_back({.first = r, .begin = RoundDown(first)});
    pieces.back().end = r + 1;
    pieces.back().bytes = RoundUp(end) - pieces.back().begin;
  }
  return pieces;
}

Status MatrixRows::Read(std::span<const RowId> rows, std::span<std::byte> out) const {
  CHECK_EQ(out.size(), rows.size() * row_bytes_);
  const std::vector<Piece> pieces = PiecesOf(rows);
  std::atomic<size_t> next = 0;
  const auto read = [&]() -> Status {
    PageMemory memory(std::max(kReadBytes, RoundUp(row_bytes_ + kAlignment)));
    for (size_t p = next++; p < pieces.size(); p = next++) {
      const Piece& piece = pieces[p];
      RETURN_IF_ERROR(ReadAt(piece.begin, std::span(memory.data(), piece.bytes)));
      for (size_t r = piece.first; r < piece.end; ++r) {
        const uint64_t at = first_byte_ + Raw(rows[r]) * row_bytes_ - piece.begin;
        std::memcpy(out.data() + r * row_bytes_, memory.data() + at, row_bytes_);
      }
    }
    return OkStatus();
  };
  // One thread's reads wait for each other.
  std::vector<Status> statuses(std::clamp<size_t>(pieces.size(), 1, kReaders));
  std::vector<std::thread> threads;
  for (size_t t = 1; t < statuses.size(); ++t) {
    threads.emplace_back([&, t] { statuses[t] = read(); });
  }
  statuses[0] = read();
  for (std::thread& thread : threads) thread.join();
  for (const Status& status : statuses) RETURN_IF_ERROR(status);
  return OkStatus();
}

Status MatrixRows::ReadAll(std::span<std::byte> out) const {
  CHECK_EQ(out.size(), end_ - first_byte_);
  PageMemory memory(kReadBytes);
  for (uint64_t begin = RoundDown(first_byte_); begin < end_; begin += kReadBytes) {
    RETURN_IF_ERROR(ReadAt(begin, std::span(memory.data(), kReadBytes)));
    const uint64_t first = std::max(begin, first_byte_), end = std::min(begin + kReadBytes, end_);
    std::memcpy(out.data() + (first - first_byte_), memory.data() + (first - begin), end - first);
  }
  return OkStatus();
}

}  // namespace rowhouse
