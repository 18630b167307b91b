#include "common/transport/zeromq.h"

#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <deque>
#include <optional>
#include <unordered_map>
#include <utility>
#include <zmq.hpp>

#include "common/clock.h"
#include "common/host_limits.h"
#include "common/transport/local_socket.h"
#include "common/transport/tcp_socket.h"
#include "common/transport/zeromq_context.h"
#include "common/transport/zeromq_messages.h"
#include "common/transport/zeromq_security.h"

namespace rowhouse {
namespace {

// ZeroMQ: a ROUTER for each Listener, a DEALER for each line of a Dialer. These files
// (zeromq*) are the only ones that include ZeroMQ. What libzmq 4.3.4 does by default and we must
// not have:
//  - a ROUTER drops, and says it has sent, what its peer's queue does not take: ROUTER_MANDATORY
//    makes that EAGAIN (kept in our own bounded queue) or EHOSTUNREACH (kUnavailable);
//  - a peer that comes back while its broken connection is not yet noticed is turned away for
//    good: ROUTER_HANDOVER lets it take over its own identity;
//  - received messages up to 8 kB lie at any address inside a shared buffer: copied;
//  - large blocks are freed on the I/O thread: they come back by a ReleaseList;
//  - it aborts (`!_io_error`, its issue 4364) where a peer fills the receive queue and hangs up,
//    and either its own heartbeat is due or a heartbeat of the peer lies behind what filled the
//    queue. So a ROUTER's queue has no limit at which it stops by itself: the FloodGuard makes the
//    I/O thread wait instead. A ROUTER sends no heartbeats:
//    TCP's keepalive finds hosts that vanished, and the kernel tells of processes that ended;
//  - its limits count messages, of any size: what waits for a peer is limited in bytes here, with
//    what libzmq has of it, and what peers send and nobody reads by the FloodGuard;
//  - a ROUTER believes what a peer says its identity is: the user name that the key was checked
//    with has to be the same;
//  - a dialer that was turned away stays silent: HandshakeWatch looks for it while nothing arrives;
//  - a dialer whose listener has ended tries again for ever. Its sender would wait for an answer
//    that nobody writes, so a line that is lost for good is an error.
// A DEALER keeps IMMEDIATE off: messages may wait in it before the listener is there and across a
// reconnect, bounded by the high-water mark, and a listener that was started again learns of them.
// With IMMEDIATE on they would be lost without a word at each disconnect.

// While something waits in a queue of ours, Receive looks this often whether it can go.
constexpr TimeMs kFlushIntervalMs = 1;
// A heartbeat may be late by what is before it on the wire and in the peer's queue.
constexpr int kHeartbeatsMissed = 5;
// Gives up a connection attempt and starts another, before the kernel's pauses reach minutes.
constexpr int kConnectTimeoutMs = 5000;
// What CURVE adds to a frame before it is compared with the limit: command, nonce, flags and tag.
constexpr int64_t kBesideCurve = 64;
constexpr int kBacklog = 4096;
// Messages that a dialer may leave unread: far more than answers to what it has under way.
constexpr int kMaxUnread = 1000;
// While nothing arrives, a dialer looks this often whether a listener has turned it away.
constexpr TimeMs kWatchIntervalMs = 100;
// While a line is lost, its listener's host is asked this often whether somebody listens there.
constexpr TimeMs kAskIntervalMs = 300;
// One that refuses connections for so long is not about to listen again.
constexpr TimeMs kRefusedMs = 1000;
// Messages a line may give in a row while others have some too.
constexpr int kTurnMessages = 16;

using ContextPtr = std::shared_ptr<ZeroMqContext>;

Status ZeroMqError(std::string_view action, const std::string& where, int error) {
  const auto said = [&](StatusCode code, std::string_view reason) {
    return MakeStatus(code, "cannot {} {}: {}", action, where, reason);
  };
  switch (error) {
    case EADDRINUSE:
      return said(StatusCode::kUsage,
                  "address already in use (another process has this port; choose another, or 0 "
                  "for any that is free)");
    case EINVAL:
    case EPROTONOSUPPORT:
      return said(StatusCode::kUsage, "not an address such as tcp://10.0.0.1:5000");
    case ENODEV:
    case EADDRNOTAVAIL:
      return said(StatusCode::kUsage,
                  "this machine has no such interface (give an interface's address or name, or * "
                  "for all)");
    case EACCES:
      return said(StatusCode::kUsage, "not allowed (ports below 1024 belong to root)");
    case EMFILE:
      return said(StatusCode::kResourceExhausted, "too many sockets (see ulimit -n)");
    default:
      return said(StatusCode::kIoError, zmq_strerror(error));
  }
}

Status CheckAddress(std::string_view action, const std::string& address) {
  if (address.starts_with("ipc://")) return OkStatus();
  if (!address.starts_with("tcp://")) return ZeroMqError(action, address, EPROTONOSUPPORT);
  // libzmq takes a port above 65535 modulo 65536: it would listen where nobody looks.
  const std::string port = address.substr(address.rfind(':') + 1);
  const bool is_number = !port.empty() && port.find_first_not_of("0123456789") == port.npos;
  if (is_number && (port.size() > 5 || std::stoul(port) > 65535)) {
    return UsageError("cannot {} {}: port {} is above 65535", action, address, port);
  }
  return OkStatus();
}

zmq::socket_t MakeSocket(ZeroMqContext& context, zmq::socket_type type) {
  const ZeroMqOptions& options = context.options;
  zmq::socket_t socket(context.zmq, type);
  socket.set(zmq::sockopt::linger, options.linger_ms);
  const bool is_curve = options.security.kind == Security::Kind::kCurve;
  socket.set(zmq::sockopt::maxmsgsize, options.max_message_bytes + (is_curve ? kBesideCurve : 0));
  socket.set(zmq::sockopt::sndhwm, options.high_water_mark);
  const bool is_router = type == zmq::socket_type::router;
  socket.set(zmq::sockopt::rcvhwm, is_router ? 0 : kMaxUnread);  // 0: no limit; see above
  // TCP_USER_TIMEOUT: also where the peer's window stays shut.
  if (is_router && options.unread_ms > 0) socket.set(zmq::sockopt::tcp_maxrt, options.unread_ms);
  if (options.heartbeat_ms == 0) return socket;
  if (is_router) {
    const int seconds = std::max(1, options.heartbeat_ms / 1000);
    socket.set(zmq::sockopt::tcp_keepalive, 1);
    socket.set(zmq::sockopt::tcp_keepalive_idle, seconds);
    socket.set(zmq::sockopt::tcp_keepalive_intvl, seconds);
    socket.set(zmq::sockopt::tcp_keepalive_cnt, kHeartbeatsMissed);
  } else {
    socket.set(zmq::sockopt::heartbeat_ivl, options.heartbeat_ms);
    socket.set(zmq::sockopt::heartbeat_timeout, kHeartbeatsMissed * options.heartbeat_ms);
  }
  return socket;
}

// What is left of a wait.
class Countdown {
 public:
  explicit Countdown(int timeout_ms) : end_ms_(clock_.NowMs() + timeout_ms) {
    CHECK_GE(timeout_ms, 0) << "every wait has an end";
  }
  TimeMs LeftMs() const { return std::max<TimeMs>(0, end_ms_ - clock_.NowMs()); }

 private:
  const SystemClock clock_;
  const TimeMs end_ms_;
};

void Poll(std::span<zmq_pollitem_t> items, TimeMs timeout_ms) {
  const int ready = zmq_poll(items.data(), static_cast<int>(items.size()), timeout_ms);
  CHECK(ready >= 0 || errno == EINTR) << zmq_strerror(errno);
  if (ready <= 0) {
    for (zmq_pollitem_t& item : items) item.revents = 0;
  }
}

// ---- Listener -----------------------------------------------------------------------------------

class ZeroMqListener final : public Listener {
 public:
  ZeroMqListener(ContextPtr context, zmq::socket_t socket, std::string endpoint,
                 std::string local_endpoint)
      : context_(std::move(context)),
        socket_(std::move(socket)),
        endpoint_(std::move(endpoint)),
        local_endpoint_(std::move(local_endpoint)),
        wake_fd_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    PCHECK(wake_fd_ >= 0) << "eventfd";
  }
  ~ZeroMqListener() override {
    SetInHand(0);
    context_->Gate().Leave(socket_);
    close(wake_fd_);
  }

  const std::string& endpoint() const override { return endpoint_; }
  std::string local_endpoint() const override { return local_endpoint_; }

  Result<std::optional<Incoming>> Receive(int timeout_ms) override {
    const Countdown countdown(timeout_ms);
    for (bool timed_out = false;;) {
      context_->loans.FreeAll();
      FlushOutboxes();
      if (auto incoming = TakeStamped()) return incoming;
      if (timed_out) return std::optional<Incoming>();
      const TimeMs left_ms = countdown.LeftMs();
      zmq_pollitem_t items[] = {{socket_.handle(), 0, ZMQ_POLLIN, 0},
                                {nullptr, wake_fd_, ZMQ_POLLIN, 0}};
      Poll(items, outboxes_.empty() ? left_ms : std::min(left_ms, kFlushIntervalMs));
      if (items[1].revents != 0) {
        eventfd_t calls;
        eventfd_read(wake_fd_, &calls);
        return std::optional<Incoming>();
      }
      timed_out = left_ms == 0;
    }
  }

  Status Send(const PeerId& to, Frames frames) override {
    context_->loans.FreeAll();
    const Unsent unsent = UnsentTo(to);
    RETURN_IF_ERROR(CheckRoom(*unsent, frames));
    ASSIGN_OR_RETURN(Parts parts, ToParts(*context_, std::move(frames), unsent));
    MessageOutbox& outbox = outboxes_[to];
    waiting_bytes_ -= outbox.own_bytes();
    const Status status = outbox.Send(socket_, &to, std::move(parts), context_->options, endpoint_);
    if (status.code() == StatusCode::kUnavailable) DropWaiting(outbox);
    waiting_bytes_ += outbox.own_bytes();
    if (outbox.empty()) outboxes_.erase(to);
    return status;
  }

  void Wake() override { eventfd_write(wake_fd_, 1); }

 private:
  // The next message whose sender is who it says. Others are dropped.
  std::optional<Incoming> TakeStamped() {
    for (;;) {
      auto received = TryReceive(*context_, socket_, /*is_router=*/true);
      SetInHand(received ? received->bytes : 0);
      if (!received) return std::nullopt;
      if (received->is_stamped) return std::move(received->incoming);
      constexpr int kSeconds = 10;
      LOG_EVERY_T(WARNING, kSeconds)
          << "dropped a message listener=" << endpoint_
          << ": its sender has the job's key, but goes by another's identity";
    }
  }

  // Who asks for the next message is done with the one before.
  void SetInHand(size_t bytes) {
    if (context_->guard && bytes != in_hand_bytes_) {
      context_->guard->CountInHand(std::exchange(in_hand_bytes_, bytes), bytes);
    }
  }

  void FlushOutboxes() {
    for (auto outbox = outboxes_.begin(); outbox != outboxes_.end();) {
      waiting_bytes_ -= outbox->second.own_bytes();
      const Sent sent = outbox->second.Flush(socket_, &outbox->first);
      if (sent == Sent::kUnreachable) DropWaiting(outbox->second);
      waiting_bytes_ += outbox->second.own_bytes();
      outbox = sent == Sent::kFull ? std::next(outbox) : outboxes_.erase(outbox);
    }
  }

  const Unsent& UnsentTo(const PeerId& to) {
    constexpr size_t kManyPeers = 1024;
    if (unsent_.size() > kManyPeers) {
      std::erase_if(unsent_, [](const auto& entry) { return *entry.second == 0; });
    }
    Unsent& unsent = unsent_[to];
    if (unsent == nullptr) unsent = std::make_shared<std::atomic<size_t>>(0);
    return unsent;
  }

  // A peer that reads has at most a window of answers on their way to it.
  Status CheckRoom(size_t unsent, const Frames& frames) const {
    const ZeroMqOptions& options = context_->options;
    size_t bytes = 0;
    for (const Frame& frame : frames) bytes += frame.size();
    const size_t others = context_->loans.lent_bytes() + waiting_bytes_;
    const bool is_full = others + bytes > options.queue_bytes;
    if (others > 0 && others + bytes > 2 * options.queue_bytes) {
      return MakeStatus(StatusCode::kResourceExhausted,
                        "{}: peers do not read: {} bytes wait for them", endpoint_, others);
    }
    if (unsent == 0 || unsent + bytes <= (is_full ? kWindowBytes : options.peer_queue_bytes)) {
      return OkStatus();
    }
    return MakeStatus(StatusCode::kResourceExhausted,
                      "{}: the peer does not read: {} bytes wait for it", endpoint_, unsent);
  }

  void DropWaiting(MessageOutbox& outbox) {
    if (outbox.empty()) return;
    LOG(WARNING) << "peer gone listener=" << endpoint_ << " dropped_messages=" << outbox.size();
    outbox.Clear();
  }

  const ContextPtr context_;
  zmq::socket_t socket_;
  const std::string endpoint_, local_endpoint_;
  const int wake_fd_;
  size_t in_hand_bytes_ = 0;                            // of the message that was taken last
  std::unordered_map<PeerId, MessageOutbox> outboxes_;  // no empty ones
  size_t waiting_bytes_ = 0;                            // own_bytes() of all of them
  std::unordered_map<PeerId, Unsent> unsent_;
};

// ---- Dialer -------------------------------------------------------------------------------------

class ZeroMqDialer final : public Dialer {
 public:
  ZeroMqDialer(ContextPtr context, PeerId identity)
      : context_(std::move(context)), identity_(std::move(identity)) {}

  Result<size_t> Connect(const std::string& endpoint) override {
    ASSIGN_OR_RETURN(Line line, Dial(endpoint, identity_));
    poll_items_.push_back({line.socket.handle(), 0, ZMQ_POLLIN, 0});
    lines_.push_back(std::move(line));
    return lines_.size() - 1;
  }

  Status Send(size_t listener, Frames frames) override {
    CHECK_LT(listener, lines_.size());
    context_->loans.FreeAll();
    ASSIGN_OR_RETURN(Parts parts, ToParts(*context_, std::move(frames)));
    Line& line = lines_[listener];
    waiting_ -= !line.outbox.empty();
    const Status status =
        line.outbox.Send(line.socket, nullptr, std::move(parts), context_->options, line.endpoint);
    waiting_ += !line.outbox.empty();
    return status;
  }

  Result<std::optional<Incoming>> Receive(int timeout_ms) override {
    const Countdown countdown(timeout_ms);
    for (bool timed_out = false;;) {
      context_->loans.FreeAll();
      if (waiting_ > 0) FlushOutboxes();
      if (auto incoming = TakeFromReady()) return incoming;
      if (timed_out) return std::optional<Incoming>();
      const TimeMs left_ms = countdown.LeftMs();
      Poll(poll_items_, std::min(left_ms, waiting_ == 0 ? kWatchIntervalMs : kFlushIntervalMs));
      for (size_t i = 0; i < poll_items_.size(); ++i) {
        if (poll_items_[i].revents != 0) ready_.push_back({.listener = i});
      }
      if (ready_.empty()) RETURN_IF_ERROR(CheckHandshakes());
      timed_out = left_ms == 0;
    }
  }

 private:
  struct Line {
    zmq::socket_t socket;
    std::string endpoint;
    HandshakeWatch handshakes;
    MessageOutbox outbox;
    std::optional<TimeMs> lost_since, refused_since, asked_at;
  };
  // A line that had something to read, and how much of its turn is used.
  struct Turn {
    size_t listener;
    int taken = 0;
  };

  Result<Line> Dial(const std::string& endpoint, const PeerId& identity) {
    RETURN_IF_ERROR(CheckAddress("connect to", endpoint));
    try {
      zmq::socket_t socket = MakeSocket(*context_, zmq::socket_type::dealer);
      socket.set(zmq::sockopt::routing_id, identity);
      socket.set(zmq::sockopt::connect_timeout, kConnectTimeoutMs);
      SecureDialer(context_->options.security, identity, socket);
      HandshakeWatch handshakes(context_->zmq, socket);
      socket.connect(endpoint);
      return Line{.socket = std::move(socket),
                  .endpoint = endpoint,
                  .handshakes = std::move(handshakes),
                  .outbox = {},
                  .lost_since = {},
                  .refused_since = {},
                  .asked_at = {}};
    } catch (const zmq::error_t& error) {
      return ZeroMqError("connect to", endpoint, error.num());
    }
  }

  void FlushOutboxes() {
    for (Line& line : lines_) {
      if (line.outbox.empty()) continue;
      line.outbox.Flush(line.socket, nullptr);
      waiting_ -= line.outbox.empty();
    }
  }

  Status CheckHandshakes() {
    for (Line& line : lines_) {
      RETURN_IF_ERROR(line.handshakes.Check(line.endpoint));
      RETURN_IF_ERROR(CheckLost(line));
    }
    return OkStatus();
  }

  // A connection may break and come back, as its listener remembers who asked what. A listener that
  // has ended does not.
  Status CheckLost(Line& line) const {
    if (!line.handshakes.is_lost()) {
      line.lost_since.reset();
      line.refused_since.reset();
      return OkStatus();
    }
    const TimeMs now = clock_.NowMs();
    if (!line.lost_since) line.lost_since = now;
    if (now - *line.lost_since >= context_->options.lost_ms) {
      return MakeStatus(StatusCode::kUnavailable,
                        "{} is silent: the connection broke, and no other could be made for {} ms",
                        line.endpoint, now - *line.lost_since);
    }
    if (line.asked_at && now - *line.asked_at < kAskIntervalMs) return OkStatus();
    line.asked_at = now;
    const bool refuses = line.endpoint.starts_with("tcp://")
                             ? RefusesConnections(line.endpoint, static_cast<int>(kAskIntervalMs))
                             : IsLocalEndpointGone(line.endpoint);
    if (!refuses) {
      line.refused_since.reset();
      return OkStatus();
    }
    if (!line.refused_since) line.refused_since = now;
    if (now - *line.refused_since < kRefusedMs) return OkStatus();
    return MakeStatus(StatusCode::kUnavailable,
                      "{} is gone: its process has ended, as nobody listens there any more; unless "
                      "it was killed, it said why",
                      line.endpoint);
  }

  // The lines found ready take turns of a few messages; looking at all lines for each message
  // would cost a system call for each line.
  std::optional<Incoming> TakeFromReady() {
    for (; !ready_.empty(); ready_.pop_front()) {
      Turn& turn = ready_.front();
      if (turn.taken == kTurnMessages) continue;
      auto received = TryReceive(*context_, lines_[turn.listener].socket, /*is_router=*/false);
      if (!received) continue;
      ++turn.taken;
      received->incoming.listener = turn.listener;
      return std::move(received->incoming);
    }
    return std::nullopt;
  }

  const SystemClock clock_;
  const ContextPtr context_;
  const PeerId identity_;
  std::vector<Line> lines_;
  std::vector<zmq_pollitem_t> poll_items_;  // one a line
  std::deque<Turn> ready_;
  size_t waiting_ = 0;  // lines with something in their outbox
};

// ---- Transport ----------------------------------------------------------------------------------

class ZeroMqTransport final : public Transport {
 public:
  explicit ZeroMqTransport(const ZeroMqOptions& options)
      : context_(std::make_shared<ZeroMqContext>(options)) {
    RaiseOpenFilesLimit();
    context_->zmq.set(zmq::ctxopt::io_threads, options.io_threads);
    // 1,023 by default; the real bound is that of open files.
    context_->zmq.set(zmq::ctxopt::max_sockets, context_->zmq.get(zmq::ctxopt::socket_limit));
  }

  Result<std::unique_ptr<Listener>> Listen(const std::string& address) override {
    RETURN_IF_ERROR(CheckAddress("listen on", address));
    return Bind(address, /*fd=*/-1);
  }

  Result<std::unique_ptr<Listener>> ListenOn(int fd, const std::string& endpoint) override {
    int listens = 0;
    socklen_t length = sizeof(listens);
    if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &length) != 0 || listens == 0) {
      return UsageError("cannot listen on {}: descriptor {} is not a listening socket", endpoint,
                        fd);
    }
    // ZeroMQ accepts until there is nobody left; on a blocking socket it would wait for the next.
    fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
    const int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    if (copy < 0) return ZeroMqError("listen on", endpoint, errno);
    return Bind(endpoint, copy);
  }

  Result<std::unique_ptr<Dialer>> MakeDialer(const PeerId& identity) override {
    CHECK(!identity.empty() && identity.size() <= 255 && identity[0] != '\0');
    return std::unique_ptr<Dialer>(std::make_unique<ZeroMqDialer>(context_, identity));
  }

 private:
  // On `fd`, which becomes the socket's, if there is one.
  Result<std::unique_ptr<Listener>> Bind(const std::string& address, int fd) {
    try {
      zmq::socket_t socket = MakeSocket(*context_, zmq::socket_type::router);
      socket.set(zmq::sockopt::router_mandatory, true);
      socket.set(zmq::sockopt::router_handover, true);
      socket.set(zmq::sockopt::backlog, kBacklog);
      if (fd >= 0) socket.set(zmq::sockopt::use_fd, fd);
      // With a descriptor the address is not looked at.
      context_->Gate().Open(socket, [&] { socket.bind(fd >= 0 ? "tcp://*:*" : address); });
      std::string endpoint = fd >= 0 ? address : socket.get(zmq::sockopt::last_endpoint);
      std::string local = address.starts_with("ipc://") ? endpoint : BindLocally(socket);
      if (!local.empty()) FloodGuard::NoteLocalListener();
      return std::unique_ptr<Listener>(std::make_unique<ZeroMqListener>(
          context_, std::move(socket), std::move(endpoint), std::move(local)));
    } catch (const zmq::error_t& error) {
      return ZeroMqError("listen on", address, error.num());
    }
  }

  // "": the system has no such sockets, or there would be no end to waiting for a peer that does
  // not read (ZeroMqOptions::unread_ms).
  std::string BindLocally(zmq::socket_t& socket) const {
    if (context_->options.unread_ms > 0) return "";
    const std::string endpoint = NewLocalEndpoint();
    const uid_t user = geteuid();
    socket.set(zmq::sockopt::use_fd, -1);
    // Peers of other users would hold connections without a key.
    const bool is_bound =
        zmq_setsockopt(socket.handle(), ZMQ_IPC_FILTER_UID, &user, sizeof(user)) == 0 &&
        zmq_bind(socket.handle(), endpoint.c_str()) == 0;
    return is_bound ? endpoint : "";
  }

  const ContextPtr context_;
};

}  // namespace

std::unique_ptr<Transport> MakeZeroMqTransport(const ZeroMqOptions& options) {
  return std::make_unique<ZeroMqTransport>(options);
}

}  // namespace rowhouse
