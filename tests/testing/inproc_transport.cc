#include "tests/testing/inproc_transport.h"

#include <chrono>
#include <deque>
#include <map>

#include "common/mutex.h"

namespace rowhouse {
namespace {

// Everything of one transport is under one lock: nothing but pointers is moved under it, and one
// lock has no order to get wrong.

constexpr std::string_view kScheme = "inproc://";

// What one Listener or Dialer has to read, in a lane for each sender; lanes take turns.
class Mailbox {
 public:
  bool IsFull(uint64_t lane, size_t limit) const {
    const auto found = lanes_.find(lane);
    return (found == lanes_.end() ? 0 : found->second.size()) >= limit;
  }

  void Put(uint64_t lane, Incoming message) {
    lanes_[lane].push_back(std::move(message));
    changed_.NotifyOne();
  }

  void Forget(uint64_t lane) { lanes_.erase(lane); }
  void ForgetAll() { lanes_.clear(); }

  void Wake() {
    woken_ = true;
    changed_.NotifyOne();
  }

  // `mutex`: that of the transport.
  std::optional<Incoming> Take(Mutex& mutex, int timeout_ms) REQUIRES(mutex) {
    CHECK_GE(timeout_ms, 0) << "every wait has an end";
    // Not for 0: even a wait that is over costs a system call and a pause.
    if (lanes_.empty() && timeout_ms > 0) {
      const auto deadline = CondVar::After(std::chrono::milliseconds(timeout_ms));
      while (!woken_ && lanes_.empty() && changed_.WaitUntil(mutex, deadline)) continue;
    }
    if (lanes_.empty()) {
      woken_ = false;
      return std::nullopt;
    }
    auto lane = lanes_.upper_bound(last_lane_);
    if (lane == lanes_.end()) lane = lanes_.begin();
    last_lane_ = lane->first;
    Incoming message = std::move(lane->second.front());
    lane->second.pop_front();
    if (lane->second.empty()) lanes_.erase(lane);
    return message;
  }

 private:
  CondVar changed_;
  std::map<uint64_t, std::deque<Incoming>> lanes_;  // no empty lanes
  uint64_t last_lane_ = 0;
  bool woken_ = false;
};

// An address. It is there as soon as somebody listens on it or dials it, so that messages sent
// before the listener comes wait in its mailbox.
struct Place {
  struct Caller {
    Mailbox* mailbox;  // the dialer's, valid as long as it is registered here
    size_t listener;   // what the dialer calls this place
    uint64_t lane;     // of this place's mailbox
  };
  bool is_listening = false;
  Mailbox mailbox;
  std::map<PeerId, Caller> callers;
};

// Everything of one transport. All places and mailboxes are used with `mutex` held.
struct Hub {
  explicit Hub(size_t limit) : peer_queue_messages(limit) {}

  std::shared_ptr<Place> PlaceAt(const std::string& endpoint) REQUIRES(mutex) {
    std::shared_ptr<Place>& place = places[endpoint];
    if (place == nullptr) place = std::make_shared<Place>();
    return place;
  }
  void ForgetIfDeserted(const std::string& endpoint) REQUIRES(mutex) {
    const auto found = places.find(endpoint);
    if (found == places.end()) return;
    if (!found->second->is_listening && found->second->callers.empty()) places.erase(found);
  }

  const size_t peer_queue_messages;
  Mutex mutex;
  std::map<std::string, std::shared_ptr<Place>> places GUARDED_BY(mutex);
  uint64_t lanes GUARDED_BY(mutex) = 0;  // given out so far
};

Status CheckName(std::string_view verb, const std::string& address) {
  if (address.starts_with(kScheme) && address.size() > kScheme.size()) return OkStatus();
  return UsageError("cannot {} {}: threads of one process meet at \"inproc://name\"", verb,
                    address);
}

Status QueueFull(std::string_view where, size_t limit) {
  return MakeStatus(StatusCode::kResourceExhausted, "{} does not read: {} messages wait for it",
                    where, limit);
}

class InprocListener final : public Listener {
 public:
  InprocListener(std::shared_ptr<Hub> hub, std::shared_ptr<Place> place, std::string endpoint)
      : hub_(std::move(hub)),
        owned_place_(std::move(place)),
        place_(owned_place_.get()),
        endpoint_(std::move(endpoint)) {}

  ~InprocListener() override {
    const MutexLock lock(hub_->mutex);
    place_->is_listening = false;
    place_->mailbox.ForgetAll();
    hub_->ForgetIfDeserted(endpoint_);
  }

  const std::string& endpoint() const override { return endpoint_; }

  Result<std::optional<Incoming>> Receive(int timeout_ms) override {
    const MutexLock lock(hub_->mutex);
    return place_->mailbox.Take(hub_->mutex, timeout_ms);
  }

  Status Send(const PeerId& to, Frames frames) override {
    CHECK(!frames.empty());
    const MutexLock lock(hub_->mutex);
    const auto caller = place_->callers.find(to);
    if (caller == place_->callers.end()) {
      return MakeStatus(StatusCode::kUnavailable, "{}: this peer is not connected", endpoint_);
    }
    auto& [mailbox, listener, lane] = caller->second;
    if (mailbox->IsFull(listener, hub_->peer_queue_messages)) {
      return QueueFull("the peer", hub_->peer_queue_messages).Annotate(endpoint_);
    }
    mailbox->Put(listener, {.peer = {}, .listener = listener, .frames = std::move(frames)});
    return OkStatus();
  }

  void Wake() override {
    const MutexLock lock(hub_->mutex);
    place_->mailbox.Wake();
  }

 private:
  const std::shared_ptr<Hub> hub_;
  const std::shared_ptr<Place> owned_place_;
  Place* const place_ PT_GUARDED_BY(hub_->mutex);
  const std::string endpoint_;
};

class InprocDialer final : public Dialer {
 public:
  InprocDialer(std::shared_ptr<Hub> hub, PeerId identity)
      : hub_(std::move(hub)), identity_(std::move(identity)) {}

  ~InprocDialer() override {
    const MutexLock lock(hub_->mutex);
    for (Line& line : lines_) HangUp(line);
  }

  Result<size_t> Connect(const std::string& endpoint) override {
    RETURN_IF_ERROR(CheckName("connect to", endpoint));
    const MutexLock lock(hub_->mutex);
    const size_t listener = lines_.size();
    lines_.push_back(Dial(listener, endpoint, identity_));
    return listener;
  }

  Status Send(size_t listener, Frames frames) override {
    CHECK(!frames.empty());
    const MutexLock lock(hub_->mutex);
    CHECK_LT(listener, lines_.size());
    const Line& line = lines_[listener];
    Mailbox& mailbox = line.place->mailbox;
    if (mailbox.IsFull(line.lane, hub_->peer_queue_messages)) {
      return QueueFull(line.endpoint, hub_->peer_queue_messages);
    }
    Frames copies;  // What is sent may lend the sender's memory.
    for (const Frame& frame : frames) copies.push_back(Frame::CopyOf(frame.bytes()));
    mailbox.Put(line.lane, {.peer = line.identity, .listener = 0, .frames = std::move(copies)});
    return OkStatus();
  }

  Result<std::optional<Incoming>> Receive(int timeout_ms) override {
    const MutexLock lock(hub_->mutex);
    return mailbox_.Take(hub_->mutex, timeout_ms);
  }

 private:
  struct Line {
    std::string endpoint;
    PeerId identity;
    std::shared_ptr<Place> place;
    uint64_t lane = 0;
  };

  Line Dial(size_t listener, const std::string& endpoint, const PeerId& identity)
      REQUIRES(hub_->mutex) {
    Line line = {.endpoint = endpoint,
                 .identity = identity,
                 .place = hub_->PlaceAt(endpoint),
                 .lane = ++hub_->lanes};
    line.place->callers[identity] = {.mailbox = &mailbox_, .listener = listener, .lane = line.lane};
    return line;
  }

  // What a listener has not read yet it still will; for one that never came there is no use.
  void HangUp(const Line& line) REQUIRES(hub_->mutex) {
    const auto self = line.place->callers.find(line.identity);
    // A newcomer of the same identity may have taken the place.
    if (self != line.place->callers.end() && self->second.lane == line.lane) {
      line.place->callers.erase(self);
    }
    if (!line.place->is_listening) line.place->mailbox.Forget(line.lane);
    hub_->ForgetIfDeserted(line.endpoint);
  }

  const std::shared_ptr<Hub> hub_;
  const PeerId identity_;
  Mailbox mailbox_ GUARDED_BY(hub_->mutex);
  std::vector<Line> lines_ GUARDED_BY(hub_->mutex);
};

class InprocTransport final : public Transport {
 public:
  explicit InprocTransport(size_t peer_queue_messages)
      : hub_(std::make_shared<Hub>(peer_queue_messages)) {}

  Result<std::unique_ptr<Listener>> Listen(const std::string& address) override {
    RETURN_IF_ERROR(CheckName("listen on", address));
    const MutexLock lock(hub_->mutex);
    std::shared_ptr<Place> place = hub_->PlaceAt(address);
    if (place->is_listening) {
      return UsageError("cannot listen on {}: address already in use in this process", address);
    }
    place->is_listening = true;
    return std::unique_ptr<Listener>(
        std::make_unique<InprocListener>(hub_, std::move(place), address));
  }

  Result<std::unique_ptr<Listener>> ListenOn(int /*fd*/, const std::string& endpoint) override {
    return UsageError("cannot listen on {}: threads of one process have no sockets", endpoint);
  }

  Result<std::unique_ptr<Dialer>> MakeDialer(const PeerId& identity) override {
    CHECK(!identity.empty() && identity.size() <= 255 && identity[0] != '\0');
    return std::unique_ptr<Dialer>(std::make_unique<InprocDialer>(hub_, identity));
  }

 private:
  const std::shared_ptr<Hub> hub_;
};

}  // namespace

std::unique_ptr<Transport> MakeInprocTransport(size_t peer_queue_messages) {
  return std::make_unique<InprocTransport>(peer_queue_messages);
}

}  // namespace rowhouse
