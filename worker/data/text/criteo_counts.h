// How many rows the tables of Criteo's data need.
//
// Threads: CountCriteoIds on any; a TokenSet on one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "common/status.h"
#include "worker/data/dataset.h"

namespace rowhouse {

// How many different 32-bit tokens there are, exactly, in 2 bytes a token and at most 512 MiB: a
// set of 16-bit halves for each upper half, as a sorted array or, when that would be larger, as
// bits. After Roaring bitmaps (Chambi, Lemire et al., 2016).
class TokenSet {
 public:
  TokenSet() : parts_(kParts) {}

  void Add(uint32_t token);
  uint64_t size() const { return size_; }

 private:
  static constexpr size_t kParts = size_t{1} << 16;
  static constexpr size_t kBitWords = kParts / 16;  // 16-bit words of a part that is bits

  std::vector<std::vector<uint16_t>> parts_;  // by upper half: sorted, or kBitWords words of bits
  uint64_t size_ = 0;
};

// Rows that each table needs for options.file: the number of different tokens in its column, modulo
// max_ind_range if that is above 0. Reads the text once; holds 2 bytes for each different token of
// a column. kUsage as TextChunks and the format, for more than max_bad_lines bad lines, and for
// data without a line.
Result<std::vector<uint64_t>> CountCriteoIds(const DatasetOptions& options);

}  // namespace rowhouse
