// table_wise_lpt: whole tables, the largest first, each to the shard with the least bytes (longest
// processing time first: Graham, 1969): at most 4/3 of the best possible largest load.
#include <algorithm>
#include <functional>
#include <numeric>

#include "sharding/plans/strategy.h"

namespace rowhouse {
namespace {

class TableWiseLpt final : public ShardingStrategy {
 public:
  bool fills() const override { return true; }

  std::vector<std::string> settings() const override { return {"capacities"}; }

  Result<Placed> Place(const StrategyRequest& request) const override {
    std::vector<size_t> order(request.tables.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::ranges::stable_sort(order, std::greater<>(),
                             [&](size_t t) { return TableBytesOf(request.tables[t]); });
    return PlaceWhole(request, AssignToLeastLoaded(request, order));
  }
};

REGISTER_MEMBER(AddShardingStrategy<TableWiseLpt>("table_wise_lpt", {.is_baseline = true}));

}  // namespace
}  // namespace rowhouse
