// ZeroMqGate: who may connect to the listeners of a ZeroMQ context, and how many at once.
//
// Keys:       it answers libzmq's questions about peers (ZAP, RFC 27) before a message of theirs is
//             read. A peer is let in by the key of the job, and under kPlain by a name that is then
//             stamped on its messages.
// Handshakes: a listener with kMaxHandshakes connections in their handshake accepts no more until
//             some have ended, which takes a few seconds at most; neither does one when the
//             process has few descriptors left. Its other connections go on. The kernel drops the
//             requests of peers that come meanwhile (a socket filter for SYN); their kernels ask
//             again after a second. zmq_unbind would close all connections.
// Threads:    one of its own. The functions may be called on any, by one caller for each listener.
#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <list>
#include <string>
#include <thread>
#include <zmq.hpp>

#include "common/clock.h"
#include "common/mutex.h"
#include "common/transport/security.h"

namespace rowhouse {

class ZeroMqGate {
 public:
  static constexpr int kHandshakeMs = 2000;
  static constexpr size_t kMaxHandshakes = 64;

  ZeroMqGate(zmq::context_t& context, const Security& security);
  // Requires that all listeners have left.
  ~ZeroMqGate();

  // Calls `bind`, which binds `listener`, and watches over it from then on. Throws zmq::error_t.
  void Open(zmq::socket_t& listener, const std::function<void()>& bind);
  // Before `listener` is closed.
  void Leave(zmq::socket_t& listener);

 private:
  struct Door {
    void* listener = nullptr;
    int fd = -1;  // that the listener accepts on; -1: it has left, or is no TCP socket
    zmq::socket_t events;
    std::deque<TimeMs> handshakes;  // when they began, at most
    bool is_shut = false;
  };

  void Run();
  void AnswerZap();
  bool IsMember(const std::string& mechanism, const std::vector<std::string>& credentials) const;
  // False: the listener has left.
  bool Watch(Door& door) REQUIRES(mutex_);
  void Shut(Door& door, bool is_shut) REQUIRES(mutex_);
  bool AreDescriptorsScarce() const;
  void LogRefused(const std::string& peer, const std::string& why);

  zmq::context_t& context_;
  const Security security_;
  const std::string curve_key_;
  const SystemClock clock_;
  const int wake_fd_;
  const int max_descriptors_;
  std::atomic<bool> is_stopping_ = false;
  uint64_t refused_ = 0;
  zmq::socket_t zap_;
  Mutex mutex_;
  std::list<Door> doors_ GUARDED_BY(mutex_);  // removed from by the gate's thread only
  std::thread thread_;
};

}  // namespace rowhouse
