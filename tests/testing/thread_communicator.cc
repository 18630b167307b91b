#include "tests/testing/thread_communicator.h"

#include <chrono>

#include "common/mutex.h"
#include "tests/testing/gathering_communicator.h"
#include "worker/mpi/roll_call.h"

namespace rowhouse {
namespace {

using Messages = std::vector<std::vector<std::byte>>;

// Where the threads of one run meet, call after call.
class ThreadMeeting {
 public:
  ThreadMeeting(uint32_t workers, int64_t deadline_ms)
      : workers_(workers), deadline_ms_(deadline_ms), phases_(workers), messages_(workers) {}

  size_t workers() const { return workers_; }
  int64_t deadline_ms() const { return deadline_ms_; }

  // Leaves `mine` and takes everybody's when all have come.
  Result<std::shared_ptr<const Messages>> Gather(uint32_t worker, std::vector<std::byte> mine,
                                                 const std::string& phase,
                                                 const std::function<bool()>& waits_on) {
    MutexLock lock(mutex_);
    RETURN_IF_ERROR(broken_);
    phases_[worker] = phase;
    messages_[worker] = std::move(mine);
    const uint64_t meeting = meetings_;
    if (++present_ == workers()) {
      result_ = std::make_shared<const Messages>(std::move(messages_));
      messages_.assign(workers(), {});
      phases_.assign(workers(), std::nullopt);
      present_ = 0;
      ++meetings_;
      changed_.NotifyAll();
      return result_;
    }
    while (!IsOverWithinDeadline(meeting)) {
      mutex_.Unlock();
      const bool is_patient = waits_on();
      mutex_.Lock();
      if (is_patient || IsOver(meeting)) continue;
      broken_ = Describe(worker);
      changed_.NotifyAll();
    }
    if (meetings_ == meeting) return broken_;
    // The next meeting cannot end before this worker has come to it, so result_ is still ours.
    return result_;
  }

 private:
  bool IsOver(uint64_t meeting) const REQUIRES(mutex_) {
    return meetings_ != meeting || !broken_.ok();
  }

  bool IsOverWithinDeadline(uint64_t meeting) REQUIRES(mutex_) {
    const auto deadline = CondVar::After(std::chrono::milliseconds(deadline_ms_));
    while (!IsOver(meeting) && changed_.WaitUntil(mutex_, deadline)) continue;
    return IsOver(meeting);
  }

  Status Describe(uint32_t worker) const REQUIRES(mutex_) {
    RollCall call = {.self = WorkerRank{worker}, .answers = {}, .deadline_ms = deadline_ms_};
    std::vector<WorkerAddress> addresses;
    for (const std::optional<std::string>& phase : phases_) {
      addresses.push_back({.mpi_rank = static_cast<int>(addresses.size()), .host = "thread"});
      call.answers.push_back(phase ? std::optional(RollCallAnswer{.phase = *phase}) : std::nullopt);
    }
    return DescribeRollCall(call, addresses);
  }

  const size_t workers_;
  const int64_t deadline_ms_;
  Mutex mutex_;
  CondVar changed_;
  std::vector<std::optional<std::string>> phases_ GUARDED_BY(mutex_);  // of those present
  Messages messages_ GUARDED_BY(mutex_);
  size_t present_ GUARDED_BY(mutex_) = 0;
  uint64_t meetings_ GUARDED_BY(mutex_) = 0;
  std::shared_ptr<const Messages> result_ GUARDED_BY(mutex_);  // of the last meeting
  Status broken_ GUARDED_BY(mutex_);
};

class ThreadCommunicator final : public GatheringCommunicator {
 public:
  ThreadCommunicator(uint32_t rank, std::shared_ptr<ThreadMeeting> meeting)
      : rank_(rank), meeting_(std::move(meeting)) {}

  WorkerRank rank() const override { return WorkerRank{rank_}; }
  uint32_t size() const override { return static_cast<uint32_t>(meeting_->workers()); }

 private:
  Result<std::shared_ptr<const Messages>> Gather(std::vector<std::byte> mine,
                                                 const std::string& phase) override {
    return meeting_->Gather(rank_, std::move(mine), phase,
                            [&] { return WaitsOn(meeting_->deadline_ms(), phase); });
  }

  const uint32_t rank_;
  const std::shared_ptr<ThreadMeeting> meeting_;
};

}  // namespace

std::vector<std::unique_ptr<Communicator>> MakeThreadCommunicators(uint32_t workers,
                                                                   int64_t deadline_ms) {
  const auto meeting = std::make_shared<ThreadMeeting>(workers, deadline_ms);
  std::vector<std::unique_ptr<Communicator>> communicators;
  for (uint32_t rank = 0; rank < workers; ++rank) {
    communicators.push_back(std::make_unique<ThreadCommunicator>(rank, meeting));
  }
  return communicators;
}

}  // namespace rowhouse
