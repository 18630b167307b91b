// MatrixFile: a matrix of floats written row by row, as .npy (numpy.load) or as text with tabs.
//
//   npy  format 1.0, '<f4', C order; the values begin at a multiple of 64 bytes. Quantised
//        (common/kernels/quantised_rows.h): '<f2' in 16 bits; else '|u1', the bytes of each row
//   tsv  a line a row: its number, then its values, with as many digits as it takes to read them
//        back
//
// Threads: one.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "common/kernels/quantised_rows.h"
#include "common/status.h"

namespace rowhouse {

// "npy", "tsv"
const std::vector<std::string>& MatrixFormats();

// Bytes that a matrix takes in a format; of tsv a guess that is seldom too low.
double BytesOfMatrix(const std::string& format, uint64_t rows, uint64_t columns,
                     uint32_t bits = kFloatBits);

class MatrixFile {
 public:
  // Makes the file, or empties it. `is_vector`: a .npy of one dimension, for columns == 1. `bits`
  // of a number: rows of .npy are quantised as they are written. Requires a name of
  // MatrixFormats().
  static Result<std::unique_ptr<MatrixFile>> Create(const std::string& path,
                                                    const std::string& format, uint64_t rows,
                                                    uint64_t columns, bool is_vector = false,
                                                    uint32_t bits = kFloatBits);
  ~MatrixFile();
  MatrixFile(const MatrixFile&) = delete;
  MatrixFile& operator=(const MatrixFile&) = delete;

  // Requires whole rows. kResourceExhausted if the disk is full; kUsage, naming the row, for one
  // that cannot be quantised.
  Status Append(std::span<const float> values);

  // To be called after the last row: writes what is left and syncs it.
  Status Finish();

 private:
  MatrixFile(std::string path, bool is_npy, uint64_t rows, uint64_t columns, uint32_t bits)
      : path_(std::move(path)), is_npy_(is_npy), rows_(rows), columns_(columns), bits_(bits) {}
  Status WriteText();

  const std::string path_;
  const bool is_npy_;
  const uint64_t rows_, columns_;
  const uint32_t bits_;
  uint64_t next_row_ = 0;
  int fd_ = -1;
  std::string text_;  // that is not written yet
};

}  // namespace rowhouse
