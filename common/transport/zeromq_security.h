// What ZeroMQ's sockets are told of a Security, and what a dialer's socket says of its handshakes.
// Threads: as the sockets.
#pragma once

#include <string>
#include <zmq.hpp>

#include "common/status.h"
#include "common/transport/security.h"
#include "common/transport/transport.h"

namespace rowhouse {

// Before bind and connect.
void SecureListener(const Security& security, zmq::socket_t& socket);
void SecureDialer(const Security& security, const PeerId& identity, zmq::socket_t& socket);

// Of kCurve: 32 bytes, by which a listener knows the members of the job.
std::string CurvePublicKey(const Security& security);

// What a listener stamps on the messages of a peer: of kPlain its user name, which is the identity.
// CurveZMQ has no names; its identities come encrypted and signed.
constexpr const char* kCurveUserId = "member";

// A received message of this peer bears the right stamp.
bool IsStamped(const Security& security, const PeerId& peer, zmq::message_t& part);

// A PAIR that reads the events of `socket`, without a limit, as the socket's I/O thread would wait
// where there is one. StopMonitor before the socket or the PAIR is closed, for the same reason.
zmq::socket_t StartMonitor(zmq::context_t& context, zmq::socket_t& socket, int events);
void StopMonitor(zmq::socket_t& socket);

struct SocketEvent {
  int event = 0;  // ZMQ_EVENT_...
  int value = 0;  // a descriptor, an errno or a code, as the event says
};
// False: there is none now.
bool TakeEvent(zmq::socket_t& monitor, SocketEvent* event);

// The handshakes of one dialer's socket, and whether its connection is there. Destroy it before the
// socket.
class HandshakeWatch {
 public:
  HandshakeWatch(zmq::context_t& context, zmq::socket_t& socket);
  HandshakeWatch(HandshakeWatch&& other) noexcept;
  HandshakeWatch& operator=(HandshakeWatch&&) = delete;
  ~HandshakeWatch();

  // kUsage once the listener at `endpoint` has turned this dialer away: libzmq tells nobody, and
  // tries again for ever or not at all.
  Status Check(const std::string& endpoint);
  // As Check found: there was a connection, and there is none now.
  bool is_lost() const { return is_lost_; }

 private:
  Status Judge(const SocketEvent& event, const std::string& endpoint);

  void* socket_;  // null once moved from
  zmq::socket_t monitor_;
  int hung_up_ = 0;  // handshakes in a row that the listener ended without a word
  bool was_met_ = false, is_lost_ = false;
  Status refused_;
};

}  // namespace rowhouse
