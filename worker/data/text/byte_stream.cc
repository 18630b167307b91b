#include "worker/data/text/byte_stream.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>
#include <zlib.h>
#include <zstd.h>
#include <zstd_errors.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>
#include <utility>

namespace rowhouse {

// gzip (zlib) or zstd (libzstd) as a stream.
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

namespace {

constexpr size_t kInputBytes = size_t{1} << 20;  // of compressed bytes read at once
constexpr size_t kHeadBytes = 4;                 // tell the compression
constexpr std::string_view kGzipMagic("\x1f\x8b", 2);
constexpr std::string_view kZstdMagic("\x28\xb5\x2f\xfd", 4);

class Gzip final : public Decompressor {
 public:
  Gzip() { CHECK_EQ(inflateInit2(&stream_, kGzipOnly), Z_OK); }
  ~Gzip() override { inflateEnd(&stream_); }

  const char* name() const override { return "gzip"; }
  bool is_whole() const override { return is_at_member_end_; }

  Result<size_t> Decompress(std::string_view* input, char* output, size_t size) override {
    if (is_at_member_end_) {
      // Members may follow each other; zeros that pad the file mean nothing, as to gzip itself.
      input->remove_prefix(std::min(input->find_first_not_of('\0'), input->size()));
      if (input->empty()) return size_t{0};
      if (input->front() != kGzipMagic[0]) {
        return UsageError("has bytes after the end of its gzip data; compress it anew");
      }
      inflateReset(&stream_);
      is_at_member_end_ = false;
    }
    constexpr size_t kMax = std::numeric_limits<uInt>::max();
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(input->data()));
    stream_.avail_in = static_cast<uInt>(std::min(input->size(), kMax));
    const uInt offered = stream_.avail_in;
    stream_.next_out = reinterpret_cast<Bytef*>(output);
    stream_.avail_out = static_cast<uInt>(std::min(size, kMax));
    const uInt room = stream_.avail_out;
    const int result = inflate(&stream_, Z_NO_FLUSH);
    input->remove_prefix(offered - stream_.avail_in);
    if (result == Z_STREAM_END) {
      is_at_member_end_ = true;
    } else if (result != Z_OK && result != Z_BUF_ERROR) {
      return UsageError("has damaged gzip data ({}); copy it anew",
                        stream_.msg != nullptr ? stream_.msg : "unknown form");
    }
    return static_cast<size_t>(room - stream_.avail_out);
  }

 private:
  static constexpr int kGzipOnly = 15 + 16;  // zlib's window bits, and 16 for gzip's header

  z_stream stream_ = {};
  bool is_at_member_end_ = false;
};

class Zstd final : public Decompressor {
 public:
  Zstd() : context_(ZSTD_createDCtx(), &ZSTD_freeDCtx) {
    ZSTD_DCtx_setParameter(context_.get(), ZSTD_d_windowLogMax, kWindowLog);
  }

  const char* name() const override { return "zstd"; }
  bool is_whole() const override { return is_at_frame_end_; }

  Result<size_t> Decompress(std::string_view* input, char* output, size_t size) override {
    ZSTD_inBuffer in = {input->data(), input->size(), 0};
    ZSTD_outBuffer out = {output, size, 0};
    const size_t result = ZSTD_decompressStream(context_.get(), &out, &in);
    if (ZSTD_getErrorCode(result) == ZSTD_error_frameParameter_windowTooLarge) {
      return UsageError(
          "takes more than {} MiB to decompress (zstd --long); compress it with --long={} or less",
          (1 << kWindowLog) >> 20, kWindowLog);
    }
    if (ZSTD_isError(result)) {
      return UsageError("has damaged zstd data ({}); copy it anew", ZSTD_getErrorName(result));
    }
    // A call without input begins the next frame, which changes nothing if there is none.
    if (in.pos > 0 || out.pos > 0) is_at_frame_end_ = result == 0;
    input->remove_prefix(in.pos);
    return out.pos;
  }

 private:
  // What all levels of the program zstd keep within; 31 would be 2 GiB for a file of few bytes.
  static constexpr int kWindowLog = 27;

  std::unique_ptr<ZSTD_DCtx, size_t (*)(ZSTD_DCtx*)> context_;
  bool is_at_frame_end_ = false;
};

}  // namespace

std::unique_ptr<Decompressor> Decompressor::ForHead(std::string_view head) {
  if (head.starts_with(kGzipMagic)) return std::make_unique<Gzip>();
  if (head.starts_with(kZstdMagic)) return std::make_unique<Zstd>();
  return nullptr;
}

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

const char* ByteStream::compression() const { return decompressor_ ? decompressor_->name() : ""; }

std::string ByteStream::digest() const {
  return fmt::format("{:016x}", XXH3_64bits_digest(hash_.get()));
}

}  // namespace rowhouse
