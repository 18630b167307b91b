#include "ps/shard/shard_state.h"

#include <glog/logging.h>

#include <limits>

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

Header Outbox::ReplyHeader(const Header& request) const {
  Header header;
  header.job_id = job_id_;
  header.request_id = request.request_id;
  header.step = request.step;
  header.part = request.part;
  header.parts = request.parts;
  header.sender = Raw(shard_);
  header.incarnation = incarnation_;
  return header;
}

void Outbox::Refuse(const Request& request, const Status& status) {
  Answer(request, ErrorReply{.code = static_cast<uint8_t>(status.code()),
                             .message = std::string(status.message())});
}

void ShardState::Fail(const Status& status) {
  if (has_failed()) return;
  failure = status.Annotate(options.name);
  LOG(ERROR) << failure.message();
}

TimeMs ShardState::DeadlineOf(const Header& header) const {
  constexpr TimeMs kNever = std::numeric_limits<TimeMs>::max();
  return header.deadline_ms == 0 ? kNever : now + header.deadline_ms;
}

}  // namespace rowhouse
