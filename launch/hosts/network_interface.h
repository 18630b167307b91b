// NetworkInterface: an address of a host, and the choice of the one its PS nodes listen on. IPv4,
// as all sockets of a run. Only InterfacesOfThisHost() asks the system; the rest are pure
// functions.
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

// Interfaces that are up, in the system's order, loopback included; one with two addresses twice.
std::vector<NetworkInterface> InterfacesOfThisHost();

bool IsLoopback(const NetworkInterface& interface);

// "tcp://host:port" with a port of [min_port, 65535]. ZeroMQ takes ports modulo 65536.
bool IsTcpAddress(const std::string& text, uint64_t min_port);

// The forms of --bind_interface: name ("eth0"), address ("10.0.0.1"), network ("10.0.0.0/24").
bool IsInterfaceChoice(const std::string& text);

// The first of `interfaces` that `choice` names. kUsage names the host and what it has.
Result<NetworkInterface> ChooseInterface(const std::string& choice, const std::string& host,
                                         const std::vector<NetworkInterface>& interfaces);

// What others reach this host by, where nobody has said it: the first interface, loopback left out,
// on whose network each of `others` (the interfaces of each other host) has an address; or else,
// between routed networks, the first. An address that another host has too (a bridge of containers)
// leads nowhere and is left out. kUsage if nothing is left.
Result<NetworkInterface> ReachableInterface(
    const std::string& host, const std::vector<NetworkInterface>& interfaces,
    const std::vector<std::vector<NetworkInterface>>& others);

}  // namespace rowhouse
