// Frame: one block of bytes of a message, with one owner.
//
// A Frame made here is malloc'd and can be handed to ZeroMQ without a copy; a Frame received from
// ZeroMQ keeps the library's buffer alive. A Frame has its own bytes and never points into a cache.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace rowhouse {

// The largest frame of a message. Transports send none that is larger, and close the connection of
// a peer that does.
inline constexpr int64_t kMaxFrameBytes = 64 << 20;

class Frame {
 public:
  // Frees `data`; called once, on any thread.
  using Release = void (*)(void* data, void* hint);

  Frame() = default;
  // `bytes` uninitialised bytes, aligned for any scalar.
  explicit Frame(size_t bytes);
  // Takes ownership of `data`, which `release` frees.
  Frame(std::byte* data, size_t size, Release release, void* hint)
      : data_(data), size_(size), release_(release), hint_(hint) {}
  static Frame CopyOf(std::span<const std::byte> bytes);
  static Frame CopyOf(std::string_view text);

  Frame(Frame&& other) noexcept { *this = std::move(other); }
  Frame& operator=(Frame&& other) noexcept;
  Frame(const Frame&) = delete;
  Frame& operator=(const Frame&) = delete;
  ~Frame() { Reset(); }

  size_t size() const { return size_; }
  std::byte* data() { return data_; }
  const std::byte* data() const { return data_; }
  std::span<const std::byte> bytes() const { return {data_, size_}; }
  std::string_view text() const { return {reinterpret_cast<const char*>(data_), size_}; }

  // The bytes as an array of T. Requires size() % sizeof(T) == 0; the sizes of received frames are
  // checked before (wire/message.h). Frames made here and frames received are aligned for u64.
  template <typename T>
  std::span<const T> As() const {
    return {reinterpret_cast<const T*>(data_), size_ / sizeof(T)};
  }
  template <typename T>
  std::span<T> As() {
    return {reinterpret_cast<T*>(data_), size_ / sizeof(T)};
  }

 private:
  void Reset();

  std::byte* data_ = nullptr;
  size_t size_ = 0;
  Release release_ = nullptr;
  void* hint_ = nullptr;
};

using Frames = std::vector<Frame>;

}  // namespace rowhouse
