#include "ps/shard/shard_phases.h"

namespace rowhouse {
namespace {

std::vector<PhaseKind> ShardKinds() {
  std::vector<PhaseKind> kinds;
  for (const char* name : kShardPhaseNames) kinds.push_back({.name = name, .amounts = {"rows"}});
  return kinds;
}

std::vector<PhaseKind> StoreKinds() {
  std::vector<PhaseKind> kinds;
  for (const char* name : kStorePhaseNames) kinds.push_back({.name = name, .amounts = {"rows"}});
  return kinds;
}

}  // namespace

ShardPhases::ShardPhases(const Clock& clock)
    : shard(clock, ShardKinds()), store(clock, StoreKinds()), push_log(clock, StoreKinds()) {
  const auto add = [this](const char* name) {
    return shard.Add({.name = name, .amounts = {"rows"}});
  };
  update_merge = add("update/merge");
  update_lookup = add("update/lookup");
  update_rows = add("update/rows");
}

ShardTimes ShardPhases::Times() {
  ShardTimes times;
  for (size_t p = 0; p < kShardPhaseNames.size(); ++p) {
    times.shard[p] = static_cast<uint64_t>(shard.seconds_of(kShardPhaseNames[p]) * 1e9);
  }
  MutexLock lock(mutex);
  for (uint32_t p = 0; p < kStorePhaseNames.size(); ++p) times.store[p] = store.total(p).ns;
  return times;
}

}  // namespace rowhouse
