#include "launch/hosts/network_interface.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>

#include <algorithm>
#include <bit>
#include <memory>
#include <optional>

#include "common/read_value.h"

namespace rowhouse {
namespace {

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

}  // namespace

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

}  // namespace rowhouse
