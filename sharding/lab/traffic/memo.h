// Memo: what a function of numbers gave before, so that a search that asks it again need not wait.
//
// Copies share what they have: use them for the same function only. Threads: any
// may look and keep at the same time.
#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "common/mutex.h"

namespace rowhouse {

template <size_t kNumbers, typename Value>
class Memo {
 public:
  using Key = std::array<double, kNumbers>;  // none of which is NaN

  // Keeps at most this many values: with more it forgets all of them.
  explicit Memo(size_t most) : kept_(std::make_shared<Kept>(most)) {}

  // Of the key, or what compute() gives, which runs without the lock.
  template <typename Compute>
  Value Get(const Key& key, const Compute& compute) const {
    if (std::optional<Value> found = kept_->Find(key)) return *std::move(found);
    Value value = compute();
    kept_->Keep(key, value);
    return value;
  }

 private:
  class Kept {
   public:
    explicit Kept(size_t most) : most_(most) {}

    std::optional<Value> Find(const Key& key) {
      MutexLock lock(mutex_);
      const auto found = values_.find(key);
      return found == values_.end() ? std::nullopt : std::optional<Value>(found->second);
    }

    void Keep(const Key& key, const Value& value) {
      MutexLock lock(mutex_);
      if (values_.size() >= most_) values_.clear();
      values_.emplace(key, value);
    }

   private:
    const size_t most_;
    Mutex mutex_;
    std::map<Key, Value> values_ GUARDED_BY(mutex_);
  };

  std::shared_ptr<Kept> kept_;
};

}  // namespace rowhouse
