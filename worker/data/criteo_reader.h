// CriteoReader: Criteo's display advertising data, line by line, from one file or from one file a
// day; and how many rows its tables need.
//
// Files. With data_set `kaggle`, `file` is a path. With `terabyte`, `file` is the beginning of the
// names of daily files: "day" stands for day_0, day_1, ..., up to day_23 or the last that is there,
// read one after the other. If a file of just this name exists, it is read alone.
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
  // "FILE:LINE:COLUMN: what is wrong" for a line of another form. Empty lines are allowed only at
  // the end of a file.
  Result<bool> Next(CriteoLine* line);

  // A digest, as hex, of the bytes of all files. Requires that Next() has given false.
  std::string digest() const;

 private:
  explicit CriteoReader(std::vector<std::string> files) : files_(std::move(files)) {}

  std::vector<std::string> files_;
  size_t next_file_ = 0;
  std::optional<LineReader> reader_;  // of files_[next_file_ - 1]
  std::vector<std::string> digests_;  // of the files that have been read
  uint64_t blank_line_ = 0;           // number of the first empty line at the end; 0: none
};

// Rows that each table needs for `file`: the number of different tokens in its column, modulo
// max_ind_range if that is above 0. Reads the data once; holds all different tokens in memory.
// kUsage as CriteoReader, and for data without a line.
Result<std::vector<uint64_t>> CountCriteoIds(const DatasetOptions& options);

// A token's value, modulo max_ind_range if that is above 0.
inline uint32_t CriteoToken(uint32_t token, int64_t max_ind_range) {
  if (max_ind_range <= 0) return token;
  return static_cast<uint32_t>(token % static_cast<uint64_t>(max_ind_range));
}

}  // namespace rowhouse
