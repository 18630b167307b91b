// row_wise: every table is divided into one range of rows for each shard, equal or by capacity
// (torchrec's ROW_WISE).
//
// Range p of the t-th table placed so goes to shard (p + t) mod shards, so that the first rows of
// all tables, often the hottest, do not meet on one shard. A table with fewer rows than shards has
// nothing on some of them.
//
// row_wise_hashed: the same over a scattered row order (sharding/plans/row_order.h), so that
// neighbouring rows lie on different shards: ids numbered by popularity or time load all shards
// alike. Each table is scattered differently.
#include <xxhash.h>

#include "common/random.h"
#include "sharding/plans/strategy.h"

namespace rowhouse {
namespace {

class RowWise final : public ShardingStrategy {
 public:
  std::vector<std::string> settings() const override { return {"capacities"}; }

  Result<Placed> Place(const StrategyRequest& request) const override {
    Placed placed;
    for (size_t t = 0; t < request.tables.size(); ++t) {
      const TableSpec& table = request.tables[t];
      // The share of the shard that piece p goes to.
      std::vector<uint32_t> capacities;
      for (uint32_t p = 0; p < request.shards; ++p) {
        capacities.push_back(request.capacity(static_cast<uint32_t>((p + t) % request.shards)));
      }
      const std::vector<uint64_t> cuts =
          CutsByCapacity(table.rows, {.shards = request.shards, .capacities = capacities});
      PlaceRanges(request, t, cuts, &placed);
    }
    return placed;
  }
};

class RowWiseHashed final : public ShardingStrategy {
 public:
  std::vector<std::string> settings() const override { return {"capacities", "strategy_seed"}; }

  Result<Placed> Place(const StrategyRequest& request) const override {
    ASSIGN_OR_RETURN(Placed placed, RowWise().Place(request));
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

REGISTER_MEMBER(AddShardingStrategy<RowWise>("row_wise", {.divides_tables = true}));
REGISTER_MEMBER(AddShardingStrategy<RowWiseHashed>("row_wise_hashed", {.divides_tables = true}));

}  // namespace
}  // namespace rowhouse
