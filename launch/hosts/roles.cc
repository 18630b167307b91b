#include "launch/hosts/roles.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

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

std::string RankMapText(const Roles& roles, uint32_t shards_per_node,
                        const std::vector<RankPlace>& ranks,
                        const std::vector<std::string>& ps_endpoints) {
  using Line = std::array<std::string, 5>;
  std::vector<Line> lines = {{"rank", "host", "CPUs", "role", "listens on"}};
  std::set<std::string> hosts;
  for (size_t r = 0; r < ranks.size(); ++r) {
    const RankPlace& place = ranks[r];
    hosts.insert(place.host);
    const auto node = std::find(roles.ps.begin(), roles.ps.end(), static_cast<int>(r));
    const auto worker = std::find(roles.workers.begin(), roles.workers.end(), static_cast<int>(r));
    const bool is_ps = node != roles.ps.end();
    lines.push_back({std::to_string(r), place.host, std::to_string(place.cpus),
                     is_ps ? fmt::format("PS node {}", node - roles.ps.begin())
                           : fmt::format("worker {}", worker - roles.workers.begin()),
                     is_ps ? fmt::format("{} ({})", place.endpoint, place.interface) : ""});
  }
  for (size_t n = 0; n < ps_endpoints.size(); ++n) {
    lines.push_back({"-", "-", "-", fmt::format("PS node {}", n), ps_endpoints[n]});
  }
  std::array<size_t, 5> widths = {};
  for (const Line& line : lines) {
    for (size_t c = 0; c < line.size(); ++c) widths[c] = std::max(widths[c], line[c].size());
  }
  std::string text = fmt::format(
      "{} on {}: {} of {}, {}\n", Counted(ranks.size(), "rank"), Counted(hosts.size(), "host"),
      Counted(roles.ps.size() + ps_endpoints.size(), "PS node"), Counted(shards_per_node, "shard"),
      Counted(roles.workers.size(), "worker"));
  for (const Line& line : lines) {
    std::string row = fmt::format("{:>{}}  {:<{}}  {:>{}}  {:<{}}  {}", line[0], widths[0], line[1],
                                  widths[1], line[2], widths[2], line[3], widths[3], line[4]);
    row.erase(row.find_last_not_of(' ') + 1);
    text += row + "\n";
  }
  return text;
}

}  // namespace rowhouse
