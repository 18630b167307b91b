// CriteoReader: Criteo's display advertising data, line by line, from one file or from a file a
// day; and how many rows tables need for it.
//
// Files. data_set `kaggle`: `file` is one. `terabyte`: `file` is what the names of a file a day
// begin with, "day" for day_0, day_1, ... up to day_23, of which the first ones are enough; they
// are read as one, in this order. A file of just this name is read by itself.
//
// Threads: one.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "common/status.h"
#include "worker/data/criteo_line.h"
#include "worker/data/dataset.h"
#include "worker/data/line_reader.h"

namespace rowhouse {

class CriteoReader {
 public:
  // kUsage, naming the file, if one is missing or cannot be read.
  static Result<CriteoReader> Open(const std::string& file, const std::string& data_set);

  // The next line in *line; false at the end of the last file. kUsage
  // "FILE:LINE:COLUMN: what is wrong" for a line that is none of Criteo's; empty lines may end a
  // file and stand nowhere else.
  Result<bool> Next(CriteoLine* line);

  // A digest, as hex, of the bytes of the files: of all once Next() has given false.
  std::string digest() const;

 private:
  explicit CriteoReader(std::vector<std::string> files) : files_(std::move(files)) {}

  std::vector<std::string> files_;
  size_t next_file_ = 0;
  std::optional<LineReader> reader_;  // of files_[next_file_ - 1]
  std::vector<std::string> digests_;  // of the files that have been read
  uint64_t blank_line_ = 0;           // the first of the blank lines that may end it
};

// Rows that each table needs for `file`: as many as its column has different tokens, modulo
// max_ind_range where that is above 0. Reads the data once. kUsage as CriteoReader, and for data
// without a line. Needs memory for all different tokens.
Result<std::vector<uint64_t>> CountCriteoIds(const DatasetOptions& options);

// The number of a token: its hex digits, modulo max_ind_range where that is above 0.
inline uint32_t CriteoToken(uint32_t token, int64_t max_ind_range) {
  if (max_ind_range <= 0) return token;
  return static_cast<uint32_t>(token % static_cast<uint64_t>(max_ind_range));
}

}  // namespace rowhouse
