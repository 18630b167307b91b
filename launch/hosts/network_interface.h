// NetworkInterface: an address of a host, and the choice of the one on which its PS nodes listen.
// IPv4, as all sockets of a run. All but InterfacesOfThisHost() are pure functions.
#pragma once

#include <cstdint>
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

// Interfaces that are up, in the system's order, with loopback; one entry for each address.
std::vector<NetworkInterface> InterfacesOfThisHost();

bool IsLoopback(const NetworkInterface& interface);

// "tcp://host:port" with a port of [min_port, 65535]. ZeroMQ takes ports modulo 65536.
bool IsTcpAddress(const std::string& text, uint64_t min_port);

// The forms of --bind_interface: name ("eth0"), address ("10.0.0.1"), network ("10.0.0.0/24").
bool IsInterfaceChoice(const std::string& text);

// The first of `interfaces` that `choice` names. kUsage, naming the host and its interfaces, if
// there is none.
Result<NetworkInterface> ChooseInterface(const std::string& choice, const std::string& host,
                                         const std::vector<NetworkInterface>& interfaces);

// The interface by which the other hosts reach this one: the first, other than loopback, on whose
// network each of `others` (the interfaces of each other host) has an address; if there is none,
// the first, as networks may be routed. An address that another host has too (a bridge of
// containers) is left out. kUsage if no interface is left.
Result<NetworkInterface> ReachableInterface(
    const std::string& host, const std::vector<NetworkInterface>& interfaces,
    const std::vector<std::vector<NetworkInterface>>& others);

}  // namespace rowhouse
