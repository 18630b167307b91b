// Roles: which ranks of an mpirun are PS nodes and which are workers.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/status.h"

namespace rowhouse {

struct Roles {
  std::vector<int> ps;       // ranks, ascending; index = node number
  std::vector<int> workers;  // ranks, ascending; index = WorkerRank
};

// Deals `ps` PS nodes over the hosts of the ranks (hosts[r] is rank r's), because mpirun fills
// one host before the next and ranks 0..ps-1 would all be on the first: hosts take turns in order
// of their first rank, each giving its lowest rank that has no role yet, but keep a rank for a
// worker as long as others can give one. kUsage if no rank would be left to work.
Result<Roles> DealRoles(const std::vector<std::string>& hosts, uint32_t ps);

}  // namespace rowhouse
