// replicated: whole tables live on every worker as dense parameters, allreduced in rank order: for
// small tables, and hot ones. No shard is asked for their rows, but each step moves all of them
// through the exchange of the workers.
#include "sharding/plans/strategy.h"

namespace rowhouse {
namespace {

class Replicated final : public ShardingStrategy {
 public:
  Result<Placed> Place(const StrategyRequest& request) const override {
    Placed placed;
    for (const TableSpec& table : request.tables) {
      placed.slices.push_back(WholeTable(table, kOnWorkers));
    }
    return placed;
  }
};

const bool kRegistered = AddShardingStrategy<Replicated>("replicated");

}  // namespace
}  // namespace rowhouse
