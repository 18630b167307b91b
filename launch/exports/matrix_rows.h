// MatrixRows: the rows of one table in a file that is larger than memory, for many rows at a time.
//
// Rows are read in the order of the file. Two that lie less than kGapBytes apart come by one read:
// a disk reads such a gap in less time than it takes to begin a read. So a batch of many rows costs
// at most one pass over the file, at the disk's best speed, where mapped pages would come one by
// one. Reads bypass the system's page cache where the file system lets them, and take
// kReaders x kReadBytes of memory.
//
// Threads: any, after Open.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "common/status.h"
#include "common/types.h"

namespace rowhouse {

class MatrixRows {
 public:
  static constexpr uint64_t kGapBytes = uint64_t{128} << 10;
  static constexpr uint64_t kReadBytes = uint64_t{1} << 20;  // of one read
  static constexpr size_t kReaders = 4;                      // reads under way

  // The last rows * BytesOfRow(bits, dim) bytes of the file are its rows. Requires a file of at
  // least `rows` rows.
  static Result<std::unique_ptr<MatrixRows>> Open(const std::string& path, uint64_t rows,
                                                  uint32_t bits, uint32_t dim);
  ~MatrixRows();
  MatrixRows(const MatrixRows&) = delete;
  MatrixRows& operator=(const MatrixRows&) = delete;

  // out = the rows as they are stored, rows x row_bytes(). Requires ascending rows. kCorruption,
  // naming the file, if it has become shorter.
  Status Read(std::span<const RowId> rows, std::span<std::byte> out) const;

  // out = all rows, as they are stored.
  Status ReadAll(std::span<std::byte> out) const;

  uint32_t bits() const { return bits_; }
  size_t row_bytes() const { return row_bytes_; }
  uint64_t bytes_read() const { return bytes_read_; }  // since it was opened

 private:
  // Rows [first, end) of a batch, which one read brings: bytes [begin, begin + bytes) of the file.
  struct Piece {
    size_t first = 0, end = 0;
    uint64_t begin = 0, bytes = 0;
  };
  MatrixRows(std::string path, int fd) : path_(std::move(path)), fd_(fd) {}
  std::vector<Piece> PiecesOf(std::span<const RowId> rows) const;
  // Fills `out` but for what lies beyond the last row. Requires addresses that are multiples of
  // kAlignment.
  Status ReadAt(uint64_t begin, std::span<std::byte> out) const;

  const std::string path_;
  const int fd_;
  uint64_t first_byte_ = 0, end_ = 0;  // of the rows
  uint32_t bits_ = 0;
  size_t row_bytes_ = 0;
  mutable std::atomic<uint64_t> bytes_read_ = 0;
};

}  // namespace rowhouse
