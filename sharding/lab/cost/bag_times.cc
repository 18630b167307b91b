#include "sharding/lab/cost/bag_times.h"

#include <algorithm>

namespace rowhouse {
namespace {

// With which the kernel "bags_update" is measured (launch/calibrate/kernels/messages.cc).
constexpr const char* kOptimizerOfKernel = "sgd";

}  // namespace

// Of one length each, one a feature.
struct BagTimes::Lists {
  double lists = 0, bags = 0, length = 0, dim = 0;
  double rows = 0;  // distinct ones of each list

  explicit Lists(const ShardTraffic& shard)
      : lists(std::max(1.0, shard.bag_entries)),
        bags(shard.bags / lists),
        length(shard.bag_lookups / shard.bags),
        dim(shard.bag_lookup_floats / shard.bag_lookups),
        rows(std::max(1.0, shard.bag_rows / lists)) {}
};

Exchange& Exchange::operator+=(const Exchange& other) {
  wall += other.wall;
  worker += other.worker;
  shard += other.shard;
  return *this;
}

// What a message takes whatever is in it is taken once.
double BagTimes::MsOf(const std::string& kernel, const Lists& lists) {
  const double new_share = std::min(1.0, lists.rows / (lists.bags * lists.length));
  const double of_list = times_.Ms(kernel, {lists.bags, lists.length, lists.dim, new_share});
  const double empty = std::min(of_list, times_.Ms(kernel, {1.0, 1.0, lists.dim, 1.0}));
  return empty + lists.lists * (of_list - empty);
}

Exchange BagTimes::Of(const std::string& kernel, const Lists& lists) {
  return {.wall = MsOf(kernel, lists),
          .worker = MsOf(kernel + "_worker", lists),
          .shard = MsOf(kernel + "_shard", lists)};
}

Exchange BagTimes::Pull(const ShardTraffic& shard) { return Of("bags_pull", Lists(shard)); }

Exchange BagTimes::Push(const ShardTraffic& shard) { return Of("bags_push", Lists(shard)); }

double BagTimes::ApplyMs(const ShardTraffic& shard, const std::string& optimizer) {
  const Lists lists(shard);
  const double of_kernel = MsOf("bags_update", lists);
  const std::string measured = times_.Of("update_", kOptimizerOfKernel);
  if (!times_.machine().HasKernel(measured)) return of_kernel;
  const std::string update = times_.Of("update_", optimizer);
  const double slower =
      times_.Ms(update, {lists.rows, lists.dim}) - times_.Ms(measured, {lists.rows, lists.dim});
  return of_kernel + lists.lists * std::max(0.0, slower);
}

}  // namespace rowhouse
