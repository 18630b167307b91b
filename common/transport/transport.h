// Transport: how frames reach a peer. Two shapes, as in ZeroMQ's ROUTER and DEALER:
// a Listener is one shard's (or node's) address, which many peers reach; a Dialer is one worker's
// way to several listeners. Implementations: zeromq.cc (TCP), inproc.cc (threads of one process).
//
// Threads:   a Listener or Dialer is made, used and closed on one thread. Only Wake() may be called
//            from any other. A Transport may be used by all threads at once.
// Delivery:  frames of one peer arrive in the order sent, whole or not at all; nothing is sent
// twice.
//            An accepted message is lost only with its connection: a peer that leaves or breaks off
//            takes with it what was on its way. Who needs to know asks for an answer.
// Blocking:  Send never blocks: what the peer's queue does not take is kept in a bounded queue and
//            goes out during later calls; a full queue or unknown peer is an error, never a loss.
//            Receive waits at most its time-out.
// Frames:    a received frame's bytes are aligned for u64. A frame sent is gone: it is handed on
//            without a copy where that pays, and its Release runs on a thread that uses this
//            transport, never on one of ZeroMQ's.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/frame.h"
#include "common/status.h"

namespace rowhouse {

// Who a listener's message came from. Opaque bytes, at most 255; chosen by the dialer: job id,
// rank, incarnation, session; never reused, because a newcomer of the same identity takes over the
// old one's connection. Not empty, and its first byte is not 0.
using PeerId = std::string;

struct Incoming {
  PeerId peer;          // Listener: the sender's identity. Dialer: unused.
  size_t listener = 0;  // Dialer: index of the listener that answered.
  Frames frames;
};

class Listener {
 public:
  virtual ~Listener() = default;

  // Where peers connect: "tcp://host:port" (the port the OS gave), "inproc://name".
  virtual const std::string& endpoint() const = 0;

  // The next message; nullopt when timeout_ms passed or Wake() was called.
  virtual Result<std::optional<Incoming>> Receive(int timeout_ms) = 0;

  // kUnavailable if `to` is not connected (any more); kResourceExhausted if its queue is full.
  virtual Status Send(const PeerId& to, Frames frames) = 0;

  // Makes a Receive that waits now, or else the next one that would wait, return at once. Any
  // thread. Several calls before a Receive count as one.
  virtual void Wake() = 0;
};

class Dialer {
 public:
  virtual ~Dialer() = default;

  // Adds a listener; returns its index (0, 1, ...). Connecting goes on in the background, as often
  // as it takes: the listener may come later, or go and come back.
  virtual Result<size_t> Connect(const std::string& endpoint) = 0;

  // Accepts messages before the listener is there and keeps them, bounded as ever, until it is;
  // kResourceExhausted if its queue is full.
  virtual Status Send(size_t listener, Frames frames) = 0;

  // The next message from any listener, taken fairly; nullopt when timeout_ms passed.
  virtual Result<std::optional<Incoming>> Receive(int timeout_ms) = 0;
};

class Transport {
 public:
  virtual ~Transport() = default;

  // `address`: "tcp://host:port" with port 0 or * for one of the OS's choice, "tcp://*:0" for all
  // interfaces; "inproc://name". A port in use is kUsage and names it.
  virtual Result<std::unique_ptr<Listener>> Listen(const std::string& address) = 0;

  // The same on a TCP socket somebody else has bound and listens on (tcp_socket.h), so that a
  // restarted server keeps its port. `fd` is duplicated: the caller still owns it, and while it is
  // open the kernel queues peers for the next Listener. `endpoint` is what endpoint() returns.
  // TCP only.
  virtual Result<std::unique_ptr<Listener>> ListenOn(int fd, const std::string& endpoint) = 0;

  // `identity`: the PeerId that listeners see.
  virtual Result<std::unique_ptr<Dialer>> MakeDialer(const PeerId& identity) = 0;
};

struct ZeroMqOptions {
  int io_threads = 1;
  int64_t max_message_bytes = kMaxFrameBytes;  // larger frames close the connection
  int high_water_mark = 32;                    // messages to a peer that wait inside ZeroMQ
  size_t peer_queue_messages = 10000;          // further messages to a peer, in our own queue,
  size_t peer_queue_bytes = size_t{1} << 30;   // and their bytes
  // 0: off. A listener that is silent for five of them is gone for its dialers; a dialer's host
  // that is, for the listener.
  int heartbeat_ms = 2000;
  int linger_ms = 1000;  // how long closing waits for what is still to be sent
};

// The only makers; main builds one and hands it down. Listeners and dialers may outlive it. Raises
// this process's soft limit of open files to the hard one: every connection needs one.
std::unique_ptr<Transport> MakeZeroMqTransport(const ZeroMqOptions& options);

// Queues between threads of one process. Two transports know nothing of each other.
std::unique_ptr<Transport> MakeInprocTransport(size_t peer_queue_messages = 10000);

}  // namespace rowhouse
