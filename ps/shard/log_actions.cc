#include "ps/shard/log_actions.h"

namespace rowhouse {

std::vector<ShardEvent> CarryOutLogActions(PushLog& log, std::span<const ShardAction> actions) {
  std::vector<ShardEvent> events;
  if (const auto* truncate = std::get_if<TruncateLog>(&actions.front())) {
    events.push_back(LogTruncated{log.Truncate(truncate->low_water)});
    return events;
  }
  const auto* first = std::get_if<AppendLog>(&actions.front());
  CHECK(first != nullptr) << "not an action of the log";
  const uint64_t lap = first->lap;
  std::vector<LoggedPush> pushes;
  std::vector<uint64_t> tickets;
  for (const ShardAction& action : actions) {
    const auto* append = std::get_if<AppendLog>(&action);
    if (append == nullptr || append->lap != lap) break;
    pushes.push_back(*append->push);
    tickets.push_back(append->ticket);
  }
  const Status status = log.Append(pushes, lap);
  for (const uint64_t ticket : tickets) {
    events.push_back(
        LogAppended{.ticket = ticket, .status = status, .log_bytes = log.bytes_appended()});
    if (status.code() == StatusCode::kResourceExhausted) break;
  }
  return events;
}

}  // namespace rowhouse
