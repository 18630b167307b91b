// fair: all tables, laid end to end, are divided into one range of rows for each shard, equal or by
// capacity: hpcaitech's LoadBalanceManager with do_fair (sharding/tables/load_balance_manager.h).
// At most one table is divided at each border between shards. A row counts as one, however wide.
// Fewer rows than shards all go to the last shard.
#include "sharding/plans/strategy.h"
#include "sharding/tables/load_balance_manager.h"

namespace rowhouse {
namespace {

class Fair final : public ShardingStrategy {
 public:
  std::vector<std::string> settings() const override { return {"capacities"}; }

  Result<Placed> Place(const StrategyRequest& request) const override {
    LoadBalanceOptions options{.num_groups = request.shards, .mode = LoadBalanceMode::kFair};
    options.capacities.assign(request.capacities.begin(), request.capacities.end());
    for (const TableSpec& table : request.tables) options.embeddings_per_feat.push_back(table.rows);
    const Result<LoadBalanceManager> made = LoadBalanceManager::Make(options);
    if (!made.ok()) return made.status().Annotate("strategy fair");
    Placed placed;
    for (uint32_t shard = 0; shard < request.shards; ++shard) {
      for (const LoadBalanceManager::Segment& segment : made.value().segments(shard)) {
        Slice slice = WholeTable(request.tables[segment.feature], ShardId{shard});
        slice.row_begin = segment.row_begin;
        slice.row_end = segment.row_end;
        placed.slices.push_back(slice);
      }
    }
    return placed;
  }
};

REGISTER_MEMBER(AddShardingStrategy<Fair>("fair", {}));

}  // namespace
}  // namespace rowhouse
