// table_wise_round_robin: whole tables, number t to shard t mod shards, as DLRM places them on
// GPUs. Sizes and capacities do not matter.
#include "sharding/plans/strategy.h"

namespace rowhouse {
namespace {

class TableWiseRoundRobin final : public ShardingStrategy {
 public:
  Result<Placed> Place(const StrategyRequest& request) const override {
    std::vector<ShardId> owner;
    for (size_t t = 0; t < request.tables.size(); ++t) {
      owner.push_back(ShardId{static_cast<uint32_t>(t % request.shards)});
    }
    return PlaceWhole(request, owner);
  }
};

REGISTER_MEMBER(AddShardingStrategy<TableWiseRoundRobin>("table_wise_round_robin", {}));

}  // namespace
}  // namespace rowhouse
