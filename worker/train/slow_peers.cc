#include "worker/train/slow_peers.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <span>

#include "common/median.h"
#include "worker/train/step_clock.h"

namespace rowhouse {
namespace {

constexpr size_t kComparedSteps = 128;
constexpr size_t kFewestTimes = 32;
constexpr double kTimesSlower = 3.0, kSlowerMs = 50.0;
constexpr TimeMs kTellAgainMs = 60'000;

double Percentile99(std::vector<float> values) {
  const auto place = values.begin() + static_cast<std::ptrdiff_t>((values.size() - 1) * 99 / 100);
  std::nth_element(values.begin(), place, values.end());
  return *place;
}

}  // namespace

std::optional<PeerTimes::Slow> PeerTimes::TakeSlowest() {
  std::vector<Slow> peers;
  for (size_t peer = 0; peer < ms_.size(); ++peer) {
    if (ms_[peer].size() >= kFewestTimes) {
      peers.push_back({.peer = peer, .p99_ms = Percentile99(std::move(ms_[peer]))});
    }
    ms_[peer].clear();
  }
  if (peers.size() < 2) return std::nullopt;
  const auto slowest = std::ranges::max_element(peers, {}, &Slow::p99_ms);
  Slow slow = *slowest;
  peers.erase(slowest);
  std::vector<double> others;
  for (const Slow& peer : peers) others.push_back(peer.p99_ms);
  slow.others_ms = MedianOf(std::move(others));
  const bool is_slow =
      slow.p99_ms > kTimesSlower * slow.others_ms && slow.p99_ms > slow.others_ms + kSlowerMs;
  return is_slow ? std::optional(slow) : std::nullopt;
}

SlowPeers::SlowPeers(const PsClient& client, const StepClock& steps, Communicator& workers,
                     const Clock& clock)
    : client_(client),
      steps_(steps),
      workers_(workers),
      clock_(clock),
      shards_(client.shards().size()) {}

Result<std::string> SlowPeers::AfterStep() {
  for (size_t shard = 0; shard < client_.pull_ms().size(); ++shard) {
    const std::optional<TimeMs> ms = client_.pull_ms()[shard];
    if (ms) shards_.Add(shard, static_cast<float>(*ms));
  }
  const double seconds = StepPhasesOf(steps_.phases())
                             .SumOf({PhaseGroup::kReading, PhaseGroup::kRows, PhaseGroup::kDense,
                                     PhaseGroup::kUpdate});
  own_ms_.push_back(static_cast<float>((seconds - seconds_) * 1000));
  seconds_ = seconds;
  if (own_ms_.size() < kComparedSteps) return std::string();

  PeerTimes workers(workers_.size());
  if (workers_.size() > 1) {
    ASSIGN_OR_RETURN(const std::vector<std::vector<std::byte>> all,
                     workers_.AllGather(std::as_bytes(std::span(own_ms_)), "times of steps"));
    for (size_t worker = 0; worker < all.size(); ++worker) {
      for (size_t at = 0; at + sizeof(float) <= all[worker].size(); at += sizeof(float)) {
        float ms = 0;
        std::memcpy(&ms, all[worker].data() + at, sizeof ms);
        workers.Add(worker, ms);
      }
    }
  }
  own_ms_.clear();
  const std::optional<PeerTimes::Slow> shard = shards_.TakeSlowest();
  const std::optional<PeerTimes::Slow> worker = workers.TakeSlowest();
  const bool is_told = told_at_ && clock_.NowMs() - *told_at_ < kTellAgainMs;
  if (Raw(workers_.rank()) != 0 || is_told || (!shard && !worker)) return std::string();
  told_at_ = clock_.NowMs();
  std::string lines;
  if (shard) {
    lines += fmt::format(
        "note: {} is slow: it answers pulls within {:.0f} ms (p99 of {} steps), others within "
        "{:.0f}\n",
        client_.shards()[shard->peer].name, shard->p99_ms, kComparedSteps, shard->others_ms);
  }
  if (worker) {
    lines += fmt::format(
        "note: worker {} is slow: its own work takes {:.0f} ms a step (p99 of {} steps), that of "
        "others {:.0f}\n",
        worker->peer, worker->p99_ms, kComparedSteps, worker->others_ms);
  }
  return lines;
}

}  // namespace rowhouse
