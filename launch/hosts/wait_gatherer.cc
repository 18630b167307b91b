#include "launch/hosts/wait_gatherer.h"

#include <fmt/format.h>
#include <glog/logging.h>
#include <sys/socket.h>

#include <chrono>
#include <thread>
#include <utility>

#include "launch/hosts/wait_picture.h"

namespace rowhouse {
namespace {

constexpr TimeMs kLookMs = 20;           // from one look for messages to the next
constexpr TimeMs kGatherMs = 2000;       // whoever waits looks at its Inquiry once a second
constexpr TimeMs kFreshMs = 1000;        // an older answer was one to an earlier inquiry
constexpr TimeMs kOnePictureMs = 10000;  // deadlines that pass within it have one cause
constexpr int kTag = 1;
constexpr size_t kMaxBytes = 4096;  // of a message; those of ToText are smaller
// A message is an answer; one without bytes is a question, or to the gatherer the wish for one.
constexpr char kQuestion[] = "";

std::vector<std::string> MembersOf(const Roles& roles, const std::vector<std::string>& hosts,
                                   uint32_t shards_per_node, const std::vector<std::string>& pids) {
  std::vector<std::string> members;
  const auto place = [&](int rank) {
    const auto r = static_cast<size_t>(rank);
    return fmt::format("rank {}, pid {} on {}", rank, pids[r], hosts[r]);
  };
  for (size_t n = 0; n < roles.ps.size(); ++n) {
    for (uint32_t k = 0; k < shards_per_node; ++k) {
      members.push_back(
          fmt::format("shard {} (PS node {}, {})", n * shards_per_node + k, n, place(roles.ps[n])));
    }
  }
  for (size_t w = 0; w < roles.workers.size(); ++w) {
    members.push_back(fmt::format("worker {} ({})", w, place(roles.workers[w])));
  }
  return members;
}

}  // namespace

Result<std::unique_ptr<WaitGatherer>> WaitGatherer::Make(Cluster& cluster, const Roles& roles,
                                                         uint32_t shards_per_node, pid_t pid,
                                                         uint32_t deadline_ms) {
  const std::string mine = std::to_string(pid);
  ASSIGN_OR_RETURN(const auto all, cluster.world().AllGather(std::as_bytes(std::span(mine)),
                                                             "telling process ids"));
  std::vector<std::string> pids;
  for (const std::vector<std::byte>& one : all) {
    pids.emplace_back(reinterpret_cast<const char*>(one.data()), one.size());
  }
  // Never freed: MPI_Comm_free may wait for messages to a rank that is gone.
  ASSIGN_OR_RETURN(const MPI_Comm comm, cluster.Duplicate(deadline_ms));
  const int gatherer = roles.ps.empty() ? roles.workers[0] : roles.ps[0];
  std::unique_ptr<WaitGatherer> made(new WaitGatherer(comm, cluster, gatherer));
  made->members_ = MembersOf(roles, cluster.hosts(), shards_per_node, pids);
  SetInquiryChannel(made.get());
  return made;
}

WaitGatherer::WaitGatherer(MPI_Comm comm, const Cluster& cluster, int gatherer)
    : comm_(comm), rank_(cluster.rank()), ranks_(cluster.size()), gatherer_(gatherer) {}

bool WaitGatherer::Hear(bool is_asked) {
  const TimeMs now = clock_.NowMs();
  if (!is_asked && now < next_look_) return false;
  next_look_ = now + kLookMs;
  if (is_asked && rank_ == gatherer_ && !began_) Begin();
  while (const auto message = Receive()) {
    const auto& [rank, text] = *message;
    if (text != kQuestion) {
      Keep(text);
    } else if (rank_ != gatherer_ || OnWish(rank)) {
      is_asked = true;
    }
  }
  DrawWhenDue();
  return is_asked;
}

void WaitGatherer::Answer(const std::string& waits) {
  if (rank_ == gatherer_) {
    Keep(waits);
  } else {
    Send(gatherer_, waits);
  }
}

void WaitGatherer::OnDeadline(const std::string& waits) {
  Answer(waits);
  if (rank_ == gatherer_) {
    OnWish(rank_);
  } else {
    Send(gatherer_, kQuestion);
  }
  if (!wished_at_) wished_at_ = clock_.NowMs();
}

void WaitGatherer::AwaitPicture() {
  constexpr TimeMs kToLogMs = 300;
  if (!wished_at_) return;
  // At least once: the deadline may have been told a while ago.
  do {
    Hear(false);
    std::this_thread::sleep_for(std::chrono::milliseconds(kLookMs));
  } while (clock_.NowMs() < *wished_at_ + kGatherMs + kToLogMs);
}

void WaitGatherer::Send(int rank, const std::string& text) {
  // Never freed: MPI may read it until the process ends. A few kilobytes for each inquiry, few
  // enough to leave at once although the other rank may be stopped.
  const auto* const message = new std::string(text);
  MPI_Request request = MPI_REQUEST_NULL;
  if (MPI_Isend(message->data(), static_cast<int>(message->size()), MPI_CHAR, rank, kTag, comm_,
                &request) == MPI_SUCCESS) {
    MPI_Request_free(&request);
  }
}

std::optional<std::pair<int, std::string>> WaitGatherer::Receive() {
  int found = 0, bytes = 0;
  MPI_Status status;
  char text[kMaxBytes];
  if (MPI_Iprobe(MPI_ANY_SOURCE, kTag, comm_, &found, &status) != MPI_SUCCESS || found == 0 ||
      MPI_Recv(text, sizeof(text), MPI_CHAR, status.MPI_SOURCE, kTag, comm_, &status) !=
          MPI_SUCCESS ||
      MPI_Get_count(&status, MPI_CHAR, &bytes) != MPI_SUCCESS) {
    return std::nullopt;
  }
  return std::pair(status.MPI_SOURCE, std::string(text, static_cast<size_t>(bytes)));
}

void WaitGatherer::Keep(const std::string& waits) {
  Kept kept{.waits = WaitsFromText(waits), .at = clock_.NowMs()};
  const std::string who = kept.waits.who;
  answers_[who] = std::move(kept);
}

bool WaitGatherer::OnWish(int rank) {
  if (began_ || (drawn_ && clock_.NowMs() < *drawn_ + kOnePictureMs)) return false;
  Begin();
  for (int other = 0; other < ranks_; ++other) {
    if (other != rank_ && other != rank) Send(other, kQuestion);
  }
  return true;
}

void WaitGatherer::Begin() {
  began_ = clock_.NowMs();
  std::erase_if(answers_, [&](const auto& one) { return one.second.at < *began_ - kFreshMs; });
}

void WaitGatherer::DrawWhenDue() {
  const TimeMs now = clock_.NowMs();
  if (!began_ || (answers_.size() < members_.size() && now < *began_ + kGatherMs)) return;
  std::vector<Waits> answers;
  for (const auto& [who, kept] : answers_) answers.push_back(kept.waits);
  LOG(WARNING) << WaitPicture(members_, answers);
  answers_.clear();
  began_.reset();
  drawn_ = now;
}

void AnswersToSupervisor::Answer(const std::string& waits) {
  send(fd_, waits.data(), waits.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
}

void HandOnServersAnswers(int fd) {
  char text[kMaxBytes];
  for (ssize_t bytes; (bytes = recv(fd, text, sizeof(text), MSG_DONTWAIT)) > 0;) {
    HandOnAnswer(std::string(text, static_cast<size_t>(bytes)));
  }
}

}  // namespace rowhouse
