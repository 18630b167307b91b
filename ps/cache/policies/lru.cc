// LRU: evicts the row whose last use is longest ago.
//
// Ages order uses of different steps. Within a step the state does: it holds the number of the use
// in the step, exactly up to 255 uses, in 255 groups beyond.
#include <algorithm>
#include <bit>

#include "ps/cache/cache_policy.h"

namespace rowhouse {
namespace {

class Lru final : public CachePolicy {
 public:
  explicit Lru(const CachePolicyOptions&) {}

  void BeginStep(uint64_t, uint64_t uses_before) override {
    uses_ = 0;
    group_bits_ = std::max(0, static_cast<int>(std::bit_width(uses_before)) - 8);
  }

  uint8_t Admit() override { return Order(); }

  uint8_t Use(uint8_t, const CacheUse&) override {
    ++uses_;
    return Order();
  }

  size_t Choose(std::span<const CachedRow> rows) override {
    const auto is_older = [](const CachedRow& a, const CachedRow& b) {
      if (a.age != b.age) return a.age > b.age;
      return *a.state != *b.state ? *a.state < *b.state : a.slot < b.slot;
    };
    return std::ranges::min_element(rows, is_older) - rows.begin();
  }

 private:
  uint8_t Order() const {
    return static_cast<uint8_t>(std::min<uint64_t>(uses_ >> group_bits_, 255));
  }

  uint64_t uses_ = 0;  // in this step
  int group_bits_ = 0;
};

REGISTER_MEMBER(CachePolicies().Add<Lru>("lru", Retention{.by_count = 0}));

}  // namespace
}  // namespace rowhouse
