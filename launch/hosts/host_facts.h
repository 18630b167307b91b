// HostFacts: what a rank sends the other ranks about its host when they meet by MPI; and the choice
// of the network interface on which the PS nodes of a host listen. IPv4, as all sockets of a run.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "common/status.h"

namespace rowhouse {

struct NetworkInterface {
  std::string name;            // "eth0"
  std::string address;         // "10.0.0.1"
  uint32_t prefix_length = 0;  // bits of the network, 0..32
  bool operator==(const NetworkInterface&) const = default;
};

struct HostFacts {
  std::string name;     // gethostname
  std::string network;  // boot id and network namespace; if equal, loopback connects the two
  uint32_t cpus = 1;    // online
  std::vector<NetworkInterface>
      interfaces;  // that are up, one for each address, as the system orders them
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

// mpirun binds each rank to one core, which all threads of the rank would share. If this process
// may run on fewer cores than `threads`, lets it run on all cores of the host that the system
// allows it, and logs that.
void WidenCpuMask(uint32_t threads);

// ---- Network interfaces ---------------------------------------------------------------------

// "tcp://host:port" with a port of [min_port, 65535]. ZeroMQ takes ports modulo 65536.
bool IsTcpAddress(const std::string& text, uint64_t min_port);

// The forms of --bind_interface: name ("eth0"), address ("10.0.0.1"), network ("10.0.0.0/24").
bool IsInterfaceChoice(const std::string& text);

// The interface on which the PS node of rank `rank` listens. `choice`: --bind_interface; "":
// loopback if all ranks share a network, else the first other one on whose network each other host
// has an address; if there is none, the first, as networks may be routed. An address that another
// host has too (a bridge of containers) is left out. kUsage, naming the host and its interfaces, if
// there is none.
Result<NetworkInterface> InterfaceToListenOn(const std::string& choice,
                                             std::span<const HostFacts> ranks, size_t rank);

}  // namespace rowhouse
