#include "worker/data/line_reader.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace rowhouse {

Result<LineReader> LineReader::Open(const std::string& path) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) {
    const int error = errno;
    return UsageError("cannot open \"{}\": {}{}", path, std::strerror(error),
                      error == ENOENT   ? "; check the path, relative ones start where the "
                                          "program was started"
                      : error == EACCES ? "; give this user the right to read it"
                                        : "");
  }
  LineReader reader(path, file);
  struct stat info;
  if (fstat(file, &info) == 0 && S_ISDIR(info.st_mode)) {
    return UsageError("\"{}\" is a directory; name the file in it", path);
  }
  return reader;
}

LineReader::LineReader(std::string path, int file)
    : path_(std::move(path)),
      file_(file),
      buffer_(kMaxLineBytes + 2),
      hash_(XXH3_createState(), [](XXH3_state_t* state) { XXH3_freeState(state); }) {
  XXH3_64bits_reset(hash_.get());
}

LineReader::LineReader(LineReader&& other) noexcept
    : path_(std::move(other.path_)),
      file_(std::exchange(other.file_, -1)),
      buffer_(std::move(other.buffer_)),
      begin_(other.begin_),
      end_(other.end_),
      at_end_(other.at_end_),
      line_number_(other.line_number_),
      hash_(std::move(other.hash_)) {}

LineReader::~LineReader() {
  if (file_ >= 0) close(file_);
}

Status LineReader::Fill() {
  std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
  end_ -= begin_;
  begin_ = 0;
  ssize_t got;
  do {
    got = read(file_, buffer_.data() + end_, buffer_.size() - end_);
  } while (got < 0 && errno == EINTR);
  if (got < 0) return IoError("cannot read \"{}\": {}", path_, std::strerror(errno));
  at_end_ = got == 0;
  XXH3_64bits_update(hash_.get(), buffer_.data() + end_, static_cast<size_t>(got));
  end_ += static_cast<size_t>(got);
  return OkStatus();
}

std::string LineReader::digest() const {
  return fmt::format("{:016x}", XXH3_64bits_digest(hash_.get()));
}

Result<bool> LineReader::Next(std::string_view* line) {
  for (size_t searched = 0;;) {
    const char* const start = buffer_.data() + begin_;
    const size_t size = end_ - begin_;
    const void* const found = std::memchr(start + searched, '\n', size - searched);
    if (found == nullptr && !at_end_) {
      if (size > kMaxLineBytes) {
        return UsageError("{}:{}: the line is longer than {} bytes; is this a text file?", path_,
                          line_number_ + 1, kMaxLineBytes);
      }
      searched = size;
      RETURN_IF_ERROR(Fill());
      continue;
    }
    if (found == nullptr && size == 0) return false;
    const size_t length =
        found == nullptr ? size : static_cast<size_t>(static_cast<const char*>(found) - start);
    begin_ += length + (found == nullptr ? 0 : 1);
    ++line_number_;
    *line = std::string_view(start, length);
    if (line->ends_with('\r')) line->remove_suffix(1);
    return true;
  }
}

}  // namespace rowhouse
