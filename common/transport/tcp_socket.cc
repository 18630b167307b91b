#include "common/transport/tcp_socket.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>

namespace rowhouse {
namespace {

// All workers of a cluster may call within one millisecond; the kernel cuts it to somaxconn.
constexpr int kListenBacklog = 4096;

struct FreeAddresses {
  void operator()(addrinfo* addresses) const { freeaddrinfo(addresses); }
};
using Addresses = std::unique_ptr<addrinfo, FreeAddresses>;

Result<Addresses> Resolve(const std::string& host, const std::string& where) {
  addrinfo hints = {};
  hints.ai_family = AF_INET;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE;
  addrinfo* found = nullptr;
  const char* name = host == "*" ? nullptr : host.c_str();
  if (const int error = getaddrinfo(name, "0", &hints, &found); error != 0) {
    return UsageError("cannot listen on {}: {}", where, gai_strerror(error));
  }
  return Addresses(found);
}

Status ListenError(const std::string& where) {
  if (errno == EADDRINUSE) {
    return UsageError(
        "cannot listen on {}: address already in use (another process has this port; choose "
        "another, or 0 for any that is free)",
        where);
  }
  if (errno == EADDRNOTAVAIL) {
    return UsageError("cannot listen on {}: this machine has no such address", where);
  }
  if (errno == EACCES) return UsageError("cannot listen on {}: not allowed", where);
  return MakeStatus(StatusCode::kIoError, "cannot listen on {}: {}", where, std::strerror(errno));
}

}  // namespace

ListeningSocket& ListeningSocket::operator=(ListeningSocket&& other) noexcept {
  if (this == &other) return *this;
  Close();
  fd_ = std::exchange(other.fd_, -1);
  port_ = other.port_;
  host_ = std::move(other.host_);
  return *this;
}

std::string ListeningSocket::endpoint() const { return fmt::format("tcp://{}:{}", host_, port_); }

void ListeningSocket::Close() {
  if (fd_ >= 0) close(fd_);
  fd_ = -1;
}

Result<ListeningSocket> ListenTcp(const std::string& host, uint16_t port) {
  ListeningSocket result;
  result.host_ = host;
  result.port_ = port;
  const std::string where = result.endpoint();
  ASSIGN_OR_RETURN(const Addresses addresses, Resolve(host, where));
  sockaddr_in address = {};
  std::memcpy(&address, addresses->ai_addr, sizeof(address));
  address.sin_port = htons(port);

  result.fd_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (result.fd_ < 0) return ListenError(where);
  // A port whose last connections are in TIME_WAIT is free; one with a listener is not.
  const int on = 1;
  socklen_t length = sizeof(address);
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  if (setsockopt(result.fd_, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) != 0 ||
      bind(result.fd_, generic, length) != 0 || listen(result.fd_, kListenBacklog) != 0 ||
      getsockname(result.fd_, generic, &length) != 0) {
    return ListenError(where);
  }
  result.port_ = ntohs(address.sin_port);
  return result;
}

namespace {

// Connects and closes at once. OK, or the reason; `*refused`: it was ECONNREFUSED.
Status ConnectOnce(const std::string& endpoint, int deadline_ms, bool* refused) {
  constexpr std::string_view kTcpScheme = "tcp://";
  const size_t colon = endpoint.rfind(':');
  CHECK(endpoint.starts_with(kTcpScheme) && colon > kTcpScheme.size()) << endpoint;
  const std::string host = endpoint.substr(kTcpScheme.size(), colon - kTcpScheme.size());
  addrinfo hints = {};
  hints.ai_family = AF_INET;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const auto failed = [&](const char* why) {
    return MakeStatus(StatusCode::kUnavailable, "cannot connect to {}: {}", endpoint, why);
  };
  if (const int error = getaddrinfo(host.c_str(), endpoint.c_str() + colon + 1, &hints, &found);
      error != 0) {
    return failed(gai_strerror(error));
  }
  const Addresses addresses(found);
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return failed(std::strerror(errno));
  int error = connect(fd, addresses->ai_addr, addresses->ai_addrlen) == 0 ? 0 : errno;
  if (error == EINPROGRESS) {
    pollfd connecting = {.fd = fd, .events = POLLOUT, .revents = 0};
    socklen_t bytes = sizeof(error);
    if (poll(&connecting, 1, deadline_ms) != 1) {
      error = ETIMEDOUT;
    } else if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &bytes) != 0) {
      error = errno;
    }
  }
  close(fd);
  *refused = error == ECONNREFUSED;
  return error == 0 ? OkStatus() : failed(std::strerror(error));
}

}  // namespace

Status TryConnect(const std::string& endpoint, int deadline_ms) {
  bool refused = false;
  return ConnectOnce(endpoint, deadline_ms, &refused);
}

bool RefusesConnections(const std::string& endpoint, int deadline_ms) {
  bool refused = false;
  return !ConnectOnce(endpoint, deadline_ms, &refused).ok() && refused;
}

Result<std::string> EndpointOf(int fd) {
  sockaddr_in address = {};
  socklen_t bytes = sizeof(address);
  if (getsockname(fd, reinterpret_cast<sockaddr*>(&address), &bytes) != 0 ||
      address.sin_family != AF_INET) {
    return UsageError("descriptor {} is no TCP socket", fd);
  }
  char text[INET_ADDRSTRLEN] = {};
  inet_ntop(AF_INET, &address.sin_addr, text, sizeof(text));
  return fmt::format("tcp://{}:{}", text, ntohs(address.sin_port));
}

}  // namespace rowhouse
