#include "tests/testing/sim_network.h"

#include <fmt/core.h>
#include <xxhash.h>

#include <algorithm>
#include <utility>

#include "common/wire/header.h"

namespace rowhouse {
namespace {

Frames CopyOf(const Frames& frames) {
  Frames copy;
  for (const Frame& frame : frames) copy.push_back(Frame::CopyOf(frame.bytes()));
  return copy;
}

}  // namespace

std::string DescribeFrames(const Frames& frames) {
  uint64_t bytes = 0, hash = 0;
  for (const Frame& frame : frames) {
    bytes += frame.size();
    hash = XXH3_64bits_withSeed(frame.data(), frame.size(), hash);
  }
  if (frames.size() < 2)
    return fmt::format("{} frames of {} bytes {:016x}", frames.size(), bytes, hash);
  const Result<Header> header = DecodeHeader(frames[0].bytes(), frames[1].bytes());
  if (!header.ok()) return fmt::format("no header, {} bytes {:016x}", bytes, hash);
  return fmt::format("{} step {} part {}/{} request {} {} bytes {:016x}",
                     MessageTypeName(header.value().type), header.value().step, header.value().part,
                     header.value().parts, header.value().request_id, bytes, hash);
}

// What a worker has yet to read, and its Dialer.
class SimNetwork::Inbox final : public Dialer {
 public:
  Inbox(SimNetwork& network, size_t worker) : network_(network), worker_(worker) {}

  void Put(size_t shard, Frames frames) {
    arrived_.push_back({.peer = {}, .listener = shard, .frames = std::move(frames)});
    network_.scheduler_.WakeTask(worker_);
  }

  Result<size_t> Connect(const std::string&) override { return connected_++; }

  Status Send(size_t shard, Frames frames) override {
    network_.Send({.worker = static_cast<uint32_t>(worker_),
                   .shard = static_cast<uint32_t>(shard),
                   .is_to_shard = true},
                  std::move(frames));
    return OkStatus();
  }

  Result<std::optional<Incoming>> Receive(int timeout_ms) override {
    if (arrived_.empty() && timeout_ms > 0) {
      network_.scheduler_.WaitUntil(network_.scheduler_.NowNs() + timeout_ms * kNsPerMs);
    }
    if (arrived_.empty()) return std::optional<Incoming>();
    Incoming first = std::move(arrived_.front());
    arrived_.pop_front();
    return std::optional<Incoming>(std::move(first));
  }

 private:
  SimNetwork& network_;
  const size_t worker_;
  size_t connected_ = 0;
  std::deque<Incoming> arrived_;
};

SimNetwork::SimNetwork(SimScheduler& scheduler, const SimFaults& faults, size_t workers,
                       size_t shards, OnArrival on_arrival)
    : scheduler_(scheduler),
      faults_(faults),
      shards_(shards),
      on_arrival_(std::move(on_arrival)),
      to_shard_(workers * shards),
      to_worker_(workers * shards) {
  for (size_t w = 0; w < workers; ++w) inboxes_.push_back(std::make_unique<Inbox>(*this, w));
}

SimNetwork::~SimNetwork() = default;

Dialer& SimNetwork::dialer(size_t worker) { return *inboxes_[worker]; }

void SimNetwork::SendToWorker(size_t shard, size_t worker, Frames frames) {
  Send({.worker = static_cast<uint32_t>(worker),
        .shard = static_cast<uint32_t>(shard),
        .is_to_shard = false},
       std::move(frames));
}

void SimNetwork::Note(Route route, const char* what, const Frames& frames) const {
  if (!scheduler_.is_tracing()) return;
  scheduler_.Note(fmt::format("w{}{}s{}{} {}", route.worker, route.is_to_shard ? ">" : "<",
                              route.shard, what, DescribeFrames(frames)));
}

TimeNs SimNetwork::AnyDelay() {
  return static_cast<TimeNs>(
      scheduler_.Random(static_cast<uint64_t>(faults_.max_delay_ms * kNsPerMs) + 1));
}

void SimNetwork::Arrive(Route route, Frames frames) {
  if (route.is_to_shard) {
    on_arrival_(route.shard, route.worker, std::move(frames));
  } else {
    inboxes_[route.worker]->Put(route.shard, std::move(frames));
  }
}

void SimNetwork::Send(Route route, Frames frames) {
  const uint64_t number = messages_++;
  if (number == faults_.lost_message || scheduler_.Happens(faults_.lost)) {
    return Note(route, " lost", frames);
  }
  auto latency = static_cast<TimeNs>(scheduler_.Random(kMaxLatency));
  if (scheduler_.Happens(faults_.late)) latency += AnyDelay();
  Connection& connection =
      (route.is_to_shard ? to_shard_ : to_worker_)[route.worker * shards_ + route.shard];
  connection.last_arrival = std::max(connection.last_arrival, scheduler_.NowNs() + latency);
  const TimeNs arrives_in = connection.last_arrival - scheduler_.NowNs();
  if (scheduler_.Happens(faults_.doubled)) {
    auto again = std::make_shared<Frames>(CopyOf(frames));
    scheduler_.After(arrives_in + 1 + AnyDelay(), [this, route, again] {
      Note(route, " again", *again);
      Arrive(route, std::move(*again));
    });
  }
  connection.on_their_way.push_back(CopyOf(frames));  // It may lend the sender's memory.
  // Whichever of a connection's events comes first delivers what was sent first.
  scheduler_.After(arrives_in, [this, route, &connection] {
    Frames first = std::move(connection.on_their_way.front());
    connection.on_their_way.pop_front();
    Note(route, "", first);
    Arrive(route, std::move(first));
  });
}

}  // namespace rowhouse
