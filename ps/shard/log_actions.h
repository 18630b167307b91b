// Carries out the log actions of a shard.
//
// Threads: one at a time (the shard's log thread).
#pragma once

#include <span>
#include <vector>

#include "ps/log/push_log.h"
#include "ps/shard/events.h"

namespace rowhouse {

// Carries out the first of the actions. A TruncateLog is carried out alone; an AppendLog together
// with the AppendLogs of the same lap that directly follow it, so that pushes that came together
// share one sync. Returns one event for each action carried out. If there was no room, nothing was
// done, and the one event returned has kResourceExhausted.
std::vector<ShardEvent> CarryOutLogActions(PushLog& log, std::span<const ShardAction> actions);

}  // namespace rowhouse
