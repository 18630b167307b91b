#include "worker/data/text/byte_stream.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace rowhouse {
namespace {

constexpr size_t kInputBytes = size_t{1} << 20;  // of compressed bytes read at once
constexpr size_t kHeadBytes = 4;                 // tell the compression

}  // namespace

Result<std::unique_ptr<ByteStream>> ByteStream::Open(const std::string& path) {
  const bool is_stdin = path == "-";
  const int file =
      is_stdin ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3) : open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) {
    const int error = errno;
    return UsageError("cannot open \"{}\": {}{}", path, std::strerror(error),
                      error == ENOENT   ? "; check the path, relative ones start where the "
                                          "program was started"
                      : error == EACCES ? "; give this user the right to read it"
                                        : "");
  }
  struct stat info = {};
  const bool is_known = fstat(file, &info) == 0;
  if (is_known && S_ISDIR(info.st_mode)) {
    close(file);
    return UsageError("\"{}\" is a directory; name the file in it", path);
  }
  const bool has_size = is_known && S_ISREG(info.st_mode);
  // Read-ahead of the kernel; without it, reading goes on the same.
  if (has_size) posix_fadvise(file, 0, 0, POSIX_FADV_SEQUENTIAL);
  std::unique_ptr<ByteStream> stream(
      new ByteStream(path, file, has_size ? static_cast<uint64_t>(info.st_size) : 0));
  RETURN_IF_ERROR(stream->Begin());
  return stream;
}

ByteStream::ByteStream(std::string path, int file, uint64_t raw_size)
    : path_(std::move(path)),
      file_(file),
      raw_size_(raw_size),
      hash_(XXH3_createState(), [](XXH3_state_t* state) { XXH3_freeState(state); }) {
  XXH3_64bits_reset(hash_.get());
}

ByteStream::~ByteStream() { close(file_); }

Result<size_t> ByteStream::ReadRaw(char* buffer, size_t size) {
  if (raw_ended_ || size == 0) return size_t{0};
  ssize_t got;
  do {
    got = read(file_, buffer, size);
  } while (got < 0 && errno == EINTR);
  if (got < 0) return IoError("cannot read \"{}\": {}", path_, std::strerror(errno));
  raw_done_ += static_cast<uint64_t>(got);
  const bool grew = raw_size_ > 0 && raw_done_ > raw_size_;
  if (got == 0) raw_ended_ = true;
  if (grew || (got == 0 && raw_done_ < raw_size_)) {
    return UsageError(
        "\"{}\" {} while it was read: it had {} bytes when it was opened; give a file that nothing "
        "writes to",
        path_, grew ? "grew" : fmt::format("shrank to {} bytes", raw_done_), raw_size_);
  }
  return static_cast<size_t>(got);
}

Status ByteStream::Begin() {
  input_.resize(kHeadBytes);
  while (input_end_ < kHeadBytes && !raw_ended_) {
    ASSIGN_OR_RETURN(const size_t got,
                     ReadRaw(input_.data() + input_end_, kHeadBytes - input_end_));
    input_end_ += got;
  }
  decompressor_ = Decompressor::ForHead(std::string_view(input_.data(), input_end_));
  if (decompressor_ != nullptr) input_.resize(kInputBytes);
  return OkStatus();
}

Result<size_t> ByteStream::ReadDecompressed(char* buffer, size_t size) {
  for (;;) {
    std::string_view input(input_.data() + input_begin_, input_end_ - input_begin_);
    Result<size_t> made = decompressor_->Decompress(&input, buffer, size);
    if (!made.ok()) return UsageError("\"{}\" {}", path_, made.status().message());
    const bool was_used = input.size() < input_end_ - input_begin_;
    input_begin_ = input_end_ - input.size();
    if (made.value() > 0) return made;
    if (was_used && !input.empty()) continue;
    if (!input.empty()) {
      return UsageError("\"{}\" has damaged {} data; copy it anew", path_, decompressor_->name());
    }
    input_begin_ = input_end_ = 0;
    ASSIGN_OR_RETURN(input_end_, ReadRaw(input_.data(), input_.size()));
    if (input_end_ > 0) continue;
    if (decompressor_->is_whole()) return size_t{0};
    return UsageError("\"{}\" is truncated: its {} data have no end after {} bytes; copy it anew",
                      path_, decompressor_->name(), raw_done_);
  }
}

Result<size_t> ByteStream::Read(char* buffer, size_t size) {
  size_t filled = 0;
  while (filled < size) {
    size_t got = 0;
    if (decompressor_ != nullptr) {
      ASSIGN_OR_RETURN(got, ReadDecompressed(buffer + filled, size - filled));
    } else if (input_begin_ < input_end_) {
      got = std::min(size - filled, input_end_ - input_begin_);
      std::memcpy(buffer + filled, input_.data() + input_begin_, got);
      input_begin_ += got;
    } else {
      ASSIGN_OR_RETURN(got, ReadRaw(buffer + filled, size - filled));
    }
    if (got == 0) break;
    filled += got;
  }
  XXH3_64bits_update(hash_.get(), buffer, filled);
  return filled;
}

std::string ByteStream::digest() const {
  return fmt::format("{:016x}", XXH3_64bits_digest(hash_.get()));
}

}  // namespace rowhouse
