// "dice": which row goes follows from how many have gone, times the option dice_stride.
#include "ps/cache/cache_policy.h"

namespace rowhouse {
namespace {

const DeclaredOption kStride =
    DeclaredOption::Whole("dice_stride", 5, 1, 1 << 20, "from one choice to the next");

class Dice final : public CachePolicy {
 public:
  explicit Dice(const CachePolicyOptions& options) : stride_(kStride.WholeIn(options.own)) {}

  uint8_t Use(uint8_t state, const CacheUse&) override { return state; }
  size_t Choose(std::span<const CachedRow> rows) override {
    return (++choices_ * stride_) % rows.size();
  }

 private:
  const uint64_t stride_;
  uint64_t choices_ = 0;
};

REGISTER_MEMBER(CachePolicies().Add<Dice>("dice", Retention{.by_count = 0}, {kStride}));

}  // namespace
}  // namespace rowhouse
