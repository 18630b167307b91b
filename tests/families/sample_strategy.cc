// "zigzag": whole tables, table t on shard (zigzag_start + t) mod shards.
#include "sharding/plans/strategy.h"

namespace rowhouse {
namespace {

const DeclaredOption kStart =
    DeclaredOption::Whole("zigzag_start", 0, 0, 65535, "shard of the first table");

class Zigzag final : public ShardingStrategy {
 public:
  Result<Placed> Place(const StrategyRequest& request) const override {
    const uint64_t start = kStart.WholeIn(request.options.own);
    std::vector<ShardId> owner;
    for (size_t t = 0; t < request.tables.size(); ++t) {
      owner.push_back(ShardId{static_cast<uint32_t>((start + t) % request.shards)});
    }
    return PlaceWhole(request, owner);
  }
};

REGISTER_MEMBER(AddShardingStrategy<Zigzag>("zigzag", {}, {kStart}));

}  // namespace
}  // namespace rowhouse
