#include "worker/client/rendezvous.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <utility>

#include "common/counted.h"
#include "common/transport/local_socket.h"
#include "common/transport/peer_name.h"
#include "common/wire/codec.h"
#include "common/wire/control.h"
#include "common/wire/hello.h"

namespace rowhouse {
namespace {

// "tcp://0.0.0.0:4000" at a node reached as "tcp://a:5000" is "tcp://a:4000".
std::string ReachableEndpoint(const std::string& endpoint, const std::string& node) {
  constexpr std::string_view kAny = "tcp://0.0.0.0:";
  if (!endpoint.starts_with(kAny)) return endpoint;
  return node.substr(0, node.rfind(':')) + ":" + endpoint.substr(kAny.size());
}

// What a node's message is to a question.
enum class Heard { kAnswer, kMoves, kStandsStill };  // The latter two: ask again.

// One question to every node.
struct Question {
  std::string phase;  // for errors
  PeerId identity;    // of the dialer
  std::function<Frames(size_t node, bool again)> ask;
  std::function<Result<Heard>(size_t node, const Message&)> take;
  // For a question that is asked again: what a node said of itself last, and what is called now and
  // then.
  std::function<std::string(size_t node)> state = nullptr;
  std::function<void()> wait = nullptr;
};

// An error that begins with a node's endpoint begins with its name.
Status OfNode(const Status& status, const std::vector<NodeAddress>& nodes) {
  for (const NodeAddress& node : nodes) {
    if (status.message().starts_with(node.endpoint + " ")) {
      return Status(status.code(), node.name + " at " + status.message());
    }
  }
  return status;
}

// Asks every node and gives each message to `take`, until all nodes have answered.
class Asking {
 public:
  Asking(const RendezvousOptions& options, const std::vector<NodeAddress>& nodes,
         const Question& question, Dialer& dialer, const Clock& clock)
      : options_(options), nodes_(nodes), question_(question), dialer_(dialer), clock_(clock) {}

  Status Run() {
    for (size_t n = 0; n < nodes_.size(); ++n) {
      RETURN_IF_ERROR(dialer_.Connect(nodes_[n].endpoint).status().Annotate(nodes_[n].name));
      RETURN_IF_ERROR(Ask(n, /*again=*/false));
    }
    while (left_ > 0) {
      const TimeMs now = clock_.NowMs(), gives_up_at = GivesUpAt();
      if (now >= gives_up_at || is_stopped()) return Failure(now);
      constexpr TimeMs kMaxWaitMs = 200;  // How soon `stop` is noticed.
      Result<std::optional<Incoming>> received =
          dialer_.Receive(static_cast<int>(std::min(gives_up_at - now, kMaxWaitMs)));
      if (!received.ok()) return OfNode(received.status(), nodes_);
      if (received.value()) RETURN_IF_ERROR(Take(std::move(*received.value())));
      if (question_.wait) RETURN_IF_ERROR(Wait());
    }
    return OkStatus();
  }

 private:
  Status Ask(size_t n, bool again) {
    return dialer_.Send(n, question_.ask(n, again)).Annotate(nodes_[n].name);
  }

  Status Take(Incoming incoming) {
    const size_t n = incoming.listener;
    ASSIGN_OR_RETURN(const Message message, Unpack(std::move(incoming.frames)));
    const Result<Heard> heard = question_.take(n, message);
    RETURN_IF_ERROR(heard.status().Annotate(nodes_[n].name));
    if (heard.value() == Heard::kAnswer) {
      left_ -= has_answered_[n] ? 0 : 1;
      has_answered_[n] = true;
      return OkStatus();
    }
    if (heard.value() == Heard::kMoves) moved_at_[n] = clock_.NowMs();
    return Ask(n, /*again=*/true);
  }

  Status Wait() {
    question_.wait();
    constexpr TimeMs kAgainMs = 1000;
    if (clock_.NowMs() < asked_at_ + kAgainMs) return OkStatus();
    asked_at_ = clock_.NowMs();
    for (size_t n = 0; n < nodes_.size(); ++n) {
      if (has_answered_[n]) RETURN_IF_ERROR(Ask(n, /*again=*/true));
    }
    return OkStatus();
  }

  bool is_stopped() const { return options_.stop != nullptr && options_.stop->load(); }

  TimeMs GivesUpAt() const {
    TimeMs first = std::numeric_limits<TimeMs>::max();
    for (size_t n = 0; n < nodes_.size(); ++n) {
      if (!has_answered_[n]) first = std::min(first, moved_at_[n] + options_.deadline_ms);
    }
    return first;
  }

  // Names the nodes that stand still, or, to a worker that was told to stop, all it waits for.
  Status Failure(TimeMs now) const {
    std::string silent;
    for (size_t n = 0; n < nodes_.size(); ++n) {
      if (has_answered_[n]) continue;
      if (!is_stopped() && now < moved_at_[n] + options_.deadline_ms) continue;
      silent +=
          fmt::format("{}{} at {}", silent.empty() ? "" : ", ", nodes_[n].name, nodes_[n].endpoint);
      const std::string state = question_.state ? question_.state(n) : "";
      if (!state.empty()) silent += fmt::format(" ({}, and stands still)", state);
    }
    if (is_stopped()) {
      return MakeStatus(
          StatusCode::kUnavailable,
          "{}: worker {} on {} was told to stop while it waited for an answer from {}",
          question_.phase, Raw(options_.worker), options_.host, silent);
    }
    return MakeStatus(StatusCode::kDeadlineExceeded,
                      "{}: worker {} on {} had no answer within {} ms from {}", question_.phase,
                      Raw(options_.worker), options_.host, options_.deadline_ms, silent);
  }

  const RendezvousOptions& options_;
  const std::vector<NodeAddress>& nodes_;
  const Question& question_;
  Dialer& dialer_;
  const Clock& clock_;
  size_t left_ = nodes_.size();  // that have not answered
  std::vector<bool> has_answered_ = std::vector<bool>(nodes_.size());
  std::vector<TimeMs> moved_at_ = std::vector<TimeMs>(nodes_.size(), clock_.NowMs());
  TimeMs asked_at_ = clock_.NowMs();  // those that have answered
};

Status AskAll(const RendezvousOptions& options, const std::vector<NodeAddress>& nodes,
              const Question& question, Transport& transport, const Clock& clock) {
  ASSIGN_OR_RETURN(const std::unique_ptr<Dialer> dialer, transport.MakeDialer(question.identity));
  return Asking(options, nodes, question, *dialer, clock).Run();
}

// An answer that is an error, as that error.
Status CheckNoError(const Message& message) {
  if (message.header.type != MessageType::kError) return OkStatus();
  ASSIGN_OR_RETURN(const ErrorReply error, DecodeBody<ErrorReply>(message));
  return Status(static_cast<StatusCode>(error.code), error.message);
}

Status TakeShards(const HelloReply& reply, size_t n, uint64_t incarnation, const JobSpec& job,
                  const NodeAddress& node, bool uses_local_sockets,
                  std::vector<ShardAddress>* shards) {
  if (reply.shards.size() != job.shards_per_node) {
    return CorruptionError("answered with {} shards, not {}", reply.shards.size(),
                           job.shards_per_node);
  }
  for (const ShardEndpoint& shard : reply.shards) {
    if (shard.shard / job.shards_per_node != n) {
      return CorruptionError("answered with shard {}, which is another node's", shard.shard);
    }
    const std::string endpoint = ReachableEndpoint(shard.endpoint, node.endpoint);
    const bool is_local = uses_local_sockets && IsOfThisHost(shard.local_endpoint);
    (*shards)[shard.shard] = {
        .endpoint = is_local ? shard.local_endpoint : endpoint,
        .name = fmt::format("shard {} of {} at {}", shard.shard, node.name, endpoint),
        .incarnation = incarnation,
        .host = reply.host,
        .directory = shard.directory,
        .rows_digest = shard.rows_digest};
  }
  return OkStatus();
}

}  // namespace

Result<std::vector<ShardAddress>> MeetNodes(const RendezvousOptions& options, const JobSpec& job,
                                            const std::vector<NodeAddress>& nodes,
                                            Transport& transport, const Clock& clock) {
  CHECK_EQ(nodes.size() * job.shards_per_node, job.plan.shards());
  const std::string job_json = job.ToJsonText();
  const auto ask = [&](size_t n, bool again) {
    Header header;
    header.job_id = job.job_id;
    header.request_id = n + 1;
    header.deadline_ms = options.deadline_ms;
    header.sender = Raw(options.worker);
    return EncodeMessage(header, HelloRequest{options.host, static_cast<uint32_t>(n),
                                              again ? std::string() : job_json});
  };
  NodesOpening opening(nodes.size());
  std::vector<ShardAddress> shards(job.plan.shards());
  const auto take = [&](size_t n, const Message& message) -> Result<Heard> {
    RETURN_IF_ERROR(CheckNoError(message));
    ASSIGN_OR_RETURN(const HelloReply reply, DecodeBody<HelloReply>(message));
    if (reply.code != 0) return Status(static_cast<StatusCode>(reply.code), reply.message);
    if (reply.is_opening) {
      const bool moves = opening.Note(n, reply.bytes_done, reply.bytes_total, clock.NowMs());
      return moves ? Heard::kMoves : Heard::kStandsStill;
    }
    opening.NoteOpen(n);
    RETURN_IF_ERROR(TakeShards(reply, n, message.header.incarnation, job, nodes[n],
                               options.uses_local_sockets, &shards));
    return Heard::kAnswer;
  };
  std::vector<std::string> names;
  for (const NodeAddress& node : nodes) names.push_back(node.name);
  TimeMs told_at = clock.NowMs();
  const auto wait = [&] {
    constexpr TimeMs kTellMs = 10'000;
    const TimeMs now = clock.NowMs();
    if (!options.tell || now < told_at + kTellMs) return;
    told_at = now;
    if (const std::string line = opening.Line(names, now); !line.empty()) options.tell(line);
  };
  VLOG(1) << "worker " << Raw(options.worker) << " meets " << nodes.size() << " PS nodes";
  const PeerId identity = PeerIdOf({.job_id = job.job_id,
                                    .worker = Raw(options.worker),
                                    .session = options.session,
                                    .use = "hello"});
  const auto state = [&opening](size_t n) { return opening.StateOf(n); };
  RETURN_IF_ERROR(
      AskAll(options, nodes, {"meeting", identity, ask, take, state, wait}, transport, clock));
  return shards;
}

Status PartFromNodes(const RendezvousOptions& options, uint64_t job_id,
                     const std::vector<NodeAddress>& nodes, Transport& transport,
                     const Clock& clock) {
  const auto ask = [&](size_t n, bool) {
    Header header;
    header.job_id = job_id;
    header.request_id = n + 1;
    header.sender = Raw(options.worker);
    return EncodeMessage(header, ByeRequest{});
  };
  const auto take = [](size_t, const Message& message) -> Result<Heard> {
    RETURN_IF_ERROR(CheckNoError(message));
    return Heard::kAnswer;
  };
  const PeerId identity = PeerIdOf(
      {.job_id = job_id, .worker = Raw(options.worker), .session = options.session, .use = "bye"});
  return AskAll(options, nodes, {"parting", identity, ask, take}, transport, clock);
}

bool NodesOpening::Note(size_t n, uint64_t done, uint64_t total, TimeMs now) {
  std::optional<Node>& node = nodes_[n];
  const bool has_moved = !node || node->done != done;
  if (!node) node = Node{.done_at_first = done, .noted_first_at = now};
  node->done = done;
  node->total = total;
  return has_moved;
}

std::optional<double> NodesOpening::Node::SecondsLeft(TimeMs now) const {
  if (total < done || done == done_at_first || now <= noted_first_at) return std::nullopt;
  const double ms = static_cast<double>(now - noted_first_at);
  return static_cast<double>(total - done) / static_cast<double>(done - done_at_first) * ms / 1000;
}

std::string NodesOpening::StateOf(size_t n) const {
  const std::optional<Node>& node = nodes_[n];
  if (!node) return "";
  const auto gigabytes = [](uint64_t bytes) { return static_cast<double>(bytes) / 1e9; };
  if (node->total < node->done || node->total == 0) {
    return fmt::format("opens its rows, {:.1f} GB so far", gigabytes(node->done));
  }
  return fmt::format("opens its rows, {:.1f} of {:.1f} GB", gigabytes(node->done),
                     gigabytes(node->total));
}

std::string NodesOpening::Line(const std::vector<std::string>& names, TimeMs now) const {
  size_t opening = 0, last = 0;
  double most = -1;
  for (size_t n = 0; n < nodes_.size(); ++n) {
    if (!nodes_[n]) continue;
    ++opening;
    constexpr double kNotKnown = std::numeric_limits<double>::infinity();
    const double left = nodes_[n]->SecondsLeft(now).value_or(kNotKnown);
    if (left <= most) continue;
    most = left;
    last = n;
  }
  if (opening == 0) return "";
  std::string line = fmt::format("{} {}", names[last], StateOf(last));
  if (std::isfinite(most)) line += fmt::format(", about {:.0f} s left", std::ceil(most));
  if (opening > 1) line += fmt::format(" ({} more)", Counted(opening - 1, "node"));
  return line;
}

}  // namespace rowhouse
