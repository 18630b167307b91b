#include "common/transport/zeromq_gate.h"

#include <fcntl.h>
#include <linux/filter.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

#include "common/thread_name.h"
#include "common/transport/zeromq_security.h"

namespace rowhouse {
namespace {

constexpr const char* kZapAddress = "inproc://zeromq.zap.01";
// While a door is shut; else nothing happens without an event.
constexpr int kShutPollMs = 20;
constexpr int kPollMs = 1000;
// After it a handshake has ended, whether we were told or not.
constexpr TimeMs kForgetHandshakeMs = ZeroMqGate::kHandshakeMs + 1000;
constexpr int kLogSeconds = 10;

constexpr int kHandshakeEnds = ZMQ_EVENT_HANDSHAKE_SUCCEEDED | ZMQ_EVENT_HANDSHAKE_FAILED_AUTH |
                               ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL |
                               ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL;

// A listening socket drops requests for connections (SYN), and nothing else.
bool DropRequests(int fd, bool drop) {
  constexpr uint32_t kFlagsOfTcpHeader = 13, kSyn = 0x02, kAll = 0xffffffff;
  sock_filter code[] = {BPF_STMT(BPF_LD | BPF_B | BPF_ABS, kFlagsOfTcpHeader),
                        BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, kSyn, 0, 1),
                        BPF_STMT(BPF_RET | BPF_K, 0), BPF_STMT(BPF_RET | BPF_K, kAll)};
  const sock_fprog program = {.len = 4, .filter = code};
  return setsockopt(fd, SOL_SOCKET, drop ? SO_ATTACH_FILTER : SO_DETACH_FILTER, &program,
                    sizeof(program)) == 0 ||
         (!drop && errno == ENOENT);  // There is none.
}

// Equal in a time that does not depend on where they differ.
bool IsEqual(const std::string& a, const std::string& b) {
  if (a.size() != b.size()) return false;
  int difference = 0;
  for (size_t i = 0; i < a.size(); ++i) difference |= a[i] ^ b[i];
  return difference == 0;
}

// The process opens files, too.
int MaxDescriptors() {
  constexpr rlim_t kReserve = 1024;
  rlimit limit = {};
  PCHECK(getrlimit(RLIMIT_NOFILE, &limit) == 0) << "getrlimit";
  const rlim_t all = std::min<rlim_t>(limit.rlim_cur, 1 << 30);
  return static_cast<int>(all - std::min(all / 4, kReserve));
}

}  // namespace

ZeroMqGate::ZeroMqGate(zmq::context_t& context, const Security& security)
    : context_(context),
      security_(security),
      curve_key_(security.kind == Security::Kind::kCurve ? CurvePublicKey(security) : ""),
      wake_fd_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      max_descriptors_(MaxDescriptors()),
      zap_(context, zmq::socket_type::rep) {
  PCHECK(wake_fd_ >= 0) << "eventfd";
  zap_.set(zmq::sockopt::linger, 0);
  zap_.bind(kZapAddress);
  thread_ = std::thread([this] {
    NameThisThread("gate");
    Run();
  });
}

ZeroMqGate::~ZeroMqGate() {
  is_stopping_ = true;
  eventfd_write(wake_fd_, 1);
  thread_.join();
  close(wake_fd_);
}

void ZeroMqGate::Open(zmq::socket_t& listener, const std::function<void()>& bind) {
  SecureListener(security_, listener);
  listener.set(zmq::sockopt::handshake_ivl, kHandshakeMs);
  Door door{.listener = listener.handle(), .events = {}, .handshakes = {}};
  door.events = StartMonitor(
      context_, listener,
      ZMQ_EVENT_LISTENING | ZMQ_EVENT_ACCEPTED | kHandshakeEnds | ZMQ_EVENT_MONITOR_STOPPED);
  try {
    bind();
  } catch (...) {
    StopMonitor(listener);
    throw;
  }
  // Comes first: before it nobody could connect.
  SocketEvent event;
  CHECK(TakeEvent(door.events, &event));
  CHECK_EQ(event.event, ZMQ_EVENT_LISTENING);
  // A server that ended while its door was shut has left it so, if the socket is its supervisor's.
  if (DropRequests(event.value, false)) door.fd = event.value;
  const MutexLock lock(mutex_);
  doors_.push_back(std::move(door));
  eventfd_write(wake_fd_, 1);
}

void ZeroMqGate::Leave(zmq::socket_t& listener) {
  {
    const MutexLock lock(mutex_);
    for (Door& door : doors_) {
      if (door.listener != listener.handle()) continue;
      if (door.is_shut) Shut(door, false);
      door.fd = -1;
      door.listener = nullptr;
    }
  }
  StopMonitor(listener);
}

// ---- Keys ---------------------------------------------------------------------------------------

bool ZeroMqGate::IsMember(const std::string& mechanism,
                          const std::vector<std::string>& credentials) const {
  if (security_.kind == Security::Kind::kCurve) {
    return mechanism == "CURVE" && credentials.size() == 1 && IsEqual(credentials[0], curve_key_);
  }
  return security_.kind == Security::Kind::kPlain && mechanism == "PLAIN" &&
         credentials.size() == 2 && !credentials[0].empty() &&
         IsEqual(credentials[1], security_.key);
}

void ZeroMqGate::AnswerZap() {
  for (;;) {
    // Version, request, domain, address, identity (the listener's), mechanism, credentials.
    constexpr size_t kBeforeCredentials = 6;
    std::vector<std::string> request;
    for (bool more = true; more;) {
      zmq::message_t part;
      if (!zap_.recv(part, zmq::recv_flags::dontwait)) return;
      request.push_back(part.to_string());
      more = part.more();
    }
    CHECK_GE(request.size(), kBeforeCredentials) << "ZAP: libzmq's question is too short";
    const std::vector<std::string> credentials(request.begin() + kBeforeCredentials, request.end());
    const bool is_member = IsMember(request[5], credentials);
    if (!is_member) LogRefused(request[3], "it does not have the key of this job");
    const bool is_named = is_member && security_.kind == Security::Kind::kPlain;
    const std::string user = !is_member ? "" : is_named ? credentials[0] : kCurveUserId;
    const std::string answer[] = {
        "1.0",          request[1], is_member ? "200" : "400", is_member ? "" : "another key", user,
        /*metadata=*/""};
    for (size_t i = 0; i < std::size(answer); ++i) {
      zap_.send(zmq::buffer(answer[i]),
                i + 1 < std::size(answer) ? zmq::send_flags::sndmore : zmq::send_flags::none);
    }
  }
}

void ZeroMqGate::LogRefused(const std::string& peer, const std::string& why) {
  ++refused_;
  LOG_EVERY_T(WARNING, kLogSeconds)
      << "refused peer=" << peer << ": " << why << " (refused so far: " << refused_ << ")";
}

// ---- Handshakes ---------------------------------------------------------------------------------

bool ZeroMqGate::AreDescriptorsScarce() const {
  // The lowest that is free.
  const int free = fcntl(wake_fd_, F_DUPFD_CLOEXEC, 0);
  if (free < 0) return true;
  close(free);
  return free >= max_descriptors_;
}

void ZeroMqGate::Shut(Door& door, bool is_shut) {
  if (!DropRequests(door.fd, is_shut)) {
    PLOG(WARNING) << "cannot " << (is_shut ? "stop" : "go on") << " accepting connections";
    door.fd = -1;
    return;
  }
  door.is_shut = is_shut;
  LOG_IF_EVERY_N(WARNING, is_shut, 1000)
      << "too many connections at once: accepting no more for a moment";
}

bool ZeroMqGate::Watch(Door& door) {
  const TimeMs now = clock_.NowMs();
  for (SocketEvent event; TakeEvent(door.events, &event);) {
    if (event.event == ZMQ_EVENT_MONITOR_STOPPED) return false;
    if (event.event == ZMQ_EVENT_ACCEPTED) {
      door.handshakes.push_back(now);
    } else if ((event.event & kHandshakeEnds) != 0 && !door.handshakes.empty()) {
      door.handshakes.pop_front();
    }
  }
  while (!door.handshakes.empty() && now - door.handshakes.front() > kForgetHandshakeMs) {
    door.handshakes.pop_front();
  }
  if (door.fd < 0) return true;
  const bool is_full = door.handshakes.size() >= kMaxHandshakes || AreDescriptorsScarce();
  if (is_full != door.is_shut) Shut(door, is_full);
  return true;
}

void ZeroMqGate::Run() {
  while (!is_stopping_) {
    bool is_any_shut = false;
    std::vector<zmq_pollitem_t> items = {{zap_.handle(), 0, ZMQ_POLLIN, 0},
                                         {nullptr, wake_fd_, ZMQ_POLLIN, 0}};
    {
      const MutexLock lock(mutex_);
      for (auto door = doors_.begin(); door != doors_.end();) {
        if (!Watch(*door)) {
          door = doors_.erase(door);
          continue;
        }
        is_any_shut = is_any_shut || door->is_shut;
        items.push_back({door->events.handle(), 0, ZMQ_POLLIN, 0});
        ++door;
      }
    }
    const int ready =
        zmq_poll(items.data(), static_cast<int>(items.size()), is_any_shut ? kShutPollMs : kPollMs);
    CHECK(ready >= 0 || errno == EINTR) << zmq_strerror(errno);
    eventfd_t calls;
    eventfd_read(wake_fd_, &calls);
    AnswerZap();
  }
}

}  // namespace rowhouse
