// Bad records of a chunk as messages: "FILE:LINE:COLUMN: what is wrong; mend or remove the line".
//
// Threads: one thread.
#pragma once

#include <string_view>
#include <vector>

#include "worker/data/text/text_format.h"

namespace rowhouse {

class BadRecords {
 public:
  BadRecords(const TextChunk& chunk, std::vector<BadLine>* bad) : chunk_(chunk), bad_(*bad) {}

  // `record` and `position`: bytes of the chunk, where the record begins and where the mistake is.
  // Calls come in the order of records. `message` says what is wrong; the first record of a file
  // gets a guess of what the file is.
  void Add(size_t record, size_t position, std::string_view message);

  // An empty line before other lines.
  void AddEmpty(size_t record);

 private:
  // The line in the file that a byte of the chunk is on.
  uint64_t LineOf(size_t position);

  const TextChunk& chunk_;
  std::vector<BadLine>& bad_;
  size_t counted_to_ = 0;  // line ends before this byte are in lines_
  uint64_t lines_ = 0;
};

}  // namespace rowhouse
