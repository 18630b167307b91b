// dim_greedy: whole tables; a table costs its columns (a baseline of AutoShard: Zha et al., KDD
// 2022, and DreamShard: Zha et al., NeurIPS 2022).
#include "sharding/plans/strategy.h"

namespace rowhouse {
namespace {

class DimGreedy final : public ShardingStrategy {
 public:
  Result<Placed> Place(const StrategyRequest& request) const override {
    std::vector<double> costs;
    for (size_t t = 0; t < request.tables.size(); ++t) {
      const TableSpec& table = request.tables[t];
      costs.push_back(table.dim);
    }
    return PlaceGreedily(request, costs);
  }
};

REGISTER_MEMBER(AddShardingStrategy<DimGreedy>("dim_greedy", {}));

}  // namespace
}  // namespace rowhouse
