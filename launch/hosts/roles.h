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

}  // namespace rowhouse
