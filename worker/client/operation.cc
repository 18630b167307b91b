#include "worker/client/operation.h"

#include <fmt/format.h>
#include <glog/logging.h>

#include <utility>

#include "common/wire/control.h"

namespace rowhouse {

Status BusyWait::OnTick(TimeMs now, bool is_silent) {
  constexpr TimeMs kLogAgainMs = 30000;
  if (!since_) since_ = now;
  const TimeMs waited = now - *since_;
  if (waited >= limit_ms_) {
    return MakeStatus(StatusCode::kResourceExhausted,
                      "worker {}: no room for {} ms (--save_deadline_ms): {}", Raw(worker_), waited,
                      message_);
  }
  if (is_silent || (logged_at_ && now - *logged_at_ < kLogAgainMs)) return OkStatus();
  logged_at_ = now;
  LOG(WARNING) << "worker " << Raw(worker_) << ": " << message_ << "; the run waits for room, "
               << (waited < 1000 ? std::string() : fmt::format("{} s so far and ", waited / 1000))
               << limit_ms_ / 1000 << " s at most";
  return OkStatus();
}

RequestWindow::RequestWindow(size_t shards, size_t limit)
    : limit_(limit), to_send_(shards), in_flight_(shards) {
  CHECK_GT(limit, 0u);
}

void RequestWindow::Begin(TimeMs patience_ms) {
  CHECK(!busy()) << "one operation at a time";
  patience_ms_ = patience_ms;
}

void RequestWindow::Add(size_t shard, size_t request) {
  to_send_[shard].push_back(request);
  ++unsent_;
}

std::vector<RequestWindow::Request> RequestWindow::Send(TimeMs now, uint64_t* next_id) {
  std::vector<Request> sent;
  if (unsent_ == 0) return sent;
  for (size_t shard = 0; shard < to_send_.size(); ++shard) {
    while (!to_send_[shard].empty() && in_flight_[shard] < limit_) {
      sent.push_back({.shard = shard, .number = to_send_[shard].front(), .id = (*next_id)++});
      to_send_[shard].pop_front();
      --unsent_;
      ++in_flight_[shard];
      unanswered_.emplace(sent.back().id,
                          Unanswered{.request = sent.back(), .deadline = now + patience_ms_});
    }
  }
  return sent;
}

std::optional<RequestWindow::Request> RequestWindow::TakeAnswered(uint64_t id) {
  const auto found = unanswered_.find(id);
  if (found == unanswered_.end()) return std::nullopt;
  const Request request = found->second.request;
  unanswered_.erase(found);
  --in_flight_[request.shard];
  return request;
}

std::optional<size_t> RequestWindow::ExtendDeadline(uint64_t id) {
  const auto found = unanswered_.find(id);
  if (found == unanswered_.end()) return std::nullopt;
  found->second.begins_anew = true;
  return found->second.request.shard;
}

RequestWindow::Tick RequestWindow::OnTick(TimeMs now) {
  Tick tick;
  for (auto& [id, unanswered] : unanswered_) {
    if (std::exchange(unanswered.begins_anew, false)) {
      unanswered.deadline = now + patience_ms_;
      tick.was_extended = true;
    }
    // The oldest of them, so that a run's message does not depend on the map's order.
    const bool is_oldest = !tick.expired || id < tick.expired->id;
    if (now >= unanswered.deadline && is_oldest) tick.expired = unanswered.request;
  }
  return tick;
}

std::optional<TimeMs> RequestWindow::NextDeadline() const {
  std::optional<TimeMs> earliest;
  for (const auto& [id, unanswered] : unanswered_) {
    if (!earliest || unanswered.deadline < *earliest) earliest = unanswered.deadline;
  }
  return earliest;
}

std::map<size_t, RequestWindow::Waiting> RequestWindow::UnansweredAt(TimeMs now) const {
  std::map<size_t, Waiting> shards;
  for (const auto& [id, unanswered] : unanswered_) {
    Waiting& waiting = shards[unanswered.request.shard];
    ++waiting.requests;
    waiting.oldest_ms = std::max(waiting.oldest_ms, now - (unanswered.deadline - patience_ms_));
  }
  return shards;
}

Header RequestContext::HeaderOf(const MessagePart& part, uint64_t step, uint64_t request_id,
                                uint32_t deadline_ms) const {
  Header header;
  header.job_id = job_id;
  header.request_id = request_id;
  header.step = step;
  header.part = part.number;
  header.parts = part.count;
  header.deadline_ms = deadline_ms;
  header.sender = Raw(worker);
  header.incarnation = shards[part.shard].incarnation;
  return header;
}

Operation::Operation(const RequestContext& context, size_t window, RequestFrames& frames)
    : context_(context), frames_(frames), window_(context.shards.size(), window) {}

std::string Operation::Describe(size_t shard) const {
  return fmt::format("worker {}: {} of step {} to {}", Raw(context_.worker), MessageTypeName(type_),
                     step_, context_.shards[shard].name);
}

void Operation::DescribeUnanswered(TimeMs now, std::string* lines) const {
  for (const auto& [shard, waiting] : window_.UnansweredAt(now)) {
    *lines += fmt::format("{}: {} parts unanswered, the oldest for {} ms\n", Describe(shard),
                          waiting.requests, waiting.oldest_ms);
  }
}

void Operation::AddWaits(TimeMs now, std::vector<Wait>* waits) const {
  for (const auto& [shard, waiting] : window_.UnansweredAt(now)) {
    waits->push_back(WaitFor(shard, waiting.oldest_ms));
  }
}

Wait Operation::WaitFor(size_t shard, TimeMs ms) const {
  return {.peer = fmt::format("shard {}", shard),
          .what = fmt::format("{} of step {}", MessageTypeName(type_), step_),
          .ms = ms};
}

void Operation::Begin(MessageType type, uint64_t step, const OperationDeadlines& deadlines,
                      std::vector<MessagePart> parts) {
  window_.Begin(deadlines.patience_ms);
  type_ = type;
  step_ = step;
  deadlines_ = deadlines;
  parts_ = std::move(parts);
  for (size_t p = 0; p < parts_.size(); ++p) window_.Add(parts_[p].shard, p);
}

void Operation::Send(TimeMs now, uint64_t* next_id, std::vector<Outgoing>* outgoing) {
  for (const RequestWindow::Request& request : window_.Send(now, next_id)) {
    const MessagePart& part = parts_[request.number];
    const Header header = context_.HeaderOf(part, step_, request.id, deadlines_.told_ms);
    outgoing->push_back({.shard = part.shard, .frames = frames_.Encode(header, part)});
  }
}

std::optional<Operation::Answer> Operation::OnMessage(const Message& message) {
  Answer answer;
  if (message.header.type == MessageType::kBusy) {
    const std::optional<size_t> shard = window_.ExtendDeadline(message.header.request_id);
    if (!shard) return std::nullopt;
    Result<BusyReply> reply = DecodeBody<BusyReply>(message);
    answer.status = reply.status().Annotate(Describe(*shard));
    if (reply.ok()) answer.busy = std::move(reply.value().message);
    return answer;
  }
  const std::optional<RequestWindow::Request> request =
      window_.TakeAnswered(message.header.request_id);
  if (!request) return std::nullopt;
  if (message.header.type == MessageType::kError) {
    ErrorReply reply;
    answer.status = DecodeReply(message, &reply);
    if (answer.status.ok()) answer.status = CorruptionError("an error without a code");
  } else {
    answer.status = frames_.TakeReply(parts_[request->number], message);
  }
  if (!answer.status.ok()) answer.status = answer.status.Annotate(Describe(request->shard));
  return answer;
}

Status Operation::OnTick(TimeMs now, bool* was_extended) {
  const RequestWindow::Tick tick = window_.OnTick(now);
  *was_extended = tick.was_extended;
  if (!tick.expired) return OkStatus();
  return MakeStatus(StatusCode::kDeadlineExceeded, "{}: no answer for {} ms",
                    Describe(tick.expired->shard), deadlines_.patience_ms);
}

}  // namespace rowhouse
