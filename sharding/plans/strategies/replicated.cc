// replicated: every worker has the whole table, and its gradients join the ordered allreduce. For
// small tables that every lookup hits: no shard is asked for their rows, but each step sums the
// gradients of all rows over the workers.
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

REGISTER_MEMBER(AddShardingStrategy<Replicated>("replicated", {.copies_to_workers = true}));

}  // namespace
}  // namespace rowhouse
