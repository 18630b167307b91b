// table_wise_greedy: whole tables, in the model's order, each to the shard with the least bytes
// (list scheduling: Graham, 1966): at most twice the best possible largest load; a table added at
// the end moves no other.
#include <numeric>

#include "sharding/plans/strategy.h"

namespace rowhouse {
namespace {

class TableWiseGreedy final : public ShardingStrategy {
 public:
  bool fills() const override { return true; }

  std::vector<std::string> settings() const override { return {"capacities"}; }

  Result<Placed> Place(const StrategyRequest& request) const override {
    std::vector<size_t> order(request.tables.size());
    std::iota(order.begin(), order.end(), size_t{0});
    return PlaceWhole(request, AssignToLeastLoaded(request, order));
  }
};

REGISTER_MEMBER(AddShardingStrategy<TableWiseGreedy>("table_wise_greedy", {}));

}  // namespace
}  // namespace rowhouse
