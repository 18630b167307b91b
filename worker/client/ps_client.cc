#include "worker/client/ps_client.h"

#include <glog/logging.h>

#include <algorithm>
#include <utility>

#include "common/inquiry/inquiry.h"
#include "common/wire/codec.h"
#include "common/wire/pull.h"

namespace rowhouse {
namespace {

OperationDeadlines DeadlinesOf(uint32_t deadline_ms, const PsClientOptions& options) {
  return {.told_ms = deadline_ms, .patience_ms = deadline_ms + options.answer_grace_ms};
}

}  // namespace

PsClient::PsClient(const PsClientOptions& options, const Plan& plan,
                   std::vector<ShardAddress> shards)
    : options_(options),
      limits_{.rows = options.max_part_rows, .bytes = options.max_part_bytes},
      context_{.job_id = options.job_id, .worker = options.worker, .shards = std::move(shards)},
      router_(plan),
      pull_frames_(options.row_precision.pull),
      push_frames_(options.row_precision.push),
      control_frames_(context_.shards.size()),
      pull_(context_, options.window, pull_frames_),
      push_(context_, options.window, push_frames_),
      control_(context_, options.window, control_frames_),
      moved_bytes_(context_.shards.size()),
      busy_wait_(options.worker, options.room_deadline_ms) {
  CHECK_EQ(plan.shards(), context_.shards.size());
}

bool PsClient::Begin(Operation* operation) {
  if (!status_.ok()) return false;
  CHECK(!operation->busy() && !control_.busy()) << "one operation of a kind at a time";
  if (!busy()) busy_wait_.Clear();
  last_begun_ = operation;
  return true;
}

void PsClient::StartPull(uint64_t step, bool eval, std::vector<RowBatch>* rows,
                         std::vector<BagBatch>* bags) {
  if (!Begin(&pull_)) return;
  pull_began_.reset();
  has_answered_pull_.reset();
  pull_ms_.assign(context_.shards.size(), std::nullopt);
  pull_.Begin(MessageType::kPull, step, DeadlinesOf(options_.deadline_ms, options_),
              pull_frames_.Divide(router_, limits_, eval, rows, bags));
}

void PsClient::StartPush(uint64_t step, float learning_rate, uint64_t samples,
                         std::vector<RowBatch>* rows) {
  if (!Begin(&push_)) return;
  const PushOptions options{
      .learning_rate = learning_rate, .samples = samples, .sends_counts = options_.push_counts};
  push_.Begin(MessageType::kPush, step, DeadlinesOf(options_.deadline_ms, options_),
              push_frames_.Divide(router_, limits_, options, rows, pull_frames_.bags()));
}

void PsClient::StartFlush(uint64_t steps) {
  BeginControl(MessageType::kFlush, steps, DeadlinesOf(options_.control_deadline_ms, options_));
}

void PsClient::StartCheckpoint(uint64_t steps, CheckpointRequest request) {
  control_frames_.set_checkpoint(std::move(request));
  BeginControl(MessageType::kCheckpoint, steps,
               DeadlinesOf(options_.control_deadline_ms, options_));
}

void PsClient::StartDigest(uint64_t steps) {
  BeginControl(MessageType::kDigest, steps, DeadlinesOf(options_.control_deadline_ms, options_));
}

void PsClient::StartStats(uint64_t steps) {
  BeginControl(MessageType::kStats, steps, DeadlinesOf(options_.deadline_ms, options_));
}

void PsClient::StartProfile(ProfileWish wish) {
  control_frames_.set_profile_wish(wish);
  BeginControl(MessageType::kProfile, 0, DeadlinesOf(options_.deadline_ms, options_));
}

// Step 0 is applied before every other: no shard lets this wait for a push.
void PsClient::StartProbe(uint32_t within_ms) {
  CHECK_GT(within_ms, 0u);
  OperationDeadlines deadlines = DeadlinesOf(options_.deadline_ms, options_);
  deadlines.told_ms = within_ms;
  BeginControl(MessageType::kStats, 0, deadlines);
}

void PsClient::BeginControl(MessageType type, uint64_t steps, const OperationDeadlines& deadlines) {
  CHECK(!busy()) << "a control request runs alone";
  if (!Begin(&control_)) return;
  control_.Begin(type, steps, deadlines, control_frames_.Divide(type));
}

void PsClient::Prefetch(uint64_t step, const std::vector<RowBatch>& rows) {
  PartDivider divider(context_.shards.size(), limits_);
  prefetched_rows_.Route(router_, rows, /*trained_only=*/false, &divider);
  for (const MessagePart& part : divider.Take(/*to_every_shard=*/false)) {
    const Header header = context_.HeaderOf(part, step, next_request_id_++, options_.deadline_ms);
    Frames payload;
    payload.push_back(prefetched_rows_.Ids(rows, part));
    const PrefetchRequest request{.tables = RowFrames::TablesOf(rows, part)};
    prefetches_.push_back(
        {.shard = part.shard, .frames = EncodeMessage(header, request, std::move(payload))});
  }
}

std::vector<Outgoing> PsClient::TakeOutgoing(TimeMs now) {
  if (!status_.ok()) return {};
  if (pull_.busy() && !pull_began_) pull_began_ = now;
  std::vector<Outgoing> outgoing = std::exchange(prefetches_, {});
  push_.Send(now, &next_request_id_, &outgoing);
  pull_.Send(now, &next_request_id_, &outgoing);
  control_.Send(now, &next_request_id_, &outgoing);
  for (const Outgoing& message : outgoing) moved_bytes_.Add(message.shard, message.frames);
  return outgoing;
}

void PsClient::OnMessage(size_t shard, Frames frames) {
  if (!status_.ok()) return;
  moved_bytes_.Add(shard, frames);
  const Result<Message> message = Unpack(std::move(frames));
  if (!message.ok()) {
    status_ = message.status();
    if (last_begun_ != nullptr) status_ = status_.Annotate(last_begun_->Describe(shard));
    return;
  }
  // An answer to none of them is one to an operation that was given up.
  for (Operation* const operation : {&push_, &pull_, &control_}) {
    const std::optional<Operation::Answer> answer = operation->OnMessage(message.value());
    if (!answer) continue;
    status_ = answer->status;
    if (!status_.ok()) refused_ = operation->WaitFor(shard, 0);
    if (answer->busy) {
      busy_wait_.OnBusy(*answer->busy);
    } else if (operation == &pull_) {
      has_answered_pull_ = shard;
    }
    return;
  }
}

void PsClient::OnReceiveError(const Status& error) {
  if (!status_.ok()) return;
  status_ = error;
  const Operation* asked = last_begun_;
  for (const Operation* const operation : {&control_, &pull_, &push_}) {
    if (operation->busy()) asked = operation;
  }
  for (size_t shard = 0; shard < context_.shards.size(); ++shard) {
    const std::string its = context_.shards[shard].endpoint + " ";
    if (asked == nullptr || !error.message().starts_with(its)) continue;
    status_ =
        Status(error.code(), asked->Describe(shard) + " " + error.message().substr(its.size()));
    return;
  }
}

void PsClient::OnTick(TimeMs now) {
  if (const std::optional<size_t> shard = std::exchange(has_answered_pull_, std::nullopt)) {
    pull_ms_[*shard] = now - *pull_began_;
  }
  bool is_busy = false;
  for (Operation* const operation : {&push_, &pull_, &control_}) {
    if (!status_.ok()) return;
    bool was_extended = false;
    status_ = operation->OnTick(now, &was_extended);
    is_busy = is_busy || was_extended;
  }
  if (!status_.ok() || !is_busy) return;
  // Whoever probes, or asks for counts, says itself what it found.
  const bool is_silent = control_.busy() && control_.type() == MessageType::kStats;
  status_ = busy_wait_.OnTick(now, is_silent);
}

std::optional<TimeMs> PsClient::NextDeadline() const {
  std::optional<TimeMs> earliest;
  for (const Operation* const operation : {&push_, &pull_, &control_}) {
    const std::optional<TimeMs> next = operation->NextDeadline();
    if (next && (!earliest || *next < *earliest)) earliest = next;
  }
  return earliest;
}

std::string PsClient::DescribeUnanswered(TimeMs now) const {
  std::string lines;
  for (const Operation* const operation : {&push_, &pull_, &control_}) {
    operation->DescribeUnanswered(now, &lines);
  }
  if (!lines.empty()) return lines;
  return fmt::format("worker {} waits for no shard\n", Raw(options_.worker));
}

Waits PsClient::WaitsAt(TimeMs now) const {
  Waits waits{.who = fmt::format("worker {}", Raw(options_.worker)), .waits = {}, .note = ""};
  for (const Operation* const operation : {&push_, &pull_, &control_}) {
    operation->AddWaits(now, &waits.waits);
  }
  if (refused_) waits.waits.push_back(*refused_);
  return waits;
}

ClientPhases ClientPhases::Of(const std::string& operation, PhaseLog* log, MessageLog* messages) {
  const auto add = [&](const char* part) { return log->Add({.name = operation + "/" + part}); };
  return {.log = log,
          .encode = add("encode"),
          .send = add("send"),
          .wait = add("wait"),
          .decode = add("decode"),
          .messages = messages};
}

Status SendOutgoing(PsClient& client, Dialer& dialer, const Clock& clock,
                    const ClientPhases& phases) {
  std::vector<Outgoing> messages = client.TakeOutgoing(clock.NowMs());
  phases.End(phases.encode);
  for (Outgoing& outgoing : messages) {
    if (phases.messages != nullptr) {
      const TimeNs now = phases.log->Now();
      phases.messages->OnRequest("", outgoing.frames, now, now);
    }
    const Status sent = dialer.Send(outgoing.shard, std::move(outgoing.frames));
    if (sent.ok()) continue;
    client.KeepLentGradients();
    return sent.Annotate(client.shards()[outgoing.shard].name);
  }
  if (!messages.empty()) phases.End(phases.send);
  return OkStatus();
}

namespace {

Status DriveClient(PsClient& client, Dialer& dialer, const Clock& clock,
                   const ClientPhases& phases) {
  constexpr TimeMs kMaxWaitMs = 1000;
  for (;;) {
    if (Inquiry::OfThisThread().IsAsked()) {
      Inquiry::Answer(client.DescribeUnanswered(clock.NowMs()), client.WaitsAt(clock.NowMs()));
    }
    RETURN_IF_ERROR(SendOutgoing(client, dialer, clock, phases));
    if (client.status().code() == StatusCode::kDeadlineExceeded) {
      TellOfDeadline(client.WaitsAt(clock.NowMs()));
    }
    if (!client.busy()) return client.status();
    const TimeMs now = clock.NowMs();
    const TimeMs wait = client.NextDeadline().value_or(now + kMaxWaitMs) - now;
    Result<std::optional<Incoming>> received =
        dialer.Receive(static_cast<int>(std::clamp<TimeMs>(wait, 0, kMaxWaitMs)));
    if (!received.ok()) {
      client.OnReceiveError(received.status());
      return client.status();
    }
    std::optional<Incoming> incoming = std::move(received).value();
    phases.End(phases.wait);
    if (incoming) {
      if (phases.messages != nullptr) {
        phases.messages->OnAnswer("", incoming->frames, phases.log->began());
      }
      client.OnMessage(incoming->listener, std::move(incoming->frames));
    }
    client.OnTick(clock.NowMs());
    phases.End(phases.decode);
  }
}

}  // namespace

Status RunClient(PsClient& client, Dialer& dialer, const Clock& clock, const ClientPhases& phases) {
  const Status done = DriveClient(client, dialer, clock, phases);
  if (!done.ok()) client.KeepLentGradients();
  return done;
}

WaitingForRoom::WaitingForRoom(Communicator& workers, PsClient& client, Dialer& dialer,
                               const Clock& clock)
    : workers_(workers) {
  workers_.set_patience([&](uint32_t waited_ms, const std::string& phase) {
    if (client.busy() || !client.status().ok()) return false;  // It has failed.
    client.StartProbe(waited_ms);
    const Status looked = RunClient(client, dialer, clock);
    if (!looked.ok() || client.busy_message().empty()) {
      VLOG_IF(1, !looked.ok()) << looked.message();
      return false;
    }
    LOG(WARNING) << "worker " << Raw(workers.rank()) << ": " << phase
                 << ": waits on for the others, because " << client.busy_message();
    return true;
  });
}

WaitingForRoom::~WaitingForRoom() { workers_.set_patience(nullptr); }

}  // namespace rowhouse
