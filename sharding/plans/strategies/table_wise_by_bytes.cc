// Whole tables, each to the shard with the least (bytes it holds by then) / capacity, of equal
// shards to the lowest:
//
//   table_wise_greedy  in the model's order (list scheduling: Graham, 1966): at most twice the best
//                      possible largest load; a table added at the end moves no other
//   table_wise_lpt     the largest first (longest processing time first: Graham, 1969): at most 4/3
//                      of the best possible largest load
#include <algorithm>
#include <functional>
#include <numeric>

#include "sharding/plans/strategy.h"

namespace rowhouse {
namespace {

// The owner of each table, assigned one after the other, in `order`.
std::vector<ShardId> AssignToLeastLoaded(const StrategyRequest& request,
                                         std::span<const size_t> order) {
  std::vector<unsigned __int128> load(request.shards);
  if (!request.bytes_there.empty()) {
    std::ranges::copy(request.bytes_there, load.begin());
  }
  std::vector<ShardId> owner(request.tables.size());
  for (const size_t t : order) {
    const uint64_t bytes = TableBytesOf(request.tables[t]);
    uint32_t best = 0;
    for (uint32_t s = 1; s < request.shards; ++s) {
      // (load + bytes) / capacity, without division.
      if ((load[s] + bytes) * request.capacity(best) < (load[best] + bytes) * request.capacity(s)) {
        best = s;
      }
    }
    load[best] += bytes;
    owner[t] = ShardId{best};
  }
  return owner;
}

template <bool kLargestFirst>
class TableWiseByBytes final : public ShardingStrategy {
 public:
  bool fills() const override { return true; }
  std::vector<std::string> settings() const override { return {"capacities"}; }

  Result<Placed> Place(const StrategyRequest& request) const override {
    std::vector<size_t> order(request.tables.size());
    std::iota(order.begin(), order.end(), size_t{0});
    if (kLargestFirst) {
      std::ranges::stable_sort(order, std::greater<>(),
                               [&](size_t t) { return TableBytesOf(request.tables[t]); });
    }
    return PlaceWhole(request, AssignToLeastLoaded(request, order));
  }
};

REGISTER_MEMBER(AddShardingStrategy<TableWiseByBytes<false>>("table_wise_greedy", {}));
REGISTER_MEMBER(AddShardingStrategy<TableWiseByBytes<true>>("table_wise_lpt",
                                                            {.is_baseline = true}));

}  // namespace
}  // namespace rowhouse
