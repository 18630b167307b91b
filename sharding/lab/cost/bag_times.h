// BagTimes: what shards take to pool bags, from kernels that were measured on one list of bags.
// Lookups of rows that the list has looked up before are cheaper: the rows are in the CPU's cache.
//
// Threads: one.
#pragma once

#include <string>

#include "sharding/lab/cost/machine.h"
#include "sharding/lab/traffic/step_traffic.h"

namespace rowhouse {

// Milliseconds of a pull or a push: wall time of one worker with one shard, and the cores' time of
// each.
struct Exchange {
  double wall = 0, worker = 0, shard = 0;

  Exchange& operator+=(const Exchange& other);
};

// Of the bags between one worker and one shard, a step. Requires bag_lookups > 0.
class BagTimes {
 public:
  explicit BagTimes(KernelTimes* times) : times_(*times) {}

  Exchange Pull(const ShardTraffic& shard);
  Exchange Push(const ShardTraffic& shard);
  // To turn gradients of bags into those of rows, and to update the rows; of a core.
  double ApplyMs(const ShardTraffic& shard, const std::string& optimizer);

 private:
  struct Lists;  // what a message has
  double MsOf(const std::string& kernel, const Lists& lists);
  Exchange Of(const std::string& kernel, const Lists& lists);

  KernelTimes& times_;
};

}  // namespace rowhouse
