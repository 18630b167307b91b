// lookup_greedy: whole tables; a table costs its lookups of a sample (the mean pooling factor)
// times its columns (a baseline of AutoShard: Zha et al., KDD 2022, and DreamShard: Zha et al.,
// NeurIPS 2022).
#include "sharding/plans/strategy.h"

namespace rowhouse {
namespace {

class LookupGreedy final : public ShardingStrategy {
 public:
  Result<Placed> Place(const StrategyRequest& request) const override {
    std::vector<double> costs;
    for (size_t t = 0; t < request.tables.size(); ++t) {
      const TableSpec& table = request.tables[t];
      costs.push_back(LookupsOf(request, t) * table.dim);
    }
    return PlaceGreedily(request, costs);
  }
};

REGISTER_MEMBER(AddShardingStrategy<LookupGreedy>("lookup_greedy", {}));

}  // namespace
}  // namespace rowhouse
