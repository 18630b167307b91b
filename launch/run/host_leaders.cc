#include "launch/run/host_leaders.h"

#include <algorithm>
#include <span>

namespace rowhouse {
namespace {

Result<std::vector<std::string>> GatherTexts(Communicator& workers, const std::string& mine,
                                             const std::string& phase) {
  ASSIGN_OR_RETURN(const auto all, workers.AllGather(std::as_bytes(std::span(mine)), phase));
  std::vector<std::string> texts;
  for (const std::vector<std::byte>& bytes : all) {
    texts.emplace_back(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  }
  return texts;
}

}  // namespace

Result<HostLeaders> HostLeaders::Find(Communicator& workers, const std::string& host) {
  ASSIGN_OR_RETURN(const std::vector<std::string> hosts,
                   GatherTexts(workers, host, "finding the workers of each host"));
  HostLeaders leaders;
  leaders.rank_ = Raw(workers.rank());
  leaders.leader_ = static_cast<uint32_t>(std::ranges::find(hosts, host) - hosts.begin());
  return leaders;
}

Result<std::string> HostLeaders::FromLeader(Communicator& workers, const std::string& text,
                                            const std::string& phase) const {
  ASSIGN_OR_RETURN(const std::vector<std::string> all, GatherTexts(workers, text, phase));
  return all.at(leader_);
}

}  // namespace rowhouse
