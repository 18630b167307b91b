#include "tests/testing/sim_communicator.h"

#include <fmt/core.h>

#include <optional>
#include <utility>

#include "tests/testing/gathering_communicator.h"
#include "worker/mpi/roll_call.h"

namespace rowhouse {
namespace {

using Messages = std::vector<std::vector<std::byte>>;

// Where the workers of a run meet, call after call.
class Meeting {
 public:
  Meeting(SimScheduler& scheduler, uint32_t workers, int64_t deadline_ms)
      : scheduler_(scheduler), deadline_ms_(deadline_ms), phases_(workers), messages_(workers) {}

  uint32_t workers() const { return static_cast<uint32_t>(phases_.size()); }
  int64_t deadline_ms() const { return deadline_ms_; }

  // Leaves `mine` and takes everybody's when all have come.
  Result<std::shared_ptr<const Messages>> Gather(uint32_t worker, std::vector<std::byte> mine,
                                                 const std::string& phase,
                                                 const std::function<bool()>& waits_on) {
    RETURN_IF_ERROR(broken_);
    scheduler_.Note(fmt::format("w{} meets: {}", worker, phase));
    phases_[worker] = phase;
    messages_[worker] = std::move(mine);
    const uint64_t meeting = meetings_;
    if (++present_ == workers()) {
      End();
      return result_;
    }
    const auto is_over = [&] { return meetings_ != meeting || !broken_.ok(); };
    TimeNs deadline = DeadlineFromNow();
    while (!is_over()) {
      scheduler_.WaitUntil(deadline);
      if (is_over() || scheduler_.NowNs() < deadline) continue;
      if (waits_on()) {
        deadline = DeadlineFromNow();
      } else if (!is_over()) {
        Break(worker);
      }
    }
    if (meetings_ == meeting) return broken_;
    // The next meeting cannot end before this worker has come to it, so result_ is still its own.
    return result_;
  }

 private:
  TimeNs DeadlineFromNow() const { return scheduler_.NowNs() + deadline_ms_ * kNsPerMs; }

  void End() {
    result_ = std::make_shared<const Messages>(std::move(messages_));
    messages_.assign(workers(), {});
    phases_.assign(workers(), std::nullopt);
    present_ = 0;
    ++meetings_;
    for (uint32_t w = 0; w < workers(); ++w) {
      scheduler_.After(static_cast<TimeNs>(scheduler_.Random(kNsPerMs)),
                       [this, w] { scheduler_.WakeTask(w); });
    }
  }

  void Break(uint32_t worker) {
    RollCall call = {.self = WorkerRank{worker}, .answers = {}, .deadline_ms = deadline_ms_};
    std::vector<WorkerAddress> addresses;
    for (const std::optional<std::string>& phase : phases_) {
      addresses.push_back({.mpi_rank = static_cast<int>(addresses.size()), .host = "sim"});
      call.answers.push_back(phase ? std::optional(RollCallAnswer{.phase = *phase}) : std::nullopt);
    }
    broken_ = DescribeRollCall(call, addresses);
    scheduler_.Note("gives up: " + broken_.message());
    for (uint32_t w = 0; w < workers(); ++w) scheduler_.WakeTask(w);
  }

  SimScheduler& scheduler_;
  const int64_t deadline_ms_;
  std::vector<std::optional<std::string>> phases_;  // of those present
  Messages messages_;
  uint32_t present_ = 0;
  uint64_t meetings_ = 0;
  std::shared_ptr<const Messages> result_;  // of the last meeting
  Status broken_;
};

class SimCommunicator final : public GatheringCommunicator {
 public:
  SimCommunicator(uint32_t rank, std::shared_ptr<Meeting> meeting)
      : rank_(rank), meeting_(std::move(meeting)) {}

  WorkerRank rank() const override { return WorkerRank{rank_}; }
  uint32_t size() const override { return meeting_->workers(); }

 private:
  Result<std::shared_ptr<const Messages>> Gather(std::vector<std::byte> mine,
                                                 const std::string& phase) override {
    return meeting_->Gather(rank_, std::move(mine), phase,
                            [&] { return WaitsOn(meeting_->deadline_ms(), phase); });
  }

  const uint32_t rank_;
  const std::shared_ptr<Meeting> meeting_;
};

}  // namespace

std::vector<std::unique_ptr<Communicator>> MakeSimCommunicators(SimScheduler& scheduler,
                                                                uint32_t workers,
                                                                int64_t deadline_ms) {
  const auto meeting = std::make_shared<Meeting>(scheduler, workers, deadline_ms);
  std::vector<std::unique_ptr<Communicator>> communicators;
  for (uint32_t rank = 0; rank < workers; ++rank) {
    communicators.push_back(std::make_unique<SimCommunicator>(rank, meeting));
  }
  return communicators;
}

}  // namespace rowhouse
