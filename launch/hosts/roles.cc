#include "launch/hosts/roles.h"

#include <algorithm>
#include <map>

#include "common/counted.h"

namespace rowhouse {
namespace {

// Ranks of each host, ascending; hosts by name.
using RanksByHost = std::map<std::string, std::vector<int>>;

RanksByHost GroupByHost(const std::vector<std::string>& hosts) {
  RanksByHost ranks;
  for (size_t rank = 0; rank < hosts.size(); ++rank) {
    ranks[hosts[rank]].push_back(static_cast<int>(rank));
  }
  return ranks;
}

// Each host's first taken[h] ranks are PS nodes.
Roles RolesOf(const RanksByHost& by_host, const std::vector<size_t>& taken) {
  Roles roles;
  size_t h = 0;
  for (const auto& [host, ranks] : by_host) {
    const auto first_worker = ranks.begin() + static_cast<std::ptrdiff_t>(taken[h++]);
    roles.ps.insert(roles.ps.end(), ranks.begin(), first_worker);
    roles.workers.insert(roles.workers.end(), first_worker, ranks.end());
  }
  std::sort(roles.workers.begin(), roles.workers.end());
  return roles;
}

}  // namespace

Result<Roles> AssignRoles(const std::vector<std::string>& hosts, uint32_t ps) {
  if (ps >= hosts.size()) {
    return UsageError(
        "--ps={} leaves none of {} to work; start mpirun with -n {} or more, or lower "
        "--ps",
        ps, Counted(hosts.size(), "rank"), ps + 1);
  }
  const RanksByHost by_host = GroupByHost(hosts);
  std::vector<size_t> taken(by_host.size());
  uint32_t left = ps;
  // The first round leaves a rank for a worker on every host; the second takes these too.
  for (const size_t keep : {size_t{1}, size_t{0}}) {
    for (bool has_moved = true; has_moved && left > 0;) {
      has_moved = false;
      size_t h = 0;
      for (const auto& [host, ranks] : by_host) {
        size_t& of_host = taken[h++];
        if (left == 0 || of_host + keep >= ranks.size()) continue;
        ++of_host;
        --left;
        has_moved = true;
      }
    }
  }
  return RolesOf(by_host, taken);
}

Result<Roles> AssignRolesPerHost(const std::vector<std::string>& hosts, uint32_t ps_per_host) {
  const RanksByHost by_host = GroupByHost(hosts);
  for (const auto& [host, ranks] : by_host) {
    if (ranks.size() >= ps_per_host) continue;
    return UsageError(
        "--ps_per_host={} does not fit host {}, where mpirun started {}; give it more slots "
        "(--host {}:{}), or lower --ps_per_host",
        ps_per_host, host, Counted(ranks.size(), "rank"), host, ps_per_host + 1);
  }
  if (by_host.size() * ps_per_host >= hosts.size()) {
    return UsageError(
        "--ps_per_host={} on {} leaves none of {} to work; start more ranks on "
        "some host, or lower --ps_per_host",
        ps_per_host, Counted(by_host.size(), "host"), Counted(hosts.size(), "rank"));
  }
  return RolesOf(by_host, std::vector<size_t>(by_host.size(), ps_per_host));
}

}  // namespace rowhouse
