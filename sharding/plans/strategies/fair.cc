// fair: all tables, laid end to end, are divided into one range of rows for each shard, equal or by
// capacity: hpcaitech's LoadBalanceManager with do_fair (sharding/tables/load_balance_manager.h).
// At most one table is divided at each border between shards. A row counts as one, however wide.
// Fewer rows than shards all go to the last shard.
#include <utility>

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
    const LoadBalanceManager& manager = made.value();
    ASSIGN_OR_RETURN(std::vector<Slice> slices, LoadBalanceSlices(manager, request.tables));
    return Placed{.slices = std::move(slices), .placements = {}};
  }
};

REGISTER_MEMBER(AddShardingStrategy<Fair>("fair", {}));

}  // namespace
}  // namespace rowhouse
