// Whole tables, the costliest first (of equal ones the largest, then the last), each to the shard
// with the least cost so far (of equal ones to that with the fewest weights, then the lowest): how
// AutoShard (Zha et al., KDD 2022) and DreamShard (Zha et al., NeurIPS 2022) place tables by the
// costs of their baselines. Their limit of memory is ps_rows_mb here, which refuses a plan.
//
//   dim_greedy          a table costs its columns
//   lookup_greedy       its lookups of a sample (the mean pooling factor) times its columns
//   size_lookup_greedy  that times the decimal logarithm of its rows (DreamShard's alone)
#include <algorithm>
#include <cmath>
#include <numeric>
#include <tuple>
#include <utility>

#include "sharding/plans/strategy.h"

namespace rowhouse {
namespace {

Placed PlaceByCost(const StrategyRequest& request, std::span<const double> costs) {
  std::vector<double> weights;
  for (const TableSpec& table : request.tables) {
    weights.push_back(static_cast<double>(table.rows) * table.dim);
  }
  std::vector<size_t> order(request.tables.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::sort(order, std::ranges::greater(),
                    [&](size_t t) { return std::make_tuple(costs[t], weights[t], t); });
  std::vector<std::pair<double, double>> loads(request.shards);  // cost, weights
  std::vector<ShardId> owner(request.tables.size());
  for (const size_t t : order) {
    const auto least = std::ranges::min_element(loads);
    owner[t] = ShardId{static_cast<uint32_t>(least - loads.begin())};
    least->first += costs[t];
    least->second += weights[t];
  }
  return PlaceWhole(request, owner);
}

// Cost: the cost of request.tables[t].
template <double (*Cost)(const StrategyRequest& request, size_t t)>
class GreedyByCost final : public ShardingStrategy {
 public:
  Result<Placed> Place(const StrategyRequest& request) const override {
    std::vector<double> costs;
    for (size_t t = 0; t < request.tables.size(); ++t) costs.push_back(Cost(request, t));
    return PlaceByCost(request, costs);
  }
};

double CostByColumns(const StrategyRequest& request, size_t t) { return request.tables[t].dim; }

double CostByLookups(const StrategyRequest& request, size_t t) {
  return LookupsOf(request, t) * request.tables[t].dim;
}

double CostBySize(const StrategyRequest& request, size_t t) {
  return CostByLookups(request, t) * std::log10(static_cast<double>(request.tables[t].rows));
}

REGISTER_MEMBER(AddShardingStrategy<GreedyByCost<&CostByColumns>>("dim_greedy", {}));
REGISTER_MEMBER(AddShardingStrategy<GreedyByCost<&CostByLookups>>("lookup_greedy", {}));
REGISTER_MEMBER(AddShardingStrategy<GreedyByCost<&CostBySize>>("size_lookup_greedy", {}));

}  // namespace
}  // namespace rowhouse
