#include "launch/hosts/host_facts.h"

#include <glog/logging.h>
#include <sched.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "common/json_text.h"

namespace rowhouse {
namespace {

// Containers and network namespaces of one machine are hosts of their own, though they share the
// boot id and sometimes the name.
std::string NetworkOfThisProcess() {
  std::string boot;
  std::getline(std::ifstream("/proc/sys/kernel/random/boot_id"), boot);
  struct stat network = {};
  if (stat("/proc/self/ns/net", &network) != 0) return boot;
  return fmt::format("{}/{}", boot, network.st_ino);
}

}  // namespace

std::string HostName() {
  char name[256] = {};
  gethostname(name, sizeof(name) - 1);
  return name;
}

std::string CpuName() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with("model name")) continue;
    const size_t at = line.find(": ");
    if (at != std::string::npos) return line.substr(at + 2);
  }
  return "unknown CPU";
}

HostFacts FactsOfThisHost() {
  return {.name = HostName(),
          .network = NetworkOfThisProcess(),
          .cpus = static_cast<uint32_t>(std::max(1L, sysconf(_SC_NPROCESSORS_ONLN))),
          .interfaces = InterfacesOfThisHost()};
}

std::string ToText(const HostFacts& facts) {
  nlohmann::json json = {{"name", facts.name},
                         {"network", facts.network},
                         {"cpus", facts.cpus},
                         {"interfaces", nlohmann::json::array()}};
  for (const NetworkInterface& one : facts.interfaces) {
    json["interfaces"].push_back({one.name, one.address, one.prefix_length});
  }
  // A host's name may be any bytes.
  return DumpJson(json);
}

Result<HostFacts> HostFactsFromText(const std::string& text) {
  try {
    ASSIGN_OR_RETURN(const nlohmann::json json, ParseJson(text));
    HostFacts facts{.name = json.at("name"),
                    .network = json.at("network"),
                    .cpus = json.at("cpus"),
                    .interfaces = {}};
    for (const auto& one : json.at("interfaces")) {
      facts.interfaces.push_back(
          {.name = one.at(0), .address = one.at(1), .prefix_length = one.at(2)});
    }
    return facts;
  } catch (const nlohmann::json::exception& error) {
    return CorruptionError("facts of a host: {}", error.what());
  }
}

std::vector<std::string> NamesOfHosts(std::span<const HostFacts> ranks) {
  std::map<std::string, std::vector<std::string>> networks_of_name;
  std::vector<std::string> names;
  for (const HostFacts& facts : ranks) {
    std::vector<std::string>& networks = networks_of_name[facts.name];
    auto place = std::find(networks.begin(), networks.end(), facts.network);
    if (place == networks.end()) place = networks.insert(place, facts.network);
    const auto before = place - networks.begin();
    names.push_back(before == 0 ? facts.name : fmt::format("{}#{}", facts.name, before + 1));
  }
  return names;
}

Result<NetworkInterface> InterfaceToListenOn(const std::string& choice,
                                             std::span<const HostFacts> ranks, size_t rank) {
  const HostFacts& mine = ranks[rank];
  const std::string host = NamesOfHosts(ranks)[rank];
  std::map<std::string, std::vector<NetworkInterface>> by_network;
  for (const HostFacts& facts : ranks) {
    if (facts.network != mine.network) by_network.emplace(facts.network, facts.interfaces);
  }
  if (!choice.empty()) {
    ASSIGN_OR_RETURN(const NetworkInterface chosen, ChooseInterface(choice, host, mine.interfaces));
    if (by_network.empty() || !IsLoopback(chosen)) return chosen;
    return UsageError(
        "--bind_interface={}: that is {} of host {}, where nobody on another host can reach its PS "
        "nodes; name an interface of a network that all hosts share",
        choice, chosen.address, host);
  }
  if (by_network.empty()) {
    return NetworkInterface{.name = "lo", .address = "127.0.0.1", .prefix_length = 8};
  }
  std::vector<std::vector<NetworkInterface>> others;
  for (const auto& [network, interfaces] : by_network) others.push_back(interfaces);
  return ReachableInterface(host, mine.interfaces, others);
}

void WidenCpuMask(uint32_t threads) {
  cpu_set_t mask;
  if (sched_getaffinity(0, sizeof(mask), &mask) != 0) return;
  const auto allowed = static_cast<uint32_t>(CPU_COUNT(&mask));
  const long online = sysconf(_SC_NPROCESSORS_ONLN);
  if (allowed >= threads || allowed >= online) return;
  cpu_set_t all;
  CPU_ZERO(&all);
  for (long cpu = 0; cpu < online; ++cpu) CPU_SET(static_cast<size_t>(cpu), &all);
  // Fails if a cpuset forbids more cores; then the mask stays.
  if (sched_setaffinity(0, sizeof(all), &all) != 0) return;
  LOG(INFO) << "bound to " << allowed << " of " << online << " cores with " << threads
            << " threads: using all cores";
}

}  // namespace rowhouse
