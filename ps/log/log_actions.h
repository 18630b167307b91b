// What a shard asks of its push log, carried out.
//
// Threads: one at a time (the shard's log thread).
#pragma once

#include <span>
#include <vector>

#include "ps/log/push_log.h"
#include "ps/shard/events.h"

namespace rowhouse {

// Carries out the first actions of one kind: all AppendLogs of a lap in a row at once, so that
// pushes that came together share one sync, or one TruncateLog. One event an action; or, where
// there was no room, one event for nothing done (kResourceExhausted).
std::vector<ShardEvent> CarryOutLogActions(PushLog& log, std::span<const ShardAction> actions);

}  // namespace rowhouse
