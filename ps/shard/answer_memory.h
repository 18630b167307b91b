// AnswerMemory: bytes that the answers of a PS node hold which its peers have not read. All shards
// of a node share it. Each worker has its share of it, so that one who does not read leaves room
// for the others. AnswerCharge is what one answer holds.
//
// Threads: AnswerMemory, any; an AnswerCharge, one.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <unordered_map>
#include <utility>

#include "common/frame.h"
#include "common/mutex.h"

namespace rowhouse {

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
