// HostFacts: what a rank tells the others of the host it runs on, once, when they meet by MPI.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "common/status.h"
#include "launch/hosts/network_interface.h"

namespace rowhouse {

struct HostFacts {
  std::string name;     // gethostname
  std::string network;  // boot and network namespace; equal: one reaches the other by loopback
  uint32_t cpus = 1;    // online
  std::vector<NetworkInterface> interfaces;
  bool operator==(const HostFacts&) const = default;
};

// gethostname's answer.
std::string HostName();

HostFacts FactsOfThisHost();

// As the ranks exchange them: JSON.
std::string ToText(const HostFacts& facts);
Result<HostFacts> HostFactsFromText(const std::string& text);

// By rank, names that differ exactly between hosts. Ranks share a host if name and network agree;
// of hosts of one name (containers, say) the second in rank order is "name#2".
std::vector<std::string> NamesOfHosts(std::span<const HostFacts> ranks);

// Where a PS node of rank `rank` listens. `choice`: --bind_interface; "": loopback where all ranks
// share a network, or else what the others reach (network_interface.h). kUsage names the host.
Result<NetworkInterface> InterfaceToListenOn(const std::string& choice,
                                             std::span<const HostFacts> ranks, size_t rank);

}  // namespace rowhouse
