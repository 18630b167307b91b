#include "launch/run/training_times.h"

#include <cstddef>

namespace rowhouse {
namespace {

// All of it if the shard counts anew: it was started again, or its profile began.
template <typename Times>
Times Since(const Times& before, const Times& after) {
  Times since = after;
  for (size_t p = 0; p < after.size(); ++p) {
    if (before[p] > after[p]) return after;
    since[p] -= before[p];
  }
  return since;
}

}  // namespace

std::vector<ShardTimes> TrainingTimes::Ask() {
  std::vector<ShardTimes> times;
  client_.StartStats(0);
  if (!RunClient(client_, dialer_, clock_).ok()) return times;
  for (const StatsReply& shard : client_.replies().stats) times.push_back(shard.times);
  return times;
}

std::vector<ShardTimes> TrainingTimes::by_shard() const {
  if (before_.size() != after_.size()) return {};
  std::vector<ShardTimes> times;
  for (size_t s = 0; s < after_.size(); ++s) {
    times.push_back({.shard = Since(before_[s].shard, after_[s].shard),
                     .store = Since(before_[s].store, after_[s].store)});
  }
  return times;
}

}  // namespace rowhouse
