#include "worker/data/text/decompressor.h"

#include <zlib.h>
#include <zstd.h>
#include <zstd_errors.h>

#include <algorithm>
#include <limits>

namespace rowhouse {
namespace {

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
    constexpr size_t kMost = std::numeric_limits<uInt>::max();
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(input->data()));
    stream_.avail_in = static_cast<uInt>(std::min(input->size(), kMost));
    const uInt offered = stream_.avail_in;
    stream_.next_out = reinterpret_cast<Bytef*>(output);
    stream_.avail_out = static_cast<uInt>(std::min(size, kMost));
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

}  // namespace rowhouse
