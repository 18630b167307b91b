#include "launch/hosts/rank_map.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "common/counted.h"

namespace rowhouse {

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
