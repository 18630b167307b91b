#include "common/frame.h"

#include <glog/logging.h>

#include <cstdlib>

namespace rowhouse {
namespace {

void FreeFrame(void* data, void* /*hint*/) { std::free(data); }

}  // namespace

Frame::Frame(size_t bytes) : size_(bytes) {
  if (bytes == 0) return;
  data_ = static_cast<std::byte*>(std::malloc(bytes));
  CHECK(data_ != nullptr) << "no memory for a frame of " << bytes << " bytes";
  release_ = &FreeFrame;
}

Frame Frame::CopyOf(std::span<const std::byte> bytes) {
  Frame frame(bytes.size());
  // memcpy's arguments must not be null even for no bytes.
  if (!bytes.empty()) std::memcpy(frame.data_, bytes.data(), bytes.size());
  return frame;
}

Frame Frame::CopyOf(std::string_view text) {
  return CopyOf(std::as_bytes(std::span(text.data(), text.size())));
}

Frame& Frame::operator=(Frame&& other) noexcept {
  if (this == &other) return *this;
  Reset();
  data_ = std::exchange(other.data_, nullptr);
  size_ = std::exchange(other.size_, 0);
  release_ = std::exchange(other.release_, nullptr);
  hint_ = std::exchange(other.hint_, nullptr);
  return *this;
}

void Frame::Reset() {
  if (release_ != nullptr) release_(data_, hint_);
  data_ = nullptr;
  size_ = 0;
  release_ = nullptr;
  hint_ = nullptr;
}

}  // namespace rowhouse
