#include "worker/client/operation.h"

#include <fmt/format.h>

#include <utility>

#include "common/wire/control.h"
#include "worker/client/decode_reply.h"

namespace rowhouse {

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
