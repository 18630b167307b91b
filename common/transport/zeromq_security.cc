#include "common/transport/zeromq_security.h"

#include <glog/logging.h>

#include <atomic>
#include <charconv>
#include <cstring>
#include <utility>

namespace rowhouse {
namespace {

// Of ZAP's requests. The gate binds ZAP's address before the first listener, as libzmq lets in
// peers of CURVE unasked where nobody is bound.
constexpr const char* kZapDomain = "rowhouse";

// A listener hangs up on a dialer whose CURVE key it does not know, and often on one of another
// kind before that has read why; so does one that is being stopped.
constexpr int kMaxHungUp = 5;

struct CurveKeys {
  char secret[41] = {};  // Z85, as libzmq takes them
  char shared[41] = {};
};

CurveKeys CurveKeysOf(const Security& security) {
  uint8_t secret[32];
  const char* digits = security.key.data();
  for (uint8_t& byte : secret) {
    std::from_chars(digits, digits + 2, byte, 16);
    digits += 2;
  }
  CurveKeys keys;
  CHECK(zmq_z85_encode(keys.secret, secret, sizeof(secret)) != nullptr);
  CHECK_EQ(zmq_curve_public(keys.shared, keys.secret), 0) << zmq_strerror(errno);
  return keys;
}

constexpr const char* kSameKey =
    "PS nodes started by hand and their workers need the same one: copy the file of --key_file "
    "(by default ~/.config/rowhouse/key) from one host to the other, with mode 0600";

}  // namespace

void SecureListener(const Security& security, zmq::socket_t& socket) {
  if (security.kind == Security::Kind::kOpen) return;
  socket.set(zmq::sockopt::zap_domain, kZapDomain);
  if (security.kind == Security::Kind::kPlain) {
    socket.set(zmq::sockopt::plain_server, true);
    return;
  }
  const CurveKeys keys = CurveKeysOf(security);
  socket.set(zmq::sockopt::curve_server, true);
  socket.set(zmq::sockopt::curve_secretkey, keys.secret);
}

void SecureDialer(const Security& security, const PeerId& identity, zmq::socket_t& socket) {
  if (security.kind == Security::Kind::kOpen) return;
  if (security.kind == Security::Kind::kPlain) {
    socket.set(zmq::sockopt::plain_username, identity);
    socket.set(zmq::sockopt::plain_password, security.key);
    return;
  }
  const CurveKeys keys = CurveKeysOf(security);
  socket.set(zmq::sockopt::curve_serverkey, keys.shared);
  socket.set(zmq::sockopt::curve_publickey, keys.shared);
  socket.set(zmq::sockopt::curve_secretkey, keys.secret);
}

std::string CurvePublicKey(const Security& security) {
  std::string key(32, '\0');
  CHECK(zmq_z85_decode(reinterpret_cast<uint8_t*>(key.data()), CurveKeysOf(security).shared) !=
        nullptr);
  return key;
}

bool IsStamped(const Security& security, const PeerId& peer, zmq::message_t& part) {
  if (security.kind == Security::Kind::kOpen) return true;
  const char* const user = zmq_msg_gets(part.handle(), "User-Id");
  if (user == nullptr) return false;
  return security.kind == Security::Kind::kCurve ? std::strcmp(user, kCurveUserId) == 0
                                                 : peer == user;
}

// ---- Events of sockets --------------------------------------------------------------------------

zmq::socket_t StartMonitor(zmq::context_t& context, zmq::socket_t& socket, int events) {
  static std::atomic<uint64_t> number = 0;
  const std::string address = fmt::format("inproc://events-{}", number++);
  if (zmq_socket_monitor(socket.handle(), address.c_str(), events) != 0) throw zmq::error_t();
  zmq::socket_t monitor(context, zmq::socket_type::pair);
  monitor.set(zmq::sockopt::linger, 0);
  monitor.set(zmq::sockopt::rcvhwm, 0);
  monitor.connect(address);
  return monitor;
}

void StopMonitor(zmq::socket_t& socket) { zmq_socket_monitor(socket.handle(), nullptr, 0); }

bool TakeEvent(zmq::socket_t& monitor, SocketEvent* event) {
  zmq::message_t what, where;  // {u16 event, u32 value}, address
  while (zmq_msg_recv(what.handle(), monitor.handle(), ZMQ_DONTWAIT) < 0) {
    if (errno != EINTR) return false;
  }
  CHECK_EQ(what.size(), 6u);
  uint16_t number = 0;
  std::memcpy(&number, what.data(), sizeof(number));
  std::memcpy(&event->value, what.data<char>() + sizeof(number), sizeof(event->value));
  event->event = number;
  while (zmq_msg_recv(where.handle(), monitor.handle(), ZMQ_DONTWAIT) < 0) {
    CHECK_EQ(errno, EINTR) << zmq_strerror(errno);
  }
  return true;
}

HandshakeWatch::HandshakeWatch(zmq::context_t& context, zmq::socket_t& socket)
    : socket_(socket.handle()),
      monitor_(StartMonitor(context, socket,
                            ZMQ_EVENT_HANDSHAKE_SUCCEEDED | ZMQ_EVENT_HANDSHAKE_FAILED_AUTH |
                                ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL |
                                ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL | ZMQ_EVENT_DISCONNECTED)) {}

HandshakeWatch::HandshakeWatch(HandshakeWatch&& other) noexcept
    : socket_(std::exchange(other.socket_, nullptr)),
      monitor_(std::move(other.monitor_)),
      hung_up_(other.hung_up_),
      was_met_(other.was_met_),
      is_lost_(other.is_lost_),
      refused_(std::move(other.refused_)) {}

HandshakeWatch::~HandshakeWatch() {
  if (socket_ != nullptr) zmq_socket_monitor(socket_, nullptr, 0);
}

Status HandshakeWatch::Check(const std::string& endpoint) {
  for (SocketEvent event; refused_.ok() && TakeEvent(monitor_, &event);) {
    refused_ = Judge(event, endpoint);
  }
  return refused_;
}

Status HandshakeWatch::Judge(const SocketEvent& event, const std::string& endpoint) {
  switch (event.event) {
    case ZMQ_EVENT_HANDSHAKE_FAILED_AUTH:
      return UsageError("{} refused this process's key; {}", endpoint, kSameKey);
    case ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL:
      if (event.value == ZMQ_PROTOCOL_ERROR_ZMTP_MECHANISM_MISMATCH) {
        return UsageError(
            "{} and this process do not agree on keys; give --open (no key is asked for) or "
            "--encrypt to the PS nodes and to their workers, or to neither",
            endpoint);
      }
      return UsageError(
          "{} does not speak as a PS node does (ZeroMQ's code {:#x}); look at the "
          "address",
          endpoint, event.value);
    case ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL:
      if (++hung_up_ < kMaxHungUp) return OkStatus();
      return UsageError(
          "{} hung up on this process {} times, as on one with another key, or where only one of "
          "them was given --open or --encrypt; {}",
          endpoint, hung_up_, kSameKey);
    case ZMQ_EVENT_DISCONNECTED:
      is_lost_ = was_met_;
      return OkStatus();
    default:
      hung_up_ = 0;
      was_met_ = true;
      is_lost_ = false;
      return OkStatus();
  }
}

}  // namespace rowhouse
