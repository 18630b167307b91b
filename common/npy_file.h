// NpyFile: a NumPy array file (.npy, format 1, 2 or 3) of two dimensions, read by rows.
//
// Takes what np.save writes of a C-ordered matrix of little-endian f4 or f8; f8 is rounded to f32.
// Open() checks the header, and that the file is exactly as long as the header says, and looks at
// no values. kUsage, naming the file, what it holds and what is needed, for any other file.
//
// Rows are read with pread(2), not through a mapping. If another program truncates the file, pread
// reports it and Read returns an error; a mapping would end the process with SIGBUS. Both read from
// the page cache.
// Threads: const after Open; any.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "common/status.h"

namespace rowhouse {

class NpyFile {
 public:
  static Result<std::shared_ptr<const NpyFile>> Open(const std::string& path);
  ~NpyFile();
  NpyFile(const NpyFile&) = delete;
  NpyFile& operator=(const NpyFile&) = delete;

  const std::string& path() const { return path_; }
  uint64_t rows() const { return rows_; }
  uint64_t columns() const { return columns_; }
  uint64_t bytes() const { return bytes_; }  // of the file, header included

  // XXH3-64 of the whole file, hex. Reads all of it. kIoError as Read.
  Result<std::string> Checksum() const;

  // out = rows [first, first + out.size() / columns()), row after row. kIoError, naming the file,
  // if they are no longer there. Requires whole rows of the file.
  Status Read(uint64_t first, std::span<float> out) const;

 private:
  NpyFile(const std::string& path, int fd) : path_(path), fd_(fd) {}

  Status ReadHeader();
  Status ReadBytes(uint64_t at, std::span<std::byte> out) const;

  const std::string path_;
  const int fd_;
  uint64_t rows_ = 0, columns_ = 0, bytes_ = 0;
  uint64_t data_at_ = 0;        // file offset of row 0
  uint32_t element_bytes_ = 0;  // 4 or 8
};

}  // namespace rowhouse
