// How frames become ZeroMQ's messages and back, and how they enter and leave a socket without ever
// waiting. Threads: that of the socket.
#pragma once

#include <atomic>
#include <cstddef>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>
#include <zmq.hpp>

#include "common/frame.h"
#include "common/status.h"
#include "common/transport/transport.h"
#include "common/transport/zeromq_context.h"

namespace rowhouse {

// Appends the frame as pieces of kMaxPieceBytes and one that is not full, perhaps empty.
void CutFrame(const Frame& frame, Frames* pieces);

// Puts pieces together to frames. No frames at all: one would be larger than `max_bytes`.
Frames JoinFrames(Frames pieces, size_t max_bytes);

using Parts = std::vector<zmq::message_t>;

// Bytes that wait for one peer inside ZeroMQ and in its outbox, of frames that are not copied.
using Unsent = std::shared_ptr<std::atomic<size_t>>;

// kResourceExhausted for a frame at which the peer would hang up.
Result<Parts> ToParts(ZeroMqContext& context, Frames whole, const Unsent& unsent = nullptr);

struct Received {
  Incoming incoming;
  bool is_stamped = true;  // whether a listener may believe it
  size_t bytes = 0;
};
// One whole message if there is one.
std::optional<Received> TryReceive(ZeroMqContext& context, zmq::socket_t& socket, bool is_router);

enum class Sent { kYes, kFull, kUnreachable };

// The queue of messages to one peer that ZeroMQ's own queue did not take. Everything to that peer
// goes through it, so that order is kept. `peer`: null where the socket is no ROUTER.
class MessageOutbox {
 public:
  bool empty() const { return waiting_.empty(); }
  size_t size() const { return waiting_.size(); }
  // Memory of what waits, beside frames that are lent to ZeroMQ.
  size_t own_bytes() const { return own_bytes_; }
  void Clear();

  // kFull: some still wait.
  Sent Flush(zmq::socket_t& socket, const PeerId* peer);

  // kUnavailable and kResourceExhausted as in transport.h. `where`: for the message.
  Status Send(zmq::socket_t& socket, const PeerId* peer, Parts parts, const ZeroMqOptions& options,
              const std::string& where);

 private:
  size_t bytes_ = 0;  // of those that wait
  size_t own_bytes_ = 0;
  std::deque<Parts> waiting_;
};

}  // namespace rowhouse
