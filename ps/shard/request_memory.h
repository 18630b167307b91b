// RequestMemory: bytes that the requests of a PS node hold: pulls that wait or are being answered,
// and pushes whose step is not applied yet. All shards of a node share it, so that what their peers
// send stays within the node's memory limit. RequestCharge is one request's share.
//
// Threads: RequestMemory, any; a RequestCharge, one.
#pragma once

#include <atomic>
#include <cstdint>
#include <limits>
#include <utility>

#include "common/status.h"

namespace rowhouse {

class RequestMemory {
 public:
  static constexpr uint64_t kNoLimit = std::numeric_limits<uint64_t>::max();

  explicit RequestMemory(uint64_t limit_bytes = kNoLimit) : limit_(limit_bytes) {}
  RequestMemory(const RequestMemory&) = delete;
  RequestMemory& operator=(const RequestMemory&) = delete;

  // False: there is no room for so many, and none are taken.
  bool Take(uint64_t bytes) {
    uint64_t used = used_.load(std::memory_order_relaxed);
    do {
      if (bytes > limit_ - used) return false;
    } while (!used_.compare_exchange_weak(used, used + bytes, std::memory_order_relaxed));
    return true;
  }
  void Give(uint64_t bytes) { used_.fetch_sub(bytes, std::memory_order_relaxed); }

  uint64_t used() const { return used_.load(std::memory_order_relaxed); }
  uint64_t limit() const { return limit_; }

 private:
  const uint64_t limit_;
  std::atomic<uint64_t> used_ = 0;
};

class RequestCharge {
 public:
  RequestCharge() = default;
  RequestCharge(RequestCharge&& other) noexcept { *this = std::move(other); }
  RequestCharge& operator=(RequestCharge&& other) noexcept {
    std::swap(memory_, other.memory_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~RequestCharge() {
    if (memory_ != nullptr) memory_->Give(bytes_);
  }

  // Takes more bytes of `memory`, the same at every call, which outlives this.
  // kResourceExhausted if there is no room for them. `who`: for the message.
  Status Take(RequestMemory& memory, uint64_t bytes, const std::string& who) {
    if (!memory.Take(bytes)) {
      return MakeStatus(StatusCode::kResourceExhausted,
                        "{}: a request of {} bytes finds no room: other requests hold {} of the {} "
                        "bytes that --memory_limit_mb leaves for them",
                        who, bytes, memory.used(), memory.limit());
    }
    memory_ = &memory;
    bytes_ += bytes;
    return OkStatus();
  }
  uint64_t bytes() const { return bytes_; }

 private:
  RequestMemory* memory_ = nullptr;
  uint64_t bytes_ = 0;
};

}  // namespace rowhouse
