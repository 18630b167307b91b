// A Transport over TCP, by ZeroMQ. Threads: see transport.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "common/transport/security.h"
#include "common/transport/transport.h"

namespace rowhouse {

struct ZeroMqOptions {
  int io_threads = 1;
  int64_t max_message_bytes = kMaxFrameBytes;  // larger frames close the connection
  int high_water_mark = 32;                    // messages to a peer that wait inside ZeroMQ
  size_t peer_queue_messages = 10000;          // further messages to a peer, in our own queue
  size_t peer_queue_bytes = size_t{1} << 30;   // and their bytes
  // Time between heartbeats; 0: there are none. Dialers send them, and a dialer drops a listener
  // that was silent for five such times. A listener uses TCP's keepalive instead, and drops a
  // dialer whose host was silent for as long.
  int heartbeat_ms = 2000;
  int linger_ms = 1000;  // how long closing waits for what is still to be sent
  Security security = {};
};

// A transport over TCP. Its listeners and dialers may outlive it. Raises the process's soft limit
// of open files to the hard one, as every connection needs one.
std::unique_ptr<Transport> MakeZeroMqTransport(const ZeroMqOptions& options);

}  // namespace rowhouse
