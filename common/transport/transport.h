// Transport: how frames reach a peer. It has two kinds of ends, as ZeroMQ's ROUTER and DEALER: a
// Listener has an address to which many peers connect (a shard or a PS node); a Dialer connects to
// several listeners (a worker). Implementation: zeromq.h (TCP, and Unix sockets within a host);
// tests have another, between threads of a process.
//
// Threads:   a Listener or Dialer is made, used and closed on one thread. Only Wake() may be called
//            from any other. A Transport may be used by all threads at once.
// Delivery:  messages of one peer arrive in the order sent, whole, and at most once. An accepted
//            message is lost only if its connection breaks before it has arrived. A sender that has
//            to know asks for an answer.
// Blocking:  Send never blocks. A bounded queue keeps what the connection does not take at once;
//            later calls send it. A full queue and an unknown peer are errors.
//            Receive waits at most its time-out.
// Frames:    the bytes of a received frame are aligned for u64, and never memory of the sender.
//            Send takes the frame. Large frames are not copied; a thread that uses this transport
//            frees them, never ZeroMQ's thread.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "common/frame.h"
#include "common/status.h"

namespace rowhouse {

// Who sent a message to a listener: 1 to 255 bytes, the first not 0, which the dialer chooses
// (peer_name.h). No two dialers ever have the same one, because the second would take over the
// connection of the first.
using PeerId = std::string;

struct Incoming {
  // Listener: the sender's identity. Where members of a job are asked for its key (security.h), it
  // is the one that the sender was let in with. Dialer: unused.
  PeerId peer;
  size_t listener = 0;  // Dialer: index of the listener that answered.
  Frames frames;
};

class Listener {
 public:
  virtual ~Listener() = default;

  // Where peers connect: "tcp://host:port" (the port the OS gave).
  virtual const std::string& endpoint() const = 0;

  // Where peers of the same host may connect instead: "ipc://@name"; "": nowhere. The name is
  // random, so who reaches it (IsOfThisHost in local_socket.h) has proved that it shares a host.
  virtual std::string local_endpoint() const { return ""; }

  // The next message; nullopt when timeout_ms passed or Wake() was called.
  virtual Result<std::optional<Incoming>> Receive(int timeout_ms) = 0;

  // kUnavailable if `to` is not connected (any more); kResourceExhausted if its queue is full.
  virtual Status Send(const PeerId& to, Frames frames) = 0;

  // If a Receive is waiting, it returns at once. If none is, the next Receive that would wait
  // returns at once. Any thread. Several calls before a Receive count as one.
  virtual void Wake() = 0;
};

class Dialer {
 public:
  virtual ~Dialer() = default;

  // Adds a listener and returns its index (0, 1, ...). Connects in the background and again
  // whenever the connection breaks, so the listener may start later, or restart.
  virtual Result<size_t> Connect(const std::string& endpoint) = 0;

  // Messages sent before the listener is there wait in its queue; kResourceExhausted if it is full.
  virtual Status Send(size_t listener, Frames frames) = 0;

  // The next message from any listener, taken fairly; nullopt when timeout_ms passed. kUsage, which
  // begins with its endpoint, if a listener has turned this dialer away; kUnavailable, which begins
  // so too, if a listener that was there is gone.
  virtual Result<std::optional<Incoming>> Receive(int timeout_ms) = 0;
};

class Transport {
 public:
  virtual ~Transport() = default;

  // `address`: "tcp://host:port" with port 0 or * for one of the OS's choice, "tcp://*:0" for all
  // interfaces. A port in use is kUsage and names it. "ipc://@name": a Unix socket alone.
  virtual Result<std::unique_ptr<Listener>> Listen(const std::string& address) = 0;

  // The same on a TCP socket that is bound and listens already (tcp_socket.h), so that a restarted
  // server keeps its port. `fd` is duplicated: the caller still owns it, and while it is open the
  // kernel queues peers for the next Listener. `endpoint` is what endpoint() returns. TCP only.
  virtual Result<std::unique_ptr<Listener>> ListenOn(int fd, const std::string& endpoint) = 0;

  // `identity`: the PeerId that listeners see.
  virtual Result<std::unique_ptr<Dialer>> MakeDialer(const PeerId& identity) = 0;
};

}  // namespace rowhouse
