// The flags of `rowhouse plan` that ask for a LoadBalanceManager. Threads: any.
#pragma once

#include <optional>

#include "common/status.h"
#include "launch/command_line/command_line.h"
#include "sharding/tables/load_balance_manager.h"

namespace rowhouse {

// Nothing unless --embeddings_per_feat is given. kUsage, with the flag and where it stands, for a
// value out of range, for a flag that does nothing in this mode or without --embeddings_per_feat,
// and for what LoadBalanceManager::Make refuses.
Result<std::optional<LoadBalanceManager>> ReadLoadBalanceFlags(const CommandLine& command_line);

}  // namespace rowhouse
