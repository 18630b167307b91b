#include "launch/hosts/wait_gatherer.h"

#include <fmt/format.h>
#include <glog/logging.h>
#include <sys/socket.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <set>
#include <thread>
#include <utility>

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

namespace {

using Name = std::pair<std::string, int>;  // "worker", 2
using Names = std::set<Name>;

Name NameOf(const std::string& who) {
  const size_t blank = std::min(who.find(' '), who.size());
  return {who.substr(0, blank), std::atoi(who.c_str() + blank)};
}

// "shard 0, 3 and worker 2".
std::string ToWords(const Names& names) {
  std::string words, last;
  for (const auto& [kind, number] : names) {
    words += words.empty() ? "" : kind == last ? ", " : " and ";
    words += kind == last ? std::to_string(number) : fmt::format("{} {}", kind, number);
    last = kind;
  }
  return words;
}

class Picture {
 public:
  Picture(const std::vector<std::string>& members, const std::vector<Waits>& answers) {
    for (const std::string& member : members) members_[NameOf(member)] = member;
    for (const Waits& answer : answers) answers_[NameOf(answer.who)] = answer;
    for (const auto& [name, answer] : answers_) {
      for (const Wait& wait : answer.waits) AddPeers(name, wait, &waits_for_[name]);
    }
    std::erase_if(waits_for_, [](const auto& one) { return one.second.empty(); });
  }

  // Those of whom the same is to be said share a line.
  std::string Draw() const {
    std::map<std::string, Names> who_by_line;
    for (const auto& [name, answer] : answers_) {
      std::map<std::string, std::pair<Names, TimeMs>> peers_by_what;
      for (const Wait& wait : answer.waits) {
        auto& [peers, ms] = peers_by_what[wait.what];
        AddPeers(name, wait, &peers);
        ms = std::max(ms, wait.ms);
      }
      for (const auto& [what, wait] : peers_by_what) {
        const auto& [peers, ms] = wait;
        who_by_line[fmt::format(
                        "waits for {} ({}{})",
                        peers.empty() ? "the other workers, who all came" : ToWords(peers), what,
                        ms == 0 ? "" : fmt::format(", {:.1f} s", static_cast<double>(ms) / 1e3))]
            .insert(name);
      }
      if (answer.waits.empty()) who_by_line[StateOf(name)].insert(name);
    }
    for (const auto& [name, member] : members_) {
      if (!answers_.contains(name)) who_by_line[StateOf(name)].insert(name);
    }
    std::string text = "what the run waits for:\n";
    for (const auto& [line, who] : who_by_line) {
      const bool is_plural = who.size() > 1 && line.starts_with("waits");
      text += fmt::format("  {} {}\n", ToWords(who), is_plural ? "wait" + line.substr(5) : line);
    }
    text += DescribeRoots();
    uint64_t left_out = 0;
    for (const auto& [name, answer] : answers_) left_out += answer.left_out;
    if (left_out == 0) return text;
    return text + fmt::format(
                      "{} more waits had no room in the answers: the root may be among "
                      "those that are waited for there\n",
                      left_out);
  }

 private:
  // Whom `name` waits for.
  void AddPeers(const Name& name, const Wait& wait, Names* peers) const {
    if (wait.peer != kOtherWorkers) {
      peers->insert(NameOf(wait.peer));
      return;
    }
    const auto is_there = [&](const Wait& its) { return its.what == wait.what; };
    for (const auto& [other, member] : members_) {
      const auto answer = answers_.find(other);
      const bool came =
          other.first != "worker" || other == name ||
          (answer != answers_.end() && std::ranges::any_of(answer->second.waits, is_there));
      if (!came) peers->insert(other);
    }
  }

  // Of one that waits for nobody.
  std::string StateOf(const Name& name) const {
    const auto answer = answers_.find(name);
    if (answer == answers_.end()) {
      return members_.contains(name) ? "said nothing: it works, is stopped or has ended"
                                     : "was not asked";
    }
    return "waits for nobody" + (answer->second.note.empty() ? "" : ": " + answer->second.note);
  }

  std::string DescribeRoots() const {
    Names leading;  // to a root, and the roots
    for (const auto& [name, peers] : waits_for_) {
      for (const Name& peer : peers) {
        if (!waits_for_.contains(peer)) leading.insert(peer);
      }
    }
    std::map<std::string, Names> roots_by_words;  // shards of one process share a line
    for (const Name& root : leading) {
      const auto member = members_.find(root);
      const std::string place =
          member == members_.end() ? "" : member->second.substr(ToWords({root}).size());
      roots_by_words[place + ", which " + StateOf(root)].insert(root);
    }
    std::string text;
    for (const auto& [words, roots] : roots_by_words) {
      text += fmt::format("root: {}{}\n", ToWords(roots), words);
    }
    const auto leads = [&](const Name& name) { return leading.contains(name); };
    for (size_t before = leading.size() + 1; before != leading.size();) {
      before = leading.size();
      for (const auto& [name, peers] : waits_for_) {
        if (std::ranges::any_of(peers, leads)) leading.insert(name);
      }
    }
    for (const auto& [name, peers] : waits_for_) {
      if (!leads(name)) return text + DescribeCycle(name);
    }
    return text.empty() ? "root: none, as nobody waits for another\n" : text;
  }

  // From one who waits, and comes to no root.
  std::string DescribeCycle(const Name& from) const {
    std::vector<Name> way = {from};
    auto begin = way.end();
    do {
      way.push_back(*waits_for_.at(way.back()).begin());
      begin = std::find(way.begin(), way.end(), way.back());
    } while (begin + 1 == way.end());
    std::string words = ToWords({*begin});
    while (++begin != way.end()) words += " -> " + ToWords({*begin});
    return "root: none, each waits for the next: " + words +
           "; if another picture says so too, look at the network between them\n";
  }

  std::map<Name, std::string> members_;
  std::map<Name, Waits> answers_;
  std::map<Name, Names> waits_for_;  // of those that wait for somebody
};

}  // namespace

std::string WaitPicture(const std::vector<std::string>& members,
                        const std::vector<Waits>& answers) {
  return Picture(members, answers).Draw();
}

}  // namespace rowhouse
