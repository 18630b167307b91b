// A Transport between threads of one process: addresses are "inproc://name". Threads: see
// common/transport/transport.h.
#pragma once

#include <cstddef>
#include <memory>

#include "common/transport/transport.h"

namespace rowhouse {

// Queues between threads of one process. Two transports share no addresses.
std::unique_ptr<Transport> MakeInprocTransport(size_t peer_queue_messages = 10000);

}  // namespace rowhouse
