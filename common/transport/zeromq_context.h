// What all sockets of one ZeroMQ transport share. Threads: any.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <zmq.hpp>

#include "common/transport/flood_guard.h"
#include "common/transport/release_list.h"
#include "common/transport/zeromq.h"
#include "common/transport/zeromq_gate.h"

namespace rowhouse {

struct ZeroMqContext {
  explicit ZeroMqContext(const ZeroMqOptions& zeromq_options) : options(zeromq_options) {
    if (options.process_bytes > 0) guard.emplace(options.process_bytes);
  }
  // Made by the first listener.
  ZeroMqGate& Gate() {
    std::call_once(gate_is_made, [this] { gate.emplace(zmq, options.security); });
    return *gate;
  }

  const ZeroMqOptions options;
  // Before `zmq`, which returns the last loans when it ends.
  ReleaseList loans;
  zmq::context_t zmq;
  std::once_flag gate_is_made;
  std::optional<ZeroMqGate> gate;
  std::optional<FloodGuard> guard;
};

}  // namespace rowhouse
