#include "worker/mpi/mpi_roll_call.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include "common/clock.h"

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

}  // namespace rowhouse
