#include "launch/hosts/host_facts.h"

#include <arpa/inet.h>
#include <glog/logging.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <fstream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "common/json_text.h"
#include "common/read_value.h"

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

std::optional<uint32_t> ReadAddress(const std::string& text) {
  in_addr address = {};
  if (inet_pton(AF_INET, text.c_str(), &address) != 1) return std::nullopt;
  return ntohl(address.s_addr);
}

uint32_t MaskOf(uint32_t prefix_length) {
  return prefix_length == 0 ? 0 : ~uint32_t{0} << (32 - prefix_length);
}

struct Network {
  uint32_t address = 0;
  uint32_t prefix_length = 32;
  bool Holds(uint32_t other) const { return ((address ^ other) & MaskOf(prefix_length)) == 0; }
};

// "10.0.0.0/24"; an address alone is a network of one.
std::optional<Network> ReadNetwork(const std::string& text) {
  const size_t slash = text.find('/');
  const auto address = ReadAddress(text.substr(0, slash));
  if (!address) return std::nullopt;
  if (slash == std::string::npos) return Network{*address};
  const auto prefix_length = ReadWhole(text.substr(slash + 1));
  if (!prefix_length || *prefix_length > 32) return std::nullopt;
  return Network{*address, static_cast<uint32_t>(*prefix_length)};
}

uint32_t AddressOf(const NetworkInterface& interface) {
  return ReadAddress(interface.address).value();
}

std::string Describe(const std::vector<NetworkInterface>& interfaces) {
  std::string text;
  for (const NetworkInterface& one : interfaces) {
    text += fmt::format("{}{} {}/{}", text.empty() ? "" : ", ", one.name, one.address,
                        one.prefix_length);
  }
  return text.empty() ? "none" : text;
}

// In the order of the system, with loopback.
std::vector<NetworkInterface> InterfacesOfThisHost() {
  ifaddrs* first = nullptr;
  if (getifaddrs(&first) != 0) return {};
  const std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> list(first, &freeifaddrs);
  std::vector<NetworkInterface> interfaces;
  for (const ifaddrs* entry = first; entry != nullptr; entry = entry->ifa_next) {
    if (entry->ifa_addr == nullptr || entry->ifa_addr->sa_family != AF_INET) continue;
    if ((entry->ifa_flags & IFF_UP) == 0) continue;
    const auto* address = reinterpret_cast<const sockaddr_in*>(entry->ifa_addr);
    const auto* mask = reinterpret_cast<const sockaddr_in*>(entry->ifa_netmask);
    char text[INET_ADDRSTRLEN] = {};
    inet_ntop(AF_INET, &address->sin_addr, text, sizeof(text));
    const uint32_t bits = mask == nullptr ? ~uint32_t{0} : mask->sin_addr.s_addr;
    interfaces.push_back({.name = entry->ifa_name,
                          .address = text,
                          .prefix_length = static_cast<uint32_t>(std::popcount(bits))});
  }
  return interfaces;
}

bool IsLoopback(const NetworkInterface& interface) { return AddressOf(interface) >> 24 == 127; }

// The first that `choice` names.
Result<NetworkInterface> ChooseInterface(const std::string& choice, const std::string& host,
                                         const std::vector<NetworkInterface>& interfaces) {
  const std::optional<Network> network = ReadNetwork(choice);
  const auto is_chosen = [&](const NetworkInterface& one) {
    return network ? network->Holds(AddressOf(one)) : one.name == choice;
  };
  const auto found = std::find_if(interfaces.begin(), interfaces.end(), is_chosen);
  if (found != interfaces.end()) return *found;
  return UsageError("--bind_interface={}: host {} has no such interface; those with an address: {}",
                    choice, host, Describe(interfaces));
}

// By which the other hosts reach this one; `others`: the interfaces of each of them.
Result<NetworkInterface> ReachableInterface(
    const std::string& host, const std::vector<NetworkInterface>& interfaces,
    const std::vector<std::vector<NetworkInterface>>& others) {
  const auto is_of_another = [&](const NetworkInterface& one) {
    return std::ranges::any_of(others, [&](const auto& other) {
      return std::ranges::any_of(other,
                                 [&](const auto& its) { return its.address == one.address; });
    });
  };
  const auto is_seen_by_all = [&](const NetworkInterface& one) {
    const Network network{AddressOf(one), one.prefix_length};
    return std::ranges::all_of(others, [&](const auto& other) {
      return std::ranges::any_of(other,
                                 [&](const auto& its) { return network.Holds(AddressOf(its)); });
    });
  };
  std::vector<NetworkInterface> left;
  for (const NetworkInterface& one : interfaces) {
    if (!IsLoopback(one) && !is_of_another(one)) left.push_back(one);
  }
  if (left.empty()) {
    return UsageError(
        "host {} has no address by which other hosts could reach its PS nodes (interfaces: {}); "
        "give it one",
        host, Describe(interfaces));
  }
  const auto found = std::find_if(left.begin(), left.end(), is_seen_by_all);
  return found == left.end() ? left.front() : *found;
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

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(NetworkInterface, name, address, prefix_length)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(HostFacts, name, network, cpus, interfaces)

// A host's name may be any bytes, which DumpJson takes.
std::string ToText(const HostFacts& facts) { return DumpJson(nlohmann::json(facts)); }

Result<HostFacts> HostFactsFromText(const std::string& text) {
  try {
    ASSIGN_OR_RETURN(const nlohmann::json json, ParseJson(text));
    return json.get<HostFacts>();
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

bool IsTcpAddress(const std::string& text, uint64_t min_port) {
  const size_t colon = text.rfind(':');
  if (!text.starts_with("tcp://") || colon <= 6) return false;
  const auto port = ReadWhole(text.substr(colon + 1));
  return port && *port >= min_port && *port <= 65535;
}

bool IsInterfaceChoice(const std::string& text) {
  if (ReadNetwork(text)) return true;
  const auto is_of_name = [](char c) { return c > ' ' && c < 127 && c != '/' && c != '*'; };
  const bool is_number = text.find_first_not_of("0123456789.") == std::string::npos;
  return !text.empty() && text.size() < IFNAMSIZ && !is_number &&
         std::all_of(text.begin(), text.end(), is_of_name);
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

}  // namespace rowhouse
