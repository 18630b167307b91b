// size_lookup_greedy: whole tables; a table costs its lookups of a sample (the mean pooling factor)
// times its columns times the decimal logarithm of its rows (a baseline of DreamShard: Zha et al.,
// NeurIPS 2022).
#include <cmath>

#include "sharding/plans/strategy.h"

namespace rowhouse {
namespace {

class SizeLookupGreedy final : public ShardingStrategy {
 public:
  Result<Placed> Place(const StrategyRequest& request) const override {
    std::vector<double> costs;
    for (size_t t = 0; t < request.tables.size(); ++t) {
      const TableSpec& table = request.tables[t];
      costs.push_back(LookupsOf(request, t) * table.dim *
                      std::log10(static_cast<double>(table.rows)));
    }
    return PlaceGreedily(request, costs);
  }
};

REGISTER_MEMBER(AddShardingStrategy<SizeLookupGreedy>("size_lookup_greedy", {}));

}  // namespace
}  // namespace rowhouse
