// The map that a run prints at its start: role, host and address of each rank. Threads: pure
// functions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "launch/hosts/network_interface.h"
#include "launch/hosts/roles.h"

namespace rowhouse {

struct RankPlace {
  std::string host;
  uint32_t cpus = 0;      // of the host
  std::string endpoint;   // PS nodes: "tcp://10.0.0.1:4000", where HELLO is answered
  std::string interface;  // PS nodes: "eth0", what that address is bound to
};

// A line of column names, a line for each rank, and one for each PS node of --ps_endpoints, which
// is no rank; columns are aligned.
std::string RankMapText(const Roles& roles, uint32_t shards_per_node,
                        const std::vector<RankPlace>& ranks,
                        const std::vector<std::string>& ps_endpoints);

}  // namespace rowhouse
