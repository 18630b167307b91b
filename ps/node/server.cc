#include "ps/node/server.h"

#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "common/counted.h"
#include "common/digest.h"
#include "common/wire/codec.h"
#include "common/wire/control.h"

namespace rowhouse {
namespace {

// How long a HELLO waits for the job to be open before it is answered with the progress, or half of
// its deadline.
constexpr TimeMs kPulseMs = 1000;

Frames EncodeError(const Header& header, const Status& status) {
  return EncodeMessage(header, ErrorReply{static_cast<uint8_t>(status.code()), status.message()});
}

void Send(Listener& node, const PeerId& peer, Frames frames) {
  const Status sent = node.Send(peer, std::move(frames));
  // The worker may be gone, refused by another node.
  VLOG_IF(1, !sent.ok()) << "answer to HELLO lost: " << sent.message();
}

}  // namespace

Server::Server(const ServerOptions& options, ShardListeners shard_listener, const Clock& clock)
    : options_(options), shard_listener_(std::move(shard_listener)), clock_(clock) {}

Server::~Server() = default;

Status Server::Run(Listener& node, const std::atomic<bool>& stop, bool one_job) {
  while (!stop) {
    ASSIGN_OR_RETURN(std::optional<Incoming> incoming, node.Receive(WaitMs()));
    if (incoming) {
      const Result<Message> message = Unpack(std::move(incoming->frames));
      std::optional<Frames> answer = message.ok()
                                         ? Answer(incoming->peer, message.value(), node)
                                         : std::optional(EncodeError(Header{}, message.status()));
      if (answer) Send(node, incoming->peer, std::move(*answer));
    }
    if (job_ && job_->opening) AnswerWaiting(node);
    if (job_ && job_->gone.size() == job_->spec.workers) {
      LOG_IF(INFO, options_.logs_jobs)
          << fmt::format("job {:016x} ended: all of its workers have parted", job_->spec.job_id);
      EndJob();
      if (one_job) return OkStatus();
    }
  }
  if (job_) {
    LOG_IF(WARNING, options_.logs_jobs) << fmt::format(
        "told to stop in the middle of job {:016x}: what its workers had not saved is lost",
        job_->spec.job_id);
    EndJob();
  }
  return OkStatus();
}

int Server::WaitMs() const {
  constexpr TimeMs kMaxWaitMs = 200;  // How soon `stop` is noticed.
  if (!job_) return kMaxWaitMs;
  TimeMs wait = kMaxWaitMs;
  for (const auto& [worker, waiting] : job_->waiting) {
    wait = std::min(wait, waiting.until - clock_.NowMs());
  }
  return static_cast<int>(std::max<TimeMs>(wait, 0));
}

void Server::EndJob() {
  std::vector<std::string> directories;
  for (const ShardEndpoint& shard : job_->shards.endpoints) directories.push_back(shard.directory);
  job_.reset();    // Closes the shards, or ends their opening.
  malloc_trim(0);  // The next job may be a small one.
  if (!options_.rows_end_with_job) return;
  for (const std::string& directory : directories) {
    std::error_code ignored;  // The next job reports what is left.
    if (!directory.empty()) std::filesystem::remove_all(directory, ignored);
  }
}

TimeMs Server::SilenceMs() const {
  TimeMs heard_at = job_->heard_at;
  for (const auto& runner : job_->shards.runners) heard_at = std::max(heard_at, runner->heard_at());
  return clock_.NowMs() - heard_at;
}

std::optional<Frames> Server::Answer(const PeerId& peer, const Message& message, Listener& node) {
  Header header;
  header.job_id = message.header.job_id;
  header.request_id = message.header.request_id;
  header.incarnation = options_.incarnation;
  if (message.header.type == MessageType::kBye) {
    const Status status = OnBye(peer, message.header);
    return status.ok() ? EncodeMessage(header, ByeReply{}) : EncodeError(header, status);
  }
  const Result<HelloRequest> request = DecodeBody<HelloRequest>(message);
  if (!request.ok()) return EncodeError(header, request.status());
  return OnHello(peer, message.header, header, request.value(), node);
}

// Of another job: that is over here, or never was.
Status Server::OnBye(const PeerId& peer, const Header& header) {
  if (!job_ || job_->spec.job_id != header.job_id) return OkStatus();
  if (header.sender >= job_->spec.workers) {
    return CorruptionError("worker {} of {} does not exist", header.sender, job_->spec.workers);
  }
  RETURN_IF_ERROR(job_->senders.Check(peer, header));
  job_->gone.insert(header.sender);
  return OkStatus();
}

namespace {

// A worker's text may be small and still take much once it is read: "[],[],[]".
Status CheckJobFits(const std::string& json, uint64_t memory_limit_bytes) {
  if (memory_limit_bytes == 0) return OkStatus();
  constexpr uint64_t kValueBytes = 64;
  const auto begins_value = [](char c) { return c == ',' || c == ':' || c == '[' || c == '{'; };
  const auto values = static_cast<uint64_t>(std::ranges::count_if(json, begins_value));
  const uint64_t bytes = json.size() + values * kValueBytes;
  if (bytes <= memory_limit_bytes / 4) return OkStatus();
  return MakeStatus(StatusCode::kResourceExhausted,
                    "the job description takes about {} MiB once it is read, more than a quarter "
                    "of --memory_limit_mb={}",
                    bytes >> 20, memory_limit_bytes >> 20);
}

}  // namespace

std::optional<Frames> Server::OnHello(const PeerId& peer, const Header& header,
                                      const Header& answer, const HelloRequest& request,
                                      Listener& node) {
  const Status admitted = Admit(peer, header, request, node);
  if (!admitted.ok()) {
    return EncodeMessage(answer, Refusal(header.sender, request.host, admitted));
  }
  job_->heard_at = clock_.NowMs();
  if (!job_->opening) return EncodeMessage(answer, ReplyOf());
  const TimeMs patience = header.deadline_ms == 0 ? kPulseMs : TimeMs{header.deadline_ms / 2};
  const TimeMs until = job_->heard_at + std::min(kPulseMs, patience);
  job_->waiting.insert_or_assign(
      header.sender, Waiting{.peer = peer, .header = answer, .host = request.host, .until = until});
  return std::nullopt;
}

HelloReply Server::ReplyOf() const {
  HelloReply reply;
  reply.host = options_.host;
  reply.pid = static_cast<uint32_t>(getpid());
  reply.shards = job_->shards.endpoints;
  if (!job_->opening) return reply;
  reply.is_opening = true;
  reply.bytes_done = job_->opening->progress().bytes_done();
  reply.bytes_total = job_->opening->progress().bytes_total();
  return reply;
}

HelloReply Server::Refusal(uint32_t worker, const std::string& host, const Status& status) const {
  LOG_IF(ERROR, options_.logs_jobs)
      << "worker " << worker << " on " << host << " refused: " << status.message();
  HelloReply reply;
  reply.host = options_.host;
  reply.pid = static_cast<uint32_t>(getpid());
  reply.code = static_cast<uint8_t>(status.code());
  reply.message = status.message();
  return reply;
}

Status Server::Admit(const PeerId& peer, const Header& header, const HelloRequest& request,
                     Listener& node) {
  if (request.job_json.empty()) {
    RETURN_IF_ERROR(CheckNames(peer, header));
    RETURN_IF_ERROR(AdmitAgain(header, request.node));
    return job_->senders.Check(peer, header);
  }
  RETURN_IF_ERROR(CheckJobFits(request.job_json, options_.node.memory_limit_mb << 20));
  ASSIGN_OR_RETURN(JobSpec spec, JobSpec::FromJsonText(request.job_json));
  if (header.sender >= spec.workers) {
    return CorruptionError("worker {} of {} does not exist", header.sender, spec.workers);
  }
  RETURN_IF_ERROR(CheckNames(peer, header));
  if (header.job_id != spec.job_id) {
    return CorruptionError("HELLO of job {:016x} brings job {:016x}", header.job_id, spec.job_id);
  }
  if (job_ && job_->spec.job_id != spec.job_id && SilenceMs() >= options_.silence_ms) {
    LOG(WARNING) << fmt::format("job {:016x} gives way to another, nothing heard for {} ms",
                                job_->spec.job_id, SilenceMs());
    EndJob();
  }
  if (job_) {
    RETURN_IF_ERROR(CheckSameJob(spec, request.node));
  } else {
    std::string digest = DigestOf(request.job_json);
    if (failure_ && failure_->job_id == spec.job_id && failure_->text_digest == digest) {
      return failure_->status;
    }
    BeginJob(std::move(spec), request.node, std::move(digest), node);
  }
  return job_->senders.Check(peer, header);
}

Status Server::AdmitAgain(const Header& header, uint32_t node) const {
  if (failure_ && failure_->job_id == header.job_id) return failure_->status;
  if (!job_ || job_->spec.job_id != header.job_id) {
    return MakeStatus(StatusCode::kUnavailable,
                      "this PS node (pid {} on {}) does not know job {:016x} any more: it was "
                      "started again, or serves another; start the run again",
                      getpid(), options_.host, header.job_id);
  }
  if (header.sender >= job_->spec.workers) {
    return CorruptionError("worker {} of {} does not exist", header.sender, job_->spec.workers);
  }
  return CheckNode(node);
}

void Server::BeginJob(JobSpec spec, uint32_t number, std::string text_digest, Listener& node) {
  failure_.reset();
  job_ = Job();
  job_->spec = std::move(spec);
  job_->node = number;
  job_->began_at = clock_.NowMs();
  job_->text_digest = std::move(text_digest);
  job_->opening = std::make_unique<JobOpening>(options_, job_->spec, number, shard_listener_,
                                               clock_, environment_, [&node] { node.Wake(); });
}

Status Server::EndOpening() {
  Result<OpenedShards> opened = job_->opening->Take();
  job_->opening.reset();
  RETURN_IF_ERROR(opened.status());
  job_->shards = std::move(opened).value();
  environment_ = job_->shards.environment;
  job_->heard_at = clock_.NowMs();
  LOG_IF(INFO, options_.logs_jobs) << fmt::format(
      "job {:016x} begins: this is its PS node {}, with {} of {}, for {}, from step {} on; rows in "
      "{}, opened in {:.1f} s",
      job_->spec.job_id, job_->node, Counted(job_->spec.shards_per_node, "shard"),
      job_->spec.plan.shards(), Counted(job_->spec.workers, "worker"), job_->spec.first_step(),
      options_.node.has_files() ? options_.node.row_dir : std::string("memory"),
      static_cast<double>(job_->heard_at - job_->began_at) / 1000);
  return OkStatus();
}

void Server::AnswerWaiting(Listener& node) {
  const bool has_ended = job_->opening->has_ended();
  const Status ended = has_ended ? EndOpening() : OkStatus();
  std::erase_if(job_->waiting, [&](const auto& entry) {
    const auto& [worker, waiting] = entry;
    if (!has_ended && clock_.NowMs() < waiting.until) return false;
    Send(node, waiting.peer,
         EncodeMessage(waiting.header,
                       ended.ok() ? ReplyOf() : Refusal(worker, waiting.host, ended)));
    return true;
  });
  if (ended.ok()) return;
  failure_ = Failure{
      .job_id = job_->spec.job_id, .text_digest = std::move(job_->text_digest), .status = ended};
  EndJob();
}

Status Server::CheckSameJob(const JobSpec& spec, uint32_t node) const {
  const JobSpec& mine = job_->spec;
  if (spec.job_id != mine.job_id) {
    return UsageError(
        "this PS node (pid {} on {}) serves another job, {:016x} with {} worker{}, heard of {} ms "
        "ago; wait until it ends (if it was killed: until nothing was heard of it for {} ms), or "
        "use another node",
        getpid(), options_.host, mine.job_id, mine.workers, mine.workers == 1 ? "" : "s",
        SilenceMs(), options_.silence_ms);
  }
  RETURN_IF_ERROR(CheckNode(node));
  if (spec.config_digest != mine.config_digest || spec.plan.digest() != mine.plan.digest()) {
    return UsageError(
        "workers of one job disagree: config {} and plan {} here, {} and {} from another; give all "
        "ranks the same --config and flags",
        spec.config_digest, spec.plan.digest(), mine.config_digest, mine.plan.digest());
  }
  return OkStatus();
}

Status Server::CheckNode(uint32_t node) const {
  if (node == job_->node) return OkStatus();
  return UsageError(
      "this PS node (pid {} on {}) is named twice in --ps_endpoints, as node {} and {}", getpid(),
      options_.host, job_->node, node);
}

}  // namespace rowhouse
