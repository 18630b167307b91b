// row_wise: every table is divided into one range of rows for each shard, equal or by capacity
// (torchrec's ROW_WISE).
//
// Range p of the t-th table placed so goes to shard (p + t) mod shards, so that the first rows of
// all tables, often the hottest, do not meet on one shard. A table with fewer rows than shards has
// nothing on some of them.
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
      for (uint32_t p = 0; p < request.shards; ++p) {
        if (cuts[p] == cuts[p + 1]) continue;
        Slice slice = WholeTable(table, ShardId{static_cast<uint32_t>((p + t) % request.shards)});
        slice.row_begin = cuts[p];
        slice.row_end = cuts[p + 1];
        placed.slices.push_back(slice);
      }
    }
    return placed;
  }
};

REGISTER_MEMBER(AddShardingStrategy<RowWise>("row_wise", {.divides_tables = true}));

}  // namespace
}  // namespace rowhouse
