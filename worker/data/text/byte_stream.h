// ByteStream: the bytes of a file from its beginning to its end, uncompressed: plain files, gzip
// and zstd (known by their first bytes, whatever the file is called), and "-", standard input.
//
// Threads: one thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "common/status.h"

struct XXH3_state_s;

namespace rowhouse {

class Decompressor;

class ByteStream {
 public:
  // kUsage, naming the file and the reason, if it is missing, forbidden or a directory.
  static Result<std::unique_ptr<ByteStream>> Open(const std::string& path);
  ~ByteStream();
  ByteStream(const ByteStream&) = delete;
  ByteStream& operator=(const ByteStream&) = delete;

  // Fills [buffer, buffer + size), or less at the end of the stream; returns how many bytes. kUsage
  // for a file that is not what it was when it was opened (it shrank or grew) or whose compressed
  // bytes are truncated or damaged; kIoError if it cannot be read.
  Result<size_t> Read(char* buffer, size_t size);

  // As it lies on disk: read so far, and of the whole file; 0 if that is not known (a pipe).
  uint64_t bytes_done() const { return raw_done_; }
  uint64_t bytes_total() const { return raw_size_; }

  // XXH3-64, as hex, of the uncompressed bytes read so far.
  std::string digest() const;

  // "as gzip", ... or "" for a file that is not compressed.
  const char* compression() const;

 private:
  ByteStream(std::string path, int file, uint64_t raw_size);
  // Up to `size` bytes of the file as they are; 0 at its end.
  Result<size_t> ReadRaw(char* buffer, size_t size);
  Result<size_t> ReadDecompressed(char* buffer, size_t size);
  // Reads the first bytes, which tell whether the file is compressed.
  Status Begin();

  const std::string path_;
  const int file_;
  const uint64_t raw_size_;  // when it was opened
  uint64_t raw_done_ = 0;
  bool raw_ended_ = false;
  std::unique_ptr<Decompressor> decompressor_;
  std::string input_;  // raw bytes read ahead: [input_begin_, input_end_)
  size_t input_begin_ = 0, input_end_ = 0;
  std::unique_ptr<XXH3_state_s, void (*)(XXH3_state_s*)> hash_;
};

}  // namespace rowhouse
