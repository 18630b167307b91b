#include "common/transport/zeromq_messages.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "common/transport/zeromq_security.h"

namespace rowhouse {

void CutFrame(const Frame& frame, Frames* pieces) {
  for (size_t at = 0;; at += kMaxPieceBytes) {
    const size_t bytes = std::min<size_t>(kMaxPieceBytes, frame.size() - at);
    pieces->push_back(Frame::CopyOf(frame.bytes().subspan(at, bytes)));
    if (bytes < kMaxPieceBytes) return;
  }
}

Frames JoinFrames(Frames pieces, size_t max_bytes) {
  const auto is_full = [](const Frame& piece) { return piece.size() == kMaxPieceBytes; };
  if (std::none_of(pieces.begin(), pieces.end(), is_full)) return pieces;
  Frames frames;
  for (auto first = pieces.begin(); first != pieces.end();) {
    auto last = std::find_if_not(first, pieces.end(), is_full);
    if (last != pieces.end()) ++last;
    if (last - first == 1) {
      frames.push_back(std::move(*first));
    } else {
      size_t bytes = 0;
      for (auto piece = first; piece != last; ++piece) bytes += piece->size();
      if (bytes > max_bytes) return {};
      Frame& frame = frames.emplace_back(bytes);
      std::byte* to = frame.data();
      for (auto piece = first; piece != last; ++piece) {
        to = std::copy_n(piece->data(), piece->size(), to);
        *piece = Frame();
      }
    }
    first = last;
  }
  return frames;
}

namespace {

// From here on a frame is cheaper to hand over than to copy (an allocation each way, and a free on
// another core). Also the largest message that libzmq leaves in its shared buffer.
constexpr size_t kZeroCopyBytes = 8192;
// A message has seven frames at most, and a frame eleven pieces.
constexpr size_t kMaxParts = 256;

void DeleteMessage(void* /*data*/, void* hint) { delete static_cast<zmq::message_t*>(hint); }

Frame ToFrame(zmq::message_t message) {
  const bool is_aligned = reinterpret_cast<uintptr_t>(message.data()) % alignof(uint64_t) == 0;
  if (message.size() <= kZeroCopyBytes || !is_aligned) {
    return Frame::CopyOf(std::span(message.data<std::byte>(), message.size()));
  }
  auto* kept = new zmq::message_t(std::move(message));
  return Frame(kept->data<std::byte>(), kept->size(), &DeleteMessage, kept);
}

// 0 or the error. Never waits.
int SendPart(zmq::socket_t& socket, zmq::message_t& part, bool more) {
  const int flags = ZMQ_DONTWAIT | (more ? ZMQ_SNDMORE : 0);
  while (zmq_msg_send(part.handle(), socket.handle(), flags) < 0) {
    if (errno != EINTR) return errno;
  }
  return 0;
}

// Sends `parts`, to `peer` where the socket is a ROUTER. They are untouched if the answer is kFull.
Sent TrySend(zmq::socket_t& socket, const PeerId* peer, Parts& parts) {
  if (peer != nullptr) {
    zmq::message_t address(peer->data(), peer->size());
    const int error = SendPart(socket, address, /*more=*/true);
    if (error == EAGAIN) return Sent::kFull;
    if (error == EHOSTUNREACH) return Sent::kUnreachable;
    CHECK_EQ(error, 0) << zmq_strerror(error);
  }
  bool is_cut = false;
  for (size_t i = 0; i < parts.size(); ++i) {
    const int error = SendPart(socket, parts[i], /*more=*/i + 1 < parts.size());
    if (error == EAGAIN && i == 0 && peer == nullptr) return Sent::kFull;
    CHECK(error == 0 || error == EAGAIN || error == EHOSTUNREACH) << zmq_strerror(error);
    // The connection ended within the message, and ZeroMQ has rolled it back; it still wants the
    // rest, which it drops, before the next message may begin.
    if (error != 0) is_cut = true;
  }
  return is_cut ? Sent::kUnreachable : Sent::kYes;
}

size_t BytesOf(const Parts& parts) {
  size_t bytes = 0;
  for (const zmq::message_t& part : parts) bytes += part.size();
  return bytes;
}

size_t OwnBytesOf(const Parts& parts) {
  size_t bytes = 0;
  for (const zmq::message_t& part : parts) {
    bytes += sizeof(zmq_msg_t) + (part.size() < kZeroCopyBytes ? part.size() : 0);
  }
  return bytes;
}

}  // namespace

Result<Parts> ToParts(ZeroMqContext& context, Frames whole, const Unsent& unsent) {
  CHECK(!whole.empty());
  Frames frames;
  frames.reserve(whole.size());
  for (Frame& frame : whole) {
    const auto bytes = static_cast<int64_t>(frame.size());
    if (bytes > kMaxFrameBytes ||
        std::min(bytes, kMaxPieceBytes) > context.options.max_message_bytes) {
      return MakeStatus(StatusCode::kResourceExhausted,
                        "frame of {} bytes: the peer would hang up above {}", bytes,
                        std::min(kMaxFrameBytes, context.options.max_message_bytes));
    }
    if (bytes < kMaxPieceBytes) {
      frames.push_back(std::move(frame));
    } else {
      CutFrame(frame, &frames);
    }
  }
  Parts parts;
  parts.reserve(frames.size());
  for (Frame& frame : frames) {
    if (frame.size() < kZeroCopyBytes) {
      zmq::message_t& part = parts.emplace_back(frame.size());
      if (frame.size() > 0) std::memcpy(part.data(), frame.data(), frame.size());
    } else {
      ReleaseList::Loan* loan = context.loans.Lend(std::move(frame), unsent);
      parts.emplace_back(loan->frame.data(), loan->frame.size(), &ReleaseList::Return, loan);
    }
  }
  return parts;
}

namespace {

// `*is_wanted`: whether anybody has to look at it.
std::optional<Received> TakeWhole(ZeroMqContext& context, zmq::socket_t& socket, bool is_router,
                                  bool* is_wanted) {
  Received received;
  Incoming& incoming = received.incoming;
  *is_wanted = true;
  constexpr size_t kPeerBytes = 192;  // of the sender's name, which each message brings
  uint64_t bytes = 0, memory_bytes = kPeerBytes;
  size_t parts = 0;
  int fd = -1;
  bool has_peer = !is_router;
  for (bool more = true; more;) {
    zmq::message_t part;
    while (zmq_msg_recv(part.handle(), socket.handle(), ZMQ_DONTWAIT) < 0) {
      if (errno == EINTR) continue;
      CHECK_EQ(errno, EAGAIN) << zmq_strerror(errno);
      CHECK(incoming.frames.empty()) << "ZeroMQ gives messages whole";
      return std::nullopt;
    }
    more = part.more();
    if (has_peer && context.guard) {
      if (fd < 0) fd = zmq_msg_get(part.handle(), ZMQ_SRCFD);
      constexpr size_t kShort = 256, kBesideShort = 2, kBesideLong = 9;  // flags and length
      constexpr size_t kCurveBytes = 33;  // of its command's name, nonce, tag and flags
      const bool is_curve = context.options.security.kind == Security::Kind::kCurve;
      const size_t sent = part.size() + (is_curve ? kCurveBytes : 0);
      bytes += sent + (sent < kShort ? kBesideShort : kBesideLong);
      memory_bytes += sizeof(zmq_msg_t);
    }
    if (has_peer) {
      if (is_router) {
        received.is_stamped =
            received.is_stamped && IsStamped(context.options.security, incoming.peer, part);
      }
      if (++parts <= kMaxParts) incoming.frames.push_back(ToFrame(std::move(part)));
    } else {
      incoming.peer = part.to_string();
      has_peer = true;
    }
  }
  if (parts > kMaxParts) incoming.frames.clear();
  incoming.frames = JoinFrames(std::move(incoming.frames), context.options.max_frame_bytes);
  if (fd >= 0) *is_wanted = context.guard->CountRead(fd, bytes, bytes + memory_bytes);
  received.bytes = bytes;
  return received;
}

}  // namespace

std::optional<Received> TryReceive(ZeroMqContext& context, zmq::socket_t& socket, bool is_router) {
  for (bool is_wanted = false;;) {
    auto received = TakeWhole(context, socket, is_router, &is_wanted);
    if (is_wanted) return received;
  }
}

// ---- Messages that ZeroMQ's own queue did not take ----------------------------------------------

void MessageOutbox::Clear() {
  waiting_.clear();
  bytes_ = own_bytes_ = 0;
}

Sent MessageOutbox::Flush(zmq::socket_t& socket, const PeerId* peer) {
  while (!waiting_.empty()) {
    // Sent parts are empty.
    const size_t bytes = BytesOf(waiting_.front()), own_bytes = OwnBytesOf(waiting_.front());
    const Sent sent = TrySend(socket, peer, waiting_.front());
    if (sent != Sent::kYes) return sent;
    bytes_ -= bytes;
    own_bytes_ -= own_bytes;
    waiting_.pop_front();
  }
  return Sent::kYes;
}

Status MessageOutbox::Send(zmq::socket_t& socket, const PeerId* peer, Parts parts,
                           const ZeroMqOptions& options, const std::string& where) {
  Sent sent = Flush(socket, peer);
  if (sent == Sent::kYes) sent = TrySend(socket, peer, parts);
  if (sent == Sent::kYes) return OkStatus();
  if (sent == Sent::kUnreachable) {
    return MakeStatus(StatusCode::kUnavailable, "{}: this peer is not connected", where);
  }
  const size_t bytes = BytesOf(parts);
  if (waiting_.size() >= options.peer_queue_messages || bytes_ + bytes > options.peer_queue_bytes) {
    return MakeStatus(StatusCode::kResourceExhausted,
                      "{}: the peer does not read: {} messages of {} bytes in all wait for it",
                      where, waiting_.size(), bytes_);
  }
  bytes_ += bytes;
  own_bytes_ += OwnBytesOf(parts);
  waiting_.push_back(std::move(parts));
  return OkStatus();
}

}  // namespace rowhouse
