#include "launch/roles.h"

#include <algorithm>
#include <map>

namespace rowhouse {

Result<Roles> DealRoles(const std::vector<std::string>& hosts, uint32_t ps) {
  const size_t ranks = hosts.size();
  if (ps >= ranks) {
    return UsageError(
        "--ps={} leaves none of the {} ranks to work; start mpirun with -n {} or more, or lower "
        "--ps",
        ps, ranks, ps + 1);
  }
  // Hosts in order of their first rank, each with its ranks.
  std::vector<std::vector<int>> by_host;
  std::map<std::string, size_t> index;
  for (size_t rank = 0; rank < ranks; ++rank) {
    const auto [entry, is_new] = index.emplace(hosts[rank], by_host.size());
    if (is_new) by_host.emplace_back();
    by_host[entry->second].push_back(static_cast<int>(rank));
  }
  std::vector<bool> is_ps(ranks);
  std::vector<size_t> taken(by_host.size());
  Roles roles;
  // First round of turns leaves every host a worker where it can; the second takes what is left.
  for (const size_t keep : {size_t{1}, size_t{0}}) {
    for (bool has_moved = true; has_moved && roles.ps.size() < ps;) {
      has_moved = false;
      for (size_t h = 0; h < by_host.size() && roles.ps.size() < ps; ++h) {
        if (taken[h] + keep >= by_host[h].size()) continue;
        const int rank = by_host[h][taken[h]++];
        is_ps[static_cast<size_t>(rank)] = true;
        roles.ps.push_back(rank);
        has_moved = true;
      }
    }
  }
  std::sort(roles.ps.begin(), roles.ps.end());
  for (size_t rank = 0; rank < ranks; ++rank) {
    if (!is_ps[rank]) roles.workers.push_back(static_cast<int>(rank));
  }
  return roles;
}

}  // namespace rowhouse
