// LFU with ageing: evicts the row with the fewest lookups; of equal ones the one in the lowest
// slot.
//
// Lookups are counted in the record and survive eviction ("perfect" LFU). So that rows that were
// hot once do not stay, a count halves with every half-life (64 uses a slot) without a use.
#include <cmath>

#include "ps/cache/cache_policy.h"
#include "ps/cache/half_life.h"

namespace rowhouse {
namespace {

class Lfu final : public CachePolicy {
 public:
  explicit Lfu(const CachePolicyOptions& options)
      : half_life_(options.half_life.value_or(64.0), options.slots) {}

  void BeginStep(uint64_t step, uint64_t uses_before) override {
    half_life_.BeginStep(step, uses_before);
  }

  uint8_t Use(uint8_t state, const CacheUse&) override { return state; }

  size_t Choose(std::span<const CachedRow> rows) override {
    const double per_step = 1.0 / half_life_.steps();
    size_t chosen = 0;
    double least = 0.0;
    for (size_t i = 0; i < rows.size(); ++i) {
      double lookups = TrailerAt(rows[i].trailer).frequency;
      if (rows[i].age > 0) lookups *= std::exp2(-static_cast<double>(rows[i].age) * per_step);
      if (i == 0 || lookups < least || (lookups == least && rows[i].slot < rows[chosen].slot)) {
        chosen = i;
        least = lookups;
      }
    }
    return chosen;
  }

 private:
  HalfLife half_life_;
};

REGISTER_MEMBER(CachePolicies().Add<Lfu>("lfu", Retention{.by_count = 0.85}));

}  // namespace
}  // namespace rowhouse
