// Carries out the log actions of a shard.
//
// Threads: one at a time (the shard's log thread).
#pragma once

#include <span>
#include <vector>

#include "ps/log/push_log.h"
#include "ps/shard/events.h"

namespace rowhouse {

// Carries out either the first run of AppendLogs of one lap, so that pushes that came together
// share one sync, or one TruncateLog. Returns one event for each action carried out; if there was
// no room, one event with kResourceExhausted, and nothing was done.
std::vector<ShardEvent> CarryOutLogActions(PushLog& log, std::span<const ShardAction> actions);

}  // namespace rowhouse
