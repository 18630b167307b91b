// WaitGatherer: who waits for whom in a run. Every rank sends its answers to inquiries
// (common/inquiry/inquiry.h) to one rank, the gatherer, which makes a picture of them (WaitPicture)
// and logs it within two seconds. The gatherer is the supervisor of PS node 0, which computes
// nothing and so can report even if workers and servers hang; where no rank has a PS node it is
// worker 0.
//
// The gatherer begins when a signal asks it, as it asks all ranks, or when a wait of any rank has
// passed its deadline: then it asks the other ranks itself. Messages are small, and sent without
// waiting: only a rank that is about to end the run waits for an answer.
//
// Threads: the main thread, as it calls MPI. In a process that has one, all who look at an Inquiry
// are on it.
#pragma once

#include <mpi.h>
#include <sys/types.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/clock.h"
#include "common/inquiry/inquiry.h"
#include "common/status.h"
#include "launch/hosts/cluster.h"
#include "launch/hosts/roles.h"

namespace rowhouse {

// Who waits for whom in a run, and the root of it, from what its processes have answered. A pure
// function.
//
// For people: a line for each answer and for each silent member, and the root: the one that others
// wait for, directly or not, and that itself waits for nobody or did not answer. If some wait for
// each other, the text says so. `members`: who was asked, with rank, pid and host. A peer that is
// no member counts as one that is not asked.
std::string WaitPicture(const std::vector<std::string>& members, const std::vector<Waits>& answers);

class WaitGatherer final : public InquiryChannel {
 public:
  // Collective, within `deadline_ms`. From then on it is the channel of this process. `pid`: of
  // this worker, or of this rank's server.
  static Result<std::unique_ptr<WaitGatherer>> Make(Cluster& cluster, const Roles& roles,
                                                    uint32_t shards_per_node, pid_t pid,
                                                    uint32_t deadline_ms);
  ~WaitGatherer() override { SetInquiryChannel(nullptr); }

  bool Hear(bool is_asked) override;
  void Answer(const std::string& waits) override;
  void OnDeadline(const std::string& waits) override;

  // If a wait of this rank has passed its deadline: returns when the picture has been logged.
  void AwaitPicture();

 private:
  WaitGatherer(MPI_Comm comm, const Cluster& cluster, int gatherer);
  void Send(int rank, const std::string& text);
  // A message and its sender; nullopt: none has come.
  std::optional<std::pair<int, std::string>> Receive();
  void Keep(const std::string& waits);
  // Called when a rank wants a picture, and waits for it. Returns whether one is begun.
  bool OnWish(int rank);
  void Begin();
  void DrawWhenDue();

  const MPI_Comm comm_;
  const int rank_, ranks_, gatherer_;
  const SystemClock clock_;
  TimeMs next_look_ = 0;
  std::optional<TimeMs> wished_at_;  // by this rank, first

  // Of the gatherer.
  struct Kept {
    Waits waits;
    TimeMs at = 0;
  };
  std::vector<std::string> members_;
  std::map<std::string, Kept> answers_;  // by what begins with the name
  std::optional<TimeMs> began_, drawn_;
};

// ---- From a server to its supervisor, by a socket of type SOCK_SEQPACKET ------------------------

// The channel of a server. Sends without waiting: what does not fit into the socket is lost.
class AnswersToSupervisor final : public InquiryChannel {
 public:
  explicit AnswersToSupervisor(int fd) : fd_(fd) { SetInquiryChannel(this); }
  ~AnswersToSupervisor() override { SetInquiryChannel(nullptr); }
  void Answer(const std::string& waits) override;

 private:
  const int fd_;
};

// Hands on what has come from a server.
void HandOnServersAnswers(int fd);

}  // namespace rowhouse
