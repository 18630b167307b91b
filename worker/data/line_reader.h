// LineReader: a text file line by line in bounded memory, with errors an operator can act on.
//
// Threads: one thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "common/status.h"

struct XXH3_state_s;

namespace rowhouse {

class LineReader {
 public:
  static constexpr size_t kMaxLineBytes = size_t{1} << 20;

  // kUsage, naming the file and the reason, if it is missing, forbidden or a directory.
  static Result<LineReader> Open(const std::string& path);
  LineReader(LineReader&& other) noexcept;
  LineReader& operator=(LineReader&&) = delete;
  ~LineReader();

  // Gives the next line, without its end (LF or CRLF), in *line, valid until the next call; false
  // at the end of the file. The last line needs no line end. kUsage if a line is longer than
  // kMaxLineBytes, kIoError if the file cannot be read.
  Result<bool> Next(std::string_view* line);

  // Of the line that Next() gave last, from 1.
  uint64_t line_number() const { return line_number_; }

  // XXH3-64, as hex, of the bytes read so far: of the whole file once Next() has given false.
  std::string digest() const;

 private:
  LineReader(std::string path, int file);
  // Moves the unread bytes to the front of the buffer and reads more behind them.
  Status Fill();

  std::string path_;
  int file_;
  std::vector<char> buffer_;
  size_t begin_ = 0;  // bytes that Next() has not given yet: [begin_, end_) of buffer_
  size_t end_ = 0;
  bool at_end_ = false;  // the file has no more
  uint64_t line_number_ = 0;
  std::unique_ptr<XXH3_state_s, void (*)(XXH3_state_s*)> hash_;
};

}  // namespace rowhouse
