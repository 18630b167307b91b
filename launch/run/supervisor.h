// Supervisor: starts, watches and stops the server of a PS rank. The server, `rowhouse ps`, is a
// child process in a session of its own, so that a server that dies does not end the MPI rank.
//
// The supervisor owns the listening sockets and passes them on, so that ports are known before the
// server runs. A socket connects the two. Through it the supervisor sends the key of the run, which
// no list of processes may show, as one line (SecurityText); the server sends back its answers to
// inquiries. When the server reads end of file there, the supervisor is gone, and the server
// refuses new work, closes its stores and exits within --stop_deadline_ms. It saves nothing then:
// changed rows that only its caches have are lost.
// Threads: one.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "common/inquiry/inquiry.h"
#include "common/status.h"
#include "common/transport/security.h"
#include "common/transport/tcp_socket.h"
#include "launch/hosts/child_process.h"

namespace rowhouse {

struct SupervisorOptions {
  std::string address = "127.0.0.1";  // that the sockets listen on and workers reach
  uint32_t shards = 1;
  std::vector<std::string> flags;  // "--row_dir=..." of the server
  Security security;               // of the run; the server gets it through the socket
  std::string name;                // "PS node 1 (rank 1 on host a)"
  uint32_t stop_deadline_ms = 30000;
};

class Supervisor {
 public:
  explicit Supervisor(const SupervisorOptions& options);
  // Stops the server if it still runs. Errors are logged.
  ~Supervisor();
  Supervisor(const Supervisor&) = delete;
  Supervisor& operator=(const Supervisor&) = delete;

  // Binds the sockets and starts the server.
  Status Start();

  // "tcp://host:port" of the node.
  const std::string& endpoint() const { return endpoint_; }
  pid_t server_pid() const { return server_ == nullptr ? 0 : server_->pid(); }

  // Hands inquiries (common/inquiry/inquiry.h) and their answers on. OK while the server runs;
  // otherwise an error that says how it ended, with node, pid, and signal or exit code. kUsage if
  // the server ended because of the operator's mistake, which it has printed.
  Status Check();

  // Asks the server to end, waits for it at most stop_deadline_ms, then kills it. OK if it ended
  // with exit code 0. May be called again.
  Status Stop();

 private:
  Status Spawn();
  Status TakeEnd(const ChildEnd& end);

  const SupervisorOptions options_;
  std::string endpoint_;
  std::vector<ListeningSocket> sockets_;  // the node's, then the shards'
  int socket_to_child_ = -1;              // closing it asks the server to end
  std::unique_ptr<ChildProcess> server_;  // null: none runs
  Inquiry inquiry_;
  Status end_;  // OK until the server has ended otherwise than with exit code 0
};

}  // namespace rowhouse
