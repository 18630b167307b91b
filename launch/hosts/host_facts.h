// HostFacts: what a rank tells the other ranks about its host when they meet by MPI.
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
  std::string network;  // boot id and network namespace; if equal, loopback connects the two
  uint32_t cpus = 1;    // online
  std::vector<NetworkInterface> interfaces;
  bool operator==(const HostFacts&) const = default;
};

// The name of this host, as gethostname gives it.
std::string HostName();

// "AMD EPYC 9R14", as Linux calls its first CPU; "unknown CPU" where it has no name for it.
std::string CpuName();

HostFacts FactsOfThisHost();

// JSON, as ranks exchange it.
std::string ToText(const HostFacts& facts);
Result<HostFacts> HostFactsFromText(const std::string& text);

// The name of each rank's host; two are equal if and only if the ranks share a host, that is, a
// host name and a network. The second host of one name (a container) is "name#2".
std::vector<std::string> NamesOfHosts(std::span<const HostFacts> ranks);

// The interface on which the PS node of rank `rank` listens. `choice`: --bind_interface; "":
// loopback if all ranks share a network, else one that all others reach (network_interface.h).
// kUsage, naming the host, if there is none.
Result<NetworkInterface> InterfaceToListenOn(const std::string& choice,
                                             std::span<const HostFacts> ranks, size_t rank);

// mpirun binds each rank to one core, which all threads of the rank would share. If this process
// may run on fewer cores than `threads`, lets it run on all cores of the host that the system
// allows it, and logs that.
void WidenCpuMask(uint32_t threads);

}  // namespace rowhouse
