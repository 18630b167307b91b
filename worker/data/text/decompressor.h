// Decompressor: gzip (zlib) and zstd (libzstd) as streams.
//
// Threads: one thread.
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>

#include "common/status.h"

namespace rowhouse {

class Decompressor {
 public:
  // For a file that begins with `head`; null if it is neither gzip nor zstd.
  static std::unique_ptr<Decompressor> ForHead(std::string_view head);
  virtual ~Decompressor() = default;

  // Takes bytes from the front of *input and writes up to `size` bytes to `output`; returns how
  // many. 0 with an empty *input: it needs more. kUsage, as the rest of a sentence about the file,
  // if the bytes are damaged.
  virtual Result<size_t> Decompress(std::string_view* input, char* output, size_t size) = 0;

  // Whether the bytes taken so far are whole: the file may end here.
  virtual bool is_whole() const = 0;

  virtual const char* name() const = 0;  // "gzip"
};

}  // namespace rowhouse
