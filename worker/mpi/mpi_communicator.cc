#include "worker/mpi/mpi_communicator.h"

#include <sched.h>

#include <algorithm>
#include <chrono>
#include <climits>
#include <thread>

#include "common/clock.h"
#include "common/inquiry/inquiry.h"
#include "common/kernels/row_updates.h"
#include "worker/embedding/slices.h"

namespace rowhouse {
namespace {

constexpr int kTag = 1;
// Far below the size up to which every transport of Open MPI sends at once (eager), so that
// neither side waits for the other.
constexpr size_t kMaxPhaseBytes = 512;
constexpr std::chrono::milliseconds kRollCallPause(1);

}  // namespace

MpiRollCall::MpiRollCall(MPI_Comm comm, std::vector<WorkerAddress> addresses, int64_t deadline_ms,
                         int64_t collect_ms)
    : comm_(comm),
      addresses_(std::move(addresses)),
      deadline_ms_(deadline_ms),
      collect_ms_(collect_ms) {}

bool MpiRollCall::IsCalled() const {
  int found = 0;
  const int error = MPI_Iprobe(MPI_ANY_SOURCE, kTag, comm_, &found, MPI_STATUS_IGNORE);
  return error != MPI_SUCCESS || found != 0;
}

Status MpiRollCall::Hold(const std::string& phase, bool came_late) {
  int rank = 0;
  MPI_Comm_rank(comm_, &rank);
  RollCall call = {.self = WorkerRank{static_cast<uint32_t>(rank)},
                   .answers = std::vector<std::optional<RollCallAnswer>>(addresses_.size()),
                   .deadline_ms = deadline_ms_};
  // Both sides must compare the same text.
  const RollCallAnswer own = {phase.substr(0, kMaxPhaseBytes), came_late};
  call.answers[rank] = own;
  Tell(own);
  Collect(&call);
  return DescribeRollCall(call, addresses_);
}

void MpiRollCall::Tell(const RollCallAnswer& answer) {
  // Never freed: a worker that is gone does not receive, and MPI may read the message until the
  // process ends. A few hundred bytes, once in the life of a process.
  auto* message = new std::string((answer.came_late ? "L" : "W") + answer.phase);
  for (size_t w = 0; w < addresses_.size(); ++w) {
    int rank = 0;
    MPI_Comm_rank(comm_, &rank);
    if (static_cast<int>(w) == rank) continue;
    MPI_Request request;
    if (MPI_Isend(message->data(), static_cast<int>(message->size()), MPI_CHAR, static_cast<int>(w),
                  kTag, comm_, &request) == MPI_SUCCESS) {
      MPI_Request_free(&request);
    }
  }
}

void MpiRollCall::Collect(RollCall* call) {
  const SystemClock clock;
  const TimeMs end = clock.NowMs() + collect_ms_;
  const auto is_silent = [](const auto& answer) { return !answer.has_value(); };
  while (std::any_of(call->answers.begin(), call->answers.end(), is_silent)) {
    int found = 0;
    MPI_Status status;
    if (MPI_Iprobe(MPI_ANY_SOURCE, kTag, comm_, &found, &status) != MPI_SUCCESS) return;
    if (found != 0) {
      char text[kMaxPhaseBytes + 1];
      int bytes = 0;
      // The message is here whole (see kMaxPhaseBytes): receiving it does not wait.
      if (MPI_Recv(text, sizeof(text), MPI_CHAR, status.MPI_SOURCE, kTag, comm_, &status) !=
              MPI_SUCCESS ||
          MPI_Get_count(&status, MPI_CHAR, &bytes) != MPI_SUCCESS || bytes < 1) {
        return;
      }
      call->answers[status.MPI_SOURCE] =
          RollCallAnswer{.phase = std::string(text + 1, static_cast<size_t>(bytes) - 1),
                         .came_late = *text == 'L'};
    } else if (clock.NowMs() >= end) {
      return;
    } else {
      std::this_thread::sleep_for(kRollCallPause);
    }
  }
}

namespace {

// A wait begins with tests in a loop, because the others usually come within microseconds. Then it
// yields, and at last it sleeps between tests, so that other threads of an oversubscribed host (a
// shard's, for instance) get the core.
constexpr int kEagerTests = 50;
constexpr TimeMs kYieldMs = 5;
constexpr std::chrono::microseconds kPause(50);

Status MpiError(const std::string& phase, int error) {
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  MPI_Error_string(error, text, &length);
  return MakeStatus(StatusCode::kUnavailable, "{}: MPI: {}", phase, std::string(text, length));
}

// Everything MPI reads or writes while a call is under way.
struct CallBuffers {
  std::vector<float> sent, received, gathered;
  std::vector<uint64_t> sizes;
  std::vector<std::byte> mine, all;
  std::vector<int> send_counts, send_starts, receive_counts, receive_starts;
  MPI_Request request = MPI_REQUEST_NULL;
};

class MpiCommunicator final : public Communicator {
 public:
  MpiCommunicator(MPI_Comm comm, MPI_Comm roll_call, const MpiCommunicatorOptions& options)
      : comm_(comm),
        roll_call_comm_(roll_call),
        deadline_ms_(options.deadline_ms),
        roll_call_(roll_call, options.workers, options.deadline_ms, options.roll_call_ms),
        buffers_(std::make_unique<CallBuffers>()) {
    int rank = 0, size = 0;
    MPI_Comm_rank(comm_, &rank);
    MPI_Comm_size(comm_, &size);
    rank_ = static_cast<uint32_t>(rank);
    size_ = static_cast<uint32_t>(size);
  }

  ~MpiCommunicator() override {
    if (!broken_.ok()) return;  // MPI_Comm_free may wait for pending requests.
    MPI_Comm_free(&comm_);
    MPI_Comm_free(&roll_call_comm_);
  }

  WorkerRank rank() const override { return WorkerRank{rank_}; }
  uint32_t size() const override { return size_; }

  Status SumInRankOrder(std::span<float> values, const std::string& phase) override {
    CHECK_LE(values.size(), size_t{INT_MAX} / size_);
    RETURN_IF_ERROR(Begin(phase));
    return Break(Sum(values, phase));
  }

  Result<std::vector<std::vector<std::byte>>> AllGather(std::span<const std::byte> mine,
                                                        const std::string& phase) override {
    RETURN_IF_ERROR(Begin(phase));
    auto gathered = Gather(mine, phase);
    RETURN_IF_ERROR(Break(gathered.status()));
    return gathered;
  }

 private:
  // Starts the time of a call. An error if the communicator is broken or others have given up.
  Status Begin(const std::string& phase) {
    RETURN_IF_ERROR(broken_);
    begin_ = clock_.NowMs();
    deadline_ = begin_ + deadline_ms_;
    if (roll_call_.IsCalled()) {
      TellOfDeadline({.who = fmt::format("worker {}", rank_), .waits = {}, .note = "it came late"});
      return Break(roll_call_.Hold(phase, /*came_late=*/true));
    }
    return OkStatus();
  }

  // Keeps the first error, and never frees the buffers: MPI may have requests on them.
  Status Break(const Status& status) {
    if (!status.ok() && status.code() != StatusCode::kResourceExhausted) {
      broken_ = status;
      buffers_.release();  // NOLINT: see above
    }
    return status;
  }

  Status Sum(std::span<float> values, const std::string& phase) {
    CallBuffers& e = *buffers_;
    const SampleSlice own = SliceOf(values.size(), size_, rank());
    e.sent.assign(values.begin(), values.end());
    e.received.resize(own.count * size_);
    e.gathered.resize(values.size());
    Divide(values.size());
    std::fill(e.receive_counts.begin(), e.receive_counts.end(), static_cast<int>(own.count));
    for (uint32_t w = 0; w < size_; ++w) e.receive_starts[w] = static_cast<int>(w * own.count);
    RETURN_IF_ERROR(Wait(MPI_Ialltoallv(e.sent.data(), e.send_counts.data(), e.send_starts.data(),
                                        MPI_FLOAT, e.received.data(), e.receive_counts.data(),
                                        e.receive_starts.data(), MPI_FLOAT, comm_, &e.request),
                         phase));

    const std::span<float> sum = std::span(e.received).first(own.count);
    for (uint32_t w = 1; w < size_; ++w) {
      AddRow(std::span(e.received).subspan(w * own.count, own.count), sum);
    }
    RETURN_IF_ERROR(Wait(
        MPI_Iallgatherv(sum.data(), static_cast<int>(own.count), MPI_FLOAT, e.gathered.data(),
                        e.send_counts.data(), e.send_starts.data(), MPI_FLOAT, comm_, &e.request),
        phase));
    std::copy(e.gathered.begin(), e.gathered.end(), values.begin());
    return OkStatus();
  }

  // Counts and starts of the segments of all ranks, of `count` values.
  void Divide(uint64_t count) {
    CallBuffers& e = *buffers_;
    for (auto* values : {&e.send_counts, &e.send_starts, &e.receive_counts, &e.receive_starts}) {
      values->resize(size_);
    }
    for (uint32_t w = 0; w < size_; ++w) {
      const SampleSlice slice = SliceOf(count, size_, WorkerRank{w});
      e.send_counts[w] = static_cast<int>(slice.count);
      e.send_starts[w] = static_cast<int>(slice.first);
    }
  }

  Result<std::vector<std::vector<std::byte>>> Gather(std::span<const std::byte> mine,
                                                     const std::string& phase) {
    CallBuffers& e = *buffers_;
    e.mine.assign(mine.begin(), mine.end());
    e.sizes.assign(size_ + 1, 0);
    e.sizes[size_] = mine.size();  // what this rank sends; the others are received
    RETURN_IF_ERROR(Wait(MPI_Iallgather(&e.sizes[size_], 1, MPI_UINT64_T, e.sizes.data(), 1,
                                        MPI_UINT64_T, comm_, &e.request),
                         phase));
    uint64_t total = 0;
    e.receive_counts.resize(size_);
    e.receive_starts.resize(size_);
    for (uint32_t w = 0; w < size_; ++w) {
      if (e.sizes[w] > INT_MAX - total) {  // All ranks have the same sizes and return here.
        return MakeStatus(StatusCode::kResourceExhausted,
                          "{}: the workers' messages together exceed 2 GB", phase);
      }
      e.receive_counts[w] = static_cast<int>(e.sizes[w]);
      e.receive_starts[w] = static_cast<int>(total);
      total += e.sizes[w];
    }
    e.all.resize(total);
    RETURN_IF_ERROR(Wait(MPI_Iallgatherv(e.mine.data(), static_cast<int>(e.mine.size()), MPI_BYTE,
                                         e.all.data(), e.receive_counts.data(),
                                         e.receive_starts.data(), MPI_BYTE, comm_, &e.request),
                         phase));
    std::vector<std::vector<std::byte>> messages(size_);
    const std::byte* next = e.all.data();
    for (uint32_t w = 0; w < size_; ++w, next += e.sizes[w - 1]) {
      messages[w].assign(next, next + e.sizes[w]);
    }
    return messages;
  }

  Waits WaitsAt(TimeMs now, const std::string& phase) const {
    return {.who = fmt::format("worker {}", rank_),
            .waits = {{.peer = kOtherWorkers, .what = phase, .ms = now - begin_}},
            .note = ""};
  }

  // Waits for buffers_->request until the deadline of the call. `error`: of starting the request.
  Status Wait(int error, const std::string& phase) {
    TimeMs next_look = begin_;
    bool has_expired = false;
    for (int tests = 0;; ++tests) {
      if (error != MPI_SUCCESS) return MpiError(phase, error);
      int is_done = 0;
      error = MPI_Test(&buffers_->request, &is_done, MPI_STATUS_IGNORE);
      if (error == MPI_SUCCESS && is_done != 0) return OkStatus();
      if (tests < kEagerTests) continue;
      const TimeMs now = clock_.NowMs();
      if (now >= deadline_) {
        // The others may have come during the call of the patience: the request is tested again.
        if (has_expired) {
          TellOfDeadline(WaitsAt(now, phase));
          return roll_call_.Hold(phase, /*came_late=*/false);
        }
        has_expired = !WaitsOn(deadline_ms_, phase);
        if (!has_expired) deadline_ = clock_.NowMs() + deadline_ms_;
        continue;
      }
      if (now > next_look) {
        next_look = now;
        if (Inquiry::OfThisThread().IsAsked()) {
          Inquiry::Answer(fmt::format("worker {} waits for the other workers: {}, for {} ms", rank_,
                                      phase, now - begin_),
                          WaitsAt(now, phase));
        }
        // Not only on the way in: a message that has arrived may be seen by a later probe only.
        if (roll_call_.IsCalled()) {
          TellOfDeadline(WaitsAt(now, phase));
          return roll_call_.Hold(phase, /*came_late=*/now - begin_ <= deadline_ms_ / 3);
        }
      }
      if (now < begin_ + kYieldMs) {
        sched_yield();
      } else {
        std::this_thread::sleep_for(kPause);
      }
    }
  }

  MPI_Comm comm_;
  MPI_Comm roll_call_comm_;
  const int64_t deadline_ms_;
  MpiRollCall roll_call_;
  std::unique_ptr<CallBuffers> buffers_;
  const SystemClock clock_;
  uint32_t rank_ = 0, size_ = 0;
  TimeMs begin_ = 0;     // of the call
  TimeMs deadline_ = 0;  // of its wait
  Status broken_;
};

}  // namespace

Result<std::unique_ptr<Communicator>> MakeMpiCommunicator(MPI_Comm workers,
                                                          const MpiCommunicatorOptions& options) {
  int size = 0;
  MPI_Comm_size(workers, &size);
  CHECK_EQ(options.workers.size(), static_cast<size_t>(size));
  MPI_Comm comms[2];
  for (MPI_Comm& comm : comms) {
    int error = MPI_Comm_dup(workers, &comm);
    if (error == MPI_SUCCESS) error = MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    if (error != MPI_SUCCESS) return MpiError("making the workers' communicator", error);
  }
  return std::unique_ptr<Communicator>(
      std::make_unique<MpiCommunicator>(comms[0], comms[1], options));
}

}  // namespace rowhouse
