// ListeningSocket: a bound, listening TCP socket that can be handed to a child process, so that a
// restarted server keeps its port, and its peers wait in the kernel meanwhile.
//
// The descriptor is close-on-exec, so that no child inherits the port by accident.
// posix_spawn_file_actions_adddup2(&actions, fd, n) gives a child the socket as its descriptor n,
// without that flag, also if n == fd. The socket is non-blocking, as ZeroMQ accepts on it.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "common/status.h"

namespace rowhouse {

class ListeningSocket {
 public:
  ListeningSocket() = default;
  ListeningSocket(ListeningSocket&& other) noexcept { *this = std::move(other); }
  ListeningSocket& operator=(ListeningSocket&& other) noexcept;
  ListeningSocket(const ListeningSocket&) = delete;
  ListeningSocket& operator=(const ListeningSocket&) = delete;
  ~ListeningSocket() { Close(); }

  int fd() const { return fd_; }  // -1 once moved from or closed
  uint16_t port() const { return port_; }
  // "tcp://host:port" with the host asked for ("*" stays "*") and the port given.
  std::string endpoint() const;

  void Close();

 private:
  friend Result<ListeningSocket> ListenTcp(const std::string& host, uint16_t port);
  int fd_ = -1;
  uint16_t port_ = 0;
  std::string host_;
};

// `host`: an IPv4 address or name of this machine, "*" for all interfaces. `port` 0: any free port.
// kUsage for a port in use and for a host that is not this machine.
Result<ListeningSocket> ListenTcp(const std::string& host, uint16_t port);

// OK if a connection to "tcp://host:port" succeeds within deadline_ms; it is closed at once.
// Otherwise kUnavailable with the reason ("No route to host").
Status TryConnect(const std::string& endpoint, int deadline_ms);

// The host of "tcp://host:port" said within deadline_ms that nobody listens there. False for
// anything else, such as a host that does not answer.
bool RefusesConnections(const std::string& endpoint, int deadline_ms);

// "tcp://address:port" of an inherited socket; "tcp://0.0.0.0:port" if it listens on all
// interfaces. kUsage if it is no TCP socket.
Result<std::string> EndpointOf(int fd);

}  // namespace rowhouse
