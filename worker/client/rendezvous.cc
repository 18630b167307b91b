#include "worker/client/rendezvous.h"

#include <algorithm>
#include <functional>

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

// A node takes a worker's BYE only from the peer that said its HELLO.
PeerId IdentityAtNodes(uint64_t job_id, WorkerRank worker) {
  return fmt::format("{:016x}-w{}-nodes", job_id, Raw(worker));
}

// One question to every node.
struct Question {
  std::string phase;  // for errors
  PeerId identity;    // of the dialer
  std::function<Frames(size_t node)> ask;
  std::function<Status(size_t node, const Message&)> take;
};

// Sends ask(n) to every node n and gives each answer to `take`, until all nodes have answered.
Status AskAll(const RendezvousOptions& options, const std::vector<NodeAddress>& nodes,
              const Question& question, Transport& transport, const Clock& clock) {
  ASSIGN_OR_RETURN(const std::unique_ptr<Dialer> dialer, transport.MakeDialer(question.identity));
  for (size_t n = 0; n < nodes.size(); ++n) {
    RETURN_IF_ERROR(dialer->Connect(nodes[n].endpoint).status().Annotate(nodes[n].name));
    RETURN_IF_ERROR(dialer->Send(n, question.ask(n)).Annotate(nodes[n].name));
  }
  std::vector<bool> has_answered(nodes.size());
  const TimeMs deadline = clock.NowMs() + options.deadline_ms;
  const auto is_stopped = [&] { return options.stop != nullptr && options.stop->load(); };
  while (std::find(has_answered.begin(), has_answered.end(), false) != has_answered.end()) {
    const TimeMs left = deadline - clock.NowMs();
    if (left <= 0 || is_stopped()) break;
    constexpr TimeMs kMaxWaitMs = 200;  // How soon `stop` is noticed.
    ASSIGN_OR_RETURN(std::optional<Incoming> incoming,
                     dialer->Receive(static_cast<int>(std::min(left, kMaxWaitMs))));
    if (!incoming) continue;
    const NodeAddress& node = nodes[incoming->listener];
    ASSIGN_OR_RETURN(const Message message, Unpack(std::move(incoming->frames)));
    RETURN_IF_ERROR(question.take(incoming->listener, message).Annotate(node.name));
    has_answered[incoming->listener] = true;
  }
  std::string silent;
  for (size_t n = 0; n < nodes.size(); ++n) {
    if (has_answered[n]) continue;
    silent +=
        fmt::format("{}{} at {}", silent.empty() ? "" : ", ", nodes[n].name, nodes[n].endpoint);
  }
  if (silent.empty()) return OkStatus();
  if (is_stopped()) {
    return MakeStatus(StatusCode::kUnavailable,
                      "{}: worker {} on {} was told to stop while it waited for an answer from {}",
                      question.phase, Raw(options.worker), options.host, silent);
  }
  return MakeStatus(StatusCode::kDeadlineExceeded,
                    "{}: worker {} on {} had no answer within {} ms from {}", question.phase,
                    Raw(options.worker), options.host, options.deadline_ms, silent);
}

// An answer that is an error, as that error.
Status CheckNoError(const Message& message) {
  if (message.header.type != MessageType::kError) return OkStatus();
  ASSIGN_OR_RETURN(const ErrorReply error, DecodeBody<ErrorReply>(message));
  return Status(static_cast<StatusCode>(error.code), error.message);
}

}  // namespace

Result<std::vector<ShardAddress>> MeetNodes(const RendezvousOptions& options, const JobSpec& job,
                                            const std::vector<NodeAddress>& nodes,
                                            Transport& transport, const Clock& clock) {
  CHECK_EQ(nodes.size() * job.shards_per_node, job.plan.shards());
  const std::string job_json = job.ToJsonText();
  const auto ask = [&](size_t n) {
    Header header;
    header.job_id = job.job_id;
    header.request_id = n + 1;
    header.deadline_ms = options.deadline_ms;
    header.sender = Raw(options.worker);
    return EncodeMessage(header, HelloRequest{options.host, static_cast<uint32_t>(n), job_json});
  };
  std::vector<ShardAddress> shards(job.plan.shards());
  const auto take = [&](size_t n, const Message& message) -> Status {
    RETURN_IF_ERROR(CheckNoError(message));
    ASSIGN_OR_RETURN(const HelloReply reply, DecodeBody<HelloReply>(message));
    if (reply.code != 0) return Status(static_cast<StatusCode>(reply.code), reply.message);
    if (reply.shards.size() != job.shards_per_node) {
      return CorruptionError("answered with {} shards, not {}", reply.shards.size(),
                             job.shards_per_node);
    }
    for (const ShardEndpoint& shard : reply.shards) {
      if (shard.shard / job.shards_per_node != n) {
        return CorruptionError("answered with shard {}, which is another node's", shard.shard);
      }
      const std::string endpoint = ReachableEndpoint(shard.endpoint, nodes[n].endpoint);
      shards[shard.shard] = {
          .endpoint = endpoint,
          .name = fmt::format("shard {} of {} at {}", shard.shard, nodes[n].name, endpoint),
          .incarnation = message.header.incarnation,
          .host = reply.host,
          .directory = shard.directory};
    }
    return OkStatus();
  };
  VLOG(1) << "worker " << Raw(options.worker) << " meets " << nodes.size() << " PS nodes";
  const PeerId identity = IdentityAtNodes(job.job_id, options.worker);
  RETURN_IF_ERROR(AskAll(options, nodes, {"meeting", identity, ask, take}, transport, clock));
  return shards;
}

Status PartFromNodes(const RendezvousOptions& options, uint64_t job_id,
                     const std::vector<NodeAddress>& nodes, Transport& transport,
                     const Clock& clock) {
  const auto ask = [&](size_t n) {
    Header header;
    header.job_id = job_id;
    header.request_id = n + 1;
    header.sender = Raw(options.worker);
    return EncodeMessage(header, ByeRequest{});
  };
  const auto take = [](size_t, const Message& message) { return CheckNoError(message); };
  const PeerId identity = IdentityAtNodes(job_id, options.worker);
  return AskAll(options, nodes, {"parting", identity, ask, take}, transport, clock);
}

}  // namespace rowhouse
