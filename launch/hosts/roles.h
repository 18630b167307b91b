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

// hosts[r] is rank r's. In both, a host gives its lowest ranks, and nodes are numbered by name of
// host, then by rank: hosts that mpirun names in another order keep their nodes, and with them the
// shards whose rows they saved.

// Deals `ps` PS nodes over the hosts, because mpirun fills one host before the next and ranks
// 0..ps-1 would all be on the first: hosts take turns in order of their names, each giving one
// rank, but keep one for a worker as long as others can give. So numbers of PS nodes differ by at
// most one between hosts that could give more, and every host has a worker if PS nodes fit beside
// them. kUsage if no rank would be left to work.
Result<Roles> AssignRoles(const std::vector<std::string>& hosts, uint32_t ps);

// `ps_per_host` (1 or more) PS nodes on every host. kUsage names a host with fewer ranks, or says
// that no rank would be left to work.
Result<Roles> AssignRolesPerHost(const std::vector<std::string>& hosts, uint32_t ps_per_host);

}  // namespace rowhouse
