#include "common/transport/local_socket.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>

#include "common/transport/security.h"

namespace rowhouse {
namespace {

constexpr std::string_view kLocalScheme = "ipc://@";

// Connects and closes at once. 0, and the listener's user; or the errno.
int ConnectLocally(const std::string& endpoint, uid_t* user) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  if (!endpoint.starts_with(kLocalScheme)) return EINVAL;
  const std::string name = endpoint.substr(kLocalScheme.size());
  if (name.empty() || name.size() >= sizeof(address.sun_path)) return EINVAL;
  std::ranges::copy(name, address.sun_path + 1);
  const auto bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return errno;
  int error = connect(fd, reinterpret_cast<const sockaddr*>(&address), bytes) == 0 ? 0 : errno;
  ucred peer = {};
  socklen_t peer_bytes = sizeof(peer);
  if (error == 0 && getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &peer_bytes) != 0) error = errno;
  *user = peer.uid;
  close(fd);
  return error;
}

}  // namespace

std::string NewLocalEndpoint() { return "ipc://@rowhouse-" + NewKey().substr(0, 32); }

bool IsOfThisHost(const std::string& endpoint) {
  uid_t user = 0;
  return ConnectLocally(endpoint, &user) == 0 && user == geteuid();
}

bool IsLocalEndpointGone(const std::string& endpoint) {
  uid_t user = 0;
  return ConnectLocally(endpoint, &user) == ECONNREFUSED;
}

}  // namespace rowhouse
