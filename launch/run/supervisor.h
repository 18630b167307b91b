// Supervisor: what a PS rank is. Its server is a child process of its own (`rowhouse ps`, by
// posix_spawn and exec, in a session of its own), because a server that dies must not take the
// MPI rank with it, and because a process that has called MPI_Init must not fork.
//
// The supervisor owns the listening sockets and hands them on, so that a server started anew keeps
// its ports. A pipe ties the child to it: at end of file the supervisor is gone, and the server
// refuses new work, closes its stores and exits within --stop_deadline_ms.
// Threads: one.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "common/status.h"
#include "common/transport/tcp_socket.h"

namespace rowhouse {

struct SupervisorOptions {
  std::string address = "127.0.0.1";  // that the sockets listen on and workers reach
  uint16_t port = 0;                  // of the node; 0: of the OS's choice
  uint32_t shards = 1;
  std::vector<std::string> flags;  // "--row_dir=..." of the server
  std::string name;                // "PS node 1 (rank 1 on host a)"
  uint32_t stop_deadline_ms = 30000;
};

class Supervisor {
 public:
  explicit Supervisor(const SupervisorOptions& options);
  // Stops a server that still runs; what went wrong is only logged then.
  ~Supervisor();
  Supervisor(const Supervisor&) = delete;
  Supervisor& operator=(const Supervisor&) = delete;

  // Binds the sockets and starts the server. A port in use is kUsage.
  Status Start();

  // "tcp://host:port" of the node.
  const std::string& endpoint() const { return endpoint_; }
  pid_t pid() const { return pid_; }

  // OK while the server runs; else how it ended, naming node, pid and signal or exit code. kUsage
  // where the server found a mistake of the operator's, of which it has spoken itself.
  Status Check();

  // Asks the server to end and waits for it, at most stop_deadline_ms; kills it then. OK if it
  // ended in order. Stopping twice is fine.
  Status Stop();

 private:
  Status Spawn();
  Status TakeEnd(int wait_status);

  const SupervisorOptions options_;
  std::string endpoint_;
  std::vector<ListeningSocket> sockets_;  // the node's, then the shards'
  int pipe_to_child_ = -1;                // held open; closing it is the order to stop
  pid_t pid_ = -1;
  Status end_;  // how it ended; OK before and after an end in order
};

}  // namespace rowhouse
