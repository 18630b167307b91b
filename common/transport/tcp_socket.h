// ListeningSocket: a bound TCP socket that listens and can be handed to a child, so that a server
// that is started again keeps its port and its callers wait in the kernel meanwhile.
//
// Handing on: the descriptor is close-on-exec, so that no child has it by accident (a child that
//   holds a port for ever is hard to find). posix_spawn_file_actions_adddup2(&actions, fd, n)
//   gives the child a copy under number n without that flag, for any n, also n == fd.
// Non-blocking, because ZeroMQ accepts on it: the flag belongs to the socket, thus to all copies.
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

// `host`: an IPv4 address or name of this machine, "*" for all interfaces. `port` 0: the OS's
// choice. A port in use, an unknown or foreign host are kUsage.
Result<ListeningSocket> ListenTcp(const std::string& host, uint16_t port);

// Whether somebody listens at "tcp://host:port" and can be reached from here, within deadline_ms:
// connects and closes. kUnavailable says why not ("No route to host").
Status TryConnect(const std::string& endpoint, int deadline_ms);

// "tcp://address:port" of a socket inherited from whoever bound it; "tcp://0.0.0.0:port" if it
// listens on all interfaces. kUsage if it is no TCP socket.
Result<std::string> EndpointOf(int fd);

}  // namespace rowhouse
