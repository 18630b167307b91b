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

void ShardPhases::KeepSpans() {
  shard.KeepSpans();
  messages.Clear();
  MutexLock lock(mutex);
  store.KeepSpans();
  push_log.KeepSpans();
}

std::vector<ThreadRecord> ShardPhases::Records() {
  std::vector<ThreadRecord> records = {{.thread = "shard", .record = shard.Record()}};
  MutexLock lock(mutex);
  records.push_back({.thread = "store", .record = store.Record()});
  if (push_log.total(Number(StorePhase::kWrite)).times > 0) {
    records.push_back({.thread = "push log", .record = push_log.Record()});
  }
  return records;
}

}  // namespace rowhouse
