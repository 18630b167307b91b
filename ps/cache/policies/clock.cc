// CLOCK (Corbato, 1968): a hand goes round and evicts the first row that was not used again since
// it last passed; rows that were used again are spared once. Within a set the hand may begin at any
// way.
#include "ps/cache/cache_policy.h"

namespace rowhouse {
namespace {

enum State : uint8_t {
  kUnused,  // since the hand passed, or since its first use
  kUsedAgain,
  kNew,  // not even its first use was noted
};

class Clock final : public CachePolicy {
 public:
  explicit Clock(const CachePolicyOptions&) {}

  uint8_t Admit() override { return kNew; }

  uint8_t Use(uint8_t state, const CacheUse&) override {
    return state == kNew ? kUnused : kUsedAgain;
  }

  size_t Choose(std::span<const CachedRow> rows) override {
    for (size_t i = 0; i < rows.size(); ++i) {
      if (*rows[i].state != kUsedAgain) return i;
      *rows[i].state = kUnused;
    }
    return 0;
  }
};

REGISTER_MEMBER(CachePolicies().Add<Clock>("clock", Retention{.by_count = 0}));

}  // namespace
}  // namespace rowhouse
