#include "sharding/lab/cost/bag_times.h"

#include <algorithm>
#include <cmath>

namespace rowhouse {
namespace {

// What fewer distinct rows can spare of a kernel, which has to sort ids and add vectors.
constexpr double kMaxSpared = 0.5;
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

  // The kernels look up rows that are evenly spread: of four times as many as lookups, and of no
  // fewer than 10,000 (launch/calibrate/kernels/messages.cc).
  double rows_of_kernel() const {
    const double lookups = bags * length, table = std::max(4 * lookups, 10'000.0);
    return std::max(rows, table * -std::expm1(-lookups / table));
  }
};

Exchange& Exchange::operator+=(const Exchange& other) {
  wall += other.wall;
  worker += other.worker;
  shard += other.shard;
  return *this;
}

// What a message takes whatever is in it is taken once.
double BagTimes::MsOf(const std::string& kernel, const Lists& lists) {
  const double of_list = times_.Ms(kernel, {lists.bags, lists.length, lists.dim});
  const double empty = std::min(of_list, times_.Ms(kernel, {1.0, 1.0, lists.dim}));
  return empty + lists.lists * (of_list - empty);
}

Exchange BagTimes::Of(const std::string& kernel, const Lists& lists) {
  return {.wall = MsOf(kernel, lists),
          .worker = MsOf(kernel + "_worker", lists),
          .shard = MsOf(kernel + "_shard", lists)};
}

// What a kernel of rows takes longer for the rows that the kernel of bags had more.
double BagTimes::MoreRowsMs(const std::string& kernel, const Lists& lists) {
  return lists.lists * (times_.Ms(kernel, {lists.rows_of_kernel(), lists.dim}) -
                        times_.Ms(kernel, {lists.rows, lists.dim}));
}

// A shard finds and reads each row of a list once, and skewed ids have fewer of them.
Exchange BagTimes::Pull(const ShardTraffic& shard) {
  const Lists lists(shard);
  Exchange pull = Of("bags_pull", lists);
  const double less = std::clamp(MoreRowsMs("pull_shard", lists), 0.0, kMaxSpared * pull.shard);
  pull.shard -= less;
  pull.wall = std::max(0.0, pull.wall - less);
  return pull;
}

Exchange BagTimes::Push(const ShardTraffic& shard) { return Of("bags_push", Lists(shard)); }

double BagTimes::ApplyMs(const ShardTraffic& shard, const std::string& optimizer) {
  const Lists lists(shard);
  const double of_kernel = MsOf("bags_update", lists);
  const std::string measured = times_.Of("update_", kOptimizerOfKernel);
  if (!times_.machine().HasKernel(measured)) return of_kernel;
  const double less = std::clamp(MoreRowsMs(measured, lists), 0.0, kMaxSpared * of_kernel);
  const std::string update = times_.Of("update_", optimizer);
  const double slower =
      times_.Ms(update, {lists.rows, lists.dim}) - times_.Ms(measured, {lists.rows, lists.dim});
  return of_kernel - less + lists.lists * std::max(0.0, slower);
}

}  // namespace rowhouse
