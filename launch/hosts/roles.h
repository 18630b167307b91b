// Roles: which ranks of an mpirun are PS nodes and which are workers. Pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/status.h"

namespace rowhouse {

struct Roles {
  std::vector<int> ps;       // ranks; index = node number
  std::vector<int> workers;  // ranks, ascending; index = WorkerRank
};

// hosts[r] is rank r's. The PS nodes of a host are its lowest ranks. Nodes are numbered by name of
// host, then by rank, so that hosts keep their nodes, and the shards whose rows they saved, in
// whatever order mpirun starts them.

// Assigns `ps` PS nodes to the hosts in turn, in the order of their names. (mpirun fills one host
// before the next, so ranks 0..ps-1 may all be on one host.) A host keeps its last rank for a
// worker until all other hosts, too, have only one rank left. So hosts with ranks left differ by at
// most one in their number of PS nodes, and every host has a worker if there are enough ranks.
// kUsage if no rank would be a worker.
Result<Roles> AssignRoles(const std::vector<std::string>& hosts, uint32_t ps);

// `ps_per_host` (>= 1) PS nodes on every host. kUsage for a host with fewer ranks, which is named,
// and if no rank would be a worker.
Result<Roles> AssignRolesPerHost(const std::vector<std::string>& hosts, uint32_t ps_per_host);

// ---- The map that a run prints at its start: role, host and address of each rank ----------------

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
