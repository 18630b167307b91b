// table_wise_shuffle: whole tables in the order numpy's generator shuffles them (option seed; 111
// as hpcaitech's LoadBalanceManager), equally many for each shard, the remainder for the last.
// Sizes and capacities do not matter.
#include <algorithm>

#include "common/numpy_random.h"
#include "sharding/plans/strategy.h"

namespace rowhouse {
namespace {

class TableWiseShuffle final : public ShardingStrategy {
 public:
  std::vector<std::string> settings() const override { return {"strategy_seed"}; }

  Result<Placed> Place(const StrategyRequest& request) const override {
    if (request.options.seed > UINT32_MAX) {
      return UsageError("strategy_seed={}: numpy's generator takes seeds from 0 to {}",
                        request.options.seed, UINT32_MAX);
    }
    const size_t tables = request.tables.size();
    NumpyRandom random(static_cast<uint32_t>(request.options.seed));
    const std::vector<uint64_t> order = random.Permutation(tables);
    const size_t each = std::max<size_t>(tables / request.shards, 1);
    std::vector<ShardId> owner(tables);
    for (size_t i = 0; i < tables; ++i) {
      owner[order[i]] =
          ShardId{static_cast<uint32_t>(std::min<size_t>(i / each, request.shards - 1))};
    }
    return PlaceWhole(request, owner);
  }
};

REGISTER_MEMBER(AddShardingStrategy<TableWiseShuffle>("table_wise_shuffle", {}));

}  // namespace
}  // namespace rowhouse
