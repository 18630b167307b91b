// row_wise_hashed: as row_wise, but over a scattered row order (sharding/plans/row_order.h), so
// that neighbouring rows lie on different shards: ids numbered by popularity or time load all
// shards alike. Each table is scattered differently.
#include <xxhash.h>

#include "common/random.h"
#include "sharding/plans/strategy.h"

namespace rowhouse {
namespace {

class RowWiseHashed final : public ShardingStrategy {
 public:
  std::vector<std::string> settings() const override { return {"capacities", "strategy_seed"}; }

  Result<Placed> Place(const StrategyRequest& request) const override {
    Placed placed;
    const std::unique_ptr<ShardingStrategy> row_wise =
        ShardingStrategies().Make("row_wise", {}).value();
    ASSIGN_OR_RETURN(placed, row_wise->Place(request));
    for (const TableSpec& table : request.tables) {
      const uint64_t name = XXH3_64bits(table.name.data(), table.name.size());
      placed.placements.push_back(
          {.table = table.id,
           .order = RowOrder::Scattered(table.rows, MixKey(request.options.seed, name)),
           .worker_rows = {}});
    }
    return placed;
  }
};

REGISTER_MEMBER(AddShardingStrategy<RowWiseHashed>("row_wise_hashed", {.divides_tables = true}));

}  // namespace
}  // namespace rowhouse
