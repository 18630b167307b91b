// RequestMemory: bytes that the requests of a PS node hold: pulls that wait or are being answered,
// and pushes whose step is not applied yet. All shards of a node share it, so that what their peers
// send stays within the node's memory limit. RequestCharge is one request's share.
//
// Threads: RequestMemory, any; a RequestCharge, one.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <limits>
#include <memory>
#include <unordered_map>
#include <utility>

#include "common/frame.h"
#include "common/mutex.h"
#include "common/status.h"

namespace rowhouse {

class RequestMemory {
 public:
  static constexpr uint64_t kNoLimit = std::numeric_limits<uint64_t>::max();

  explicit RequestMemory(uint64_t limit_bytes = kNoLimit) : limit_(limit_bytes) {}
  RequestMemory(const RequestMemory&) = delete;
  RequestMemory& operator=(const RequestMemory&) = delete;

  // False: there is no room for that many, and none are taken.
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

// AnswerMemory: bytes that the answers of a PS node hold which its peers have not read. All shards
// of a node share it. Each worker has its share of it, so that one who does not read leaves room
// for the others. AnswerCharge is what one answer holds.
//
// Threads: AnswerMemory, any; an AnswerCharge, one.
class AnswerMemory {
 public:
  enum class Room { kYes, kNotForThisWorker, kNo };

  AnswerMemory() = default;  // without a limit
  AnswerMemory(uint64_t limit_bytes, uint32_t workers)
      : limit_(limit_bytes), share_(limit_bytes / std::max(1u, workers)) {}
  AnswerMemory(const AnswerMemory&) = delete;
  AnswerMemory& operator=(const AnswerMemory&) = delete;

  bool is_limited() const { return limit_ < std::numeric_limits<uint64_t>::max(); }
  uint64_t limit() const { return limit_; }
  uint64_t used() const {
    const MutexLock lock(mutex_);
    return used_;
  }

  // A worker that holds nothing may hold one answer that is larger than its share.
  Room Take(uint32_t worker, uint64_t bytes) {
    const MutexLock lock(mutex_);
    const auto own = by_worker_.find(worker);
    if (own != by_worker_.end() && own->second + bytes > share_) return Room::kNotForThisWorker;
    if (bytes > limit_ - used_) return Room::kNo;
    used_ += bytes;
    if (bytes > 0) by_worker_[worker] += bytes;
    return Room::kYes;
  }
  void Give(uint32_t worker, uint64_t bytes) {
    if (bytes == 0) return;
    const MutexLock lock(mutex_);
    used_ -= bytes;
    const auto own = by_worker_.find(worker);
    own->second -= bytes;
    if (own->second == 0) by_worker_.erase(own);
  }

 private:
  const uint64_t limit_ = std::numeric_limits<uint64_t>::max();
  const uint64_t share_ = std::numeric_limits<uint64_t>::max();
  mutable Mutex mutex_;
  uint64_t used_ GUARDED_BY(mutex_) = 0;
  std::unordered_map<uint32_t, uint64_t> by_worker_ GUARDED_BY(mutex_);  // no zeros
};

class AnswerCharge {
 public:
  AnswerCharge() = default;
  // Of what `memory` gave to the worker.
  AnswerCharge(std::shared_ptr<AnswerMemory> memory, uint32_t worker, uint64_t bytes)
      : memory_(std::move(memory)), worker_(worker), bytes_(bytes) {}
  AnswerCharge(AnswerCharge&& other) noexcept { *this = std::move(other); }
  AnswerCharge& operator=(AnswerCharge&& other) noexcept {
    std::swap(memory_, other.memory_);
    std::swap(worker_, other.worker_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~AnswerCharge() {
    if (memory_ != nullptr) memory_->Give(worker_, bytes_);
  }

 private:
  std::shared_ptr<AnswerMemory> memory_;
  uint32_t worker_ = 0;
  uint64_t bytes_ = 0;
};

// The frame, with a charge that ends with it: once it is sent.
inline Frame WithCharge(Frame frame, AnswerCharge charge) {
  struct Charged {
    AnswerCharge charge;
    Frame frame;
  };
  auto* charged = new Charged{std::move(charge), std::move(frame)};
  return Frame(
      charged->frame.data(), charged->frame.size(),
      [](void*, void* hint) { delete static_cast<Charged*>(hint); }, charged);
}

}  // namespace rowhouse
