// What a shard makes of its peers' bytes: every size, row and number is checked here; what goes on
// from here is sound. Requests that have to wait are parked for Advance.
#include <algorithm>
#include <limits>

#include "common/wire/codec.h"
#include "ps/shard.h"

namespace rowhouse {
namespace {

// How many steps ahead of the one to be applied a push may be. Workers meet in the dense exchange
// of every step, so one ahead is all that can happen; more is a broken peer.
constexpr uint64_t kMaxStepsAhead = 2;

TimeMs DeadlineOf(const Header& header, TimeMs now) {
  return header.deadline_ms == 0 ? std::numeric_limits<TimeMs>::max() : now + header.deadline_ms;
}

}  // namespace

void Shard::OnMessage(MessageArrived arrived, TimeMs now) {
  Result<Message> unpacked = Unpack(std::move(arrived.frames));
  if (!unpacked.ok()) {
    SendError(arrived.peer, Header{}, unpacked.status());
    return;
  }
  Message message = std::move(unpacked).value();
  Status status = CheckRequest(message.header);
  if (status.ok()) status = failure_;
  if (!status.ok()) {
    SendError(arrived.peer, message.header, status);
    return;
  }
  switch (message.header.type) {
    case MessageType::kPull:
      return OnPull(arrived.peer, std::move(message), now);
    case MessageType::kPush:
      return OnPush(arrived.peer, std::move(message), now);
    case MessageType::kFlush:
    case MessageType::kDigest:
    case MessageType::kStats:
      return OnControl(arrived.peer, message, now);
    default:
      SendError(arrived.peer, message.header,
                CorruptionError("{}: message type {} is none a shard takes", options_.name,
                                static_cast<int>(message.header.type)));
  }
}

Status Shard::CheckRequest(const Header& header) const {
  if (header.job_id != options_.job_id) {
    return MakeStatus(StatusCode::kUnavailable,
                      "{} serves job {:016x}, the message is of job {:016x}", options_.name,
                      options_.job_id, header.job_id);
  }
  if (header.incarnation != 0 && header.incarnation != options_.incarnation) {
    return MakeStatus(StatusCode::kUnavailable, "{} was started anew since: incarnation {}, not {}",
                      options_.name, options_.incarnation, header.incarnation);
  }
  if (header.sender >= options_.workers) {
    return CorruptionError("{}: worker {} of {} does not exist", options_.name, header.sender,
                           options_.workers);
  }
  return OkStatus();
}

// Every id must lie in a slice of this shard; a peer's mistake must not become ours.
Status Shard::CheckRows(const std::vector<TablePart>& parts, const Frame& ids) const {
  uint64_t rows = 0;
  for (const TablePart& part : parts) rows += part.rows;
  if (ids.size() != rows * sizeof(uint64_t)) {
    return CorruptionError("{}: {} bytes of ids for {} rows", options_.name, ids.size(), rows);
  }
  const uint64_t* id = ids.As<uint64_t>().data();
  for (const TablePart& part : parts) {
    if (part.table >= tables_.size()) {
      return CorruptionError("{}: table {} does not exist", options_.name, part.table);
    }
    const TableState& table = tables_[part.table];
    for (uint32_t i = 0; i < part.rows; ++i, ++id) {
      const bool is_here =
          std::any_of(table.slices.begin(), table.slices.end(),
                      [&](const SliceState& slice) { return slice.Has(RowId{*id}); });
      if (!is_here) {
        return CorruptionError("{}: table \"{}\" row {} does not lie here", options_.name,
                               table.spec.name, *id);
      }
    }
  }
  return OkStatus();
}

// Whoever divides by counts must find one for every row, and none of 0. `parts` are sound.
Status Shard::CheckPushedCounts(const std::vector<TablePart>& parts, const Frame& counts) const {
  uint64_t rows = 0;
  const TableSpec* needs_them = nullptr;
  for (const TablePart& part : parts) {
    const TableSpec& table = tables_[part.table].spec;
    if (table.scale_grad_by_freq && part.rows > 0) needs_them = &table;
    rows += part.rows;
  }
  if (counts.size() == 0 && needs_them == nullptr) return OkStatus();
  if (counts.size() != rows * sizeof(uint32_t)) {
    return CorruptionError(
        "{}: {} bytes of counts for {} rows{}", options_.name, counts.size(), rows,
        needs_them == nullptr ? ""
                              : fmt::format("; table \"{}\" divides by them", needs_them->name));
  }
  const std::span<const uint32_t> all = counts.As<uint32_t>();
  if (const auto zero = std::find(all.begin(), all.end(), 0u); zero != all.end()) {
    return CorruptionError("{}: row {} of a push was looked up 0 times", options_.name,
                           zero - all.begin());
  }
  return OkStatus();
}

void Shard::OnPull(const PeerId& peer, Message message, TimeMs now) {
  const Header header = message.header;
  Result<PullRequest> body = DecodeBody<PullRequest>(message);
  if (!body.ok()) return SendError(peer, header, body.status());
  const bool eval = body.value().eval;
  if (message.payload.size() != 2) {
    return SendError(peer, header,
                     CorruptionError("{}: a pull has 2 payload frames, not {}", options_.name,
                                     message.payload.size()));
  }
  PendingPull pull{.peer = peer,
                   .header = header,
                   .eval = eval,
                   .deadline = DeadlineOf(header, now),
                   .parts = std::move(body.value().tables),
                   .ids = std::move(message.payload[0]),
                   .counts = std::move(message.payload[1]),
                   .rows = {},
                   .misses = {}};
  if (Status status = CheckRows(pull.parts, pull.ids); !status.ok()) {
    return SendError(peer, header, status);
  }
  const size_t rows = pull.ids.size() / sizeof(uint64_t);
  if (pull.counts.size() != (eval ? 0 : rows * sizeof(uint32_t))) {
    return SendError(peer, header,
                     CorruptionError("{}: {} bytes of counts for {} rows", options_.name,
                                     pull.counts.size(), rows));
  }
  if (header.step < next_step_) {
    return SendError(peer, header,
                     MakeStatus(StatusCode::kInternal, "{}: pull of step {}, but step {} is next",
                                options_.name, header.step, next_step_));
  }
  parked_pulls_.push_back(std::move(pull));  // Advance serves it at once if it can.
}

void Shard::OnPush(const PeerId& peer, Message message, TimeMs) {
  const Header header = message.header;
  Result<PushRequest> body = DecodeBody<PushRequest>(message);
  if (!body.ok()) return SendError(peer, header, body.status());
  const auto refuse = [&](Status status) { SendError(peer, header, status); };
  if (message.payload.size() != 3) {
    return refuse(CorruptionError("{}: a push has 3 payload frames, not {}", options_.name,
                                  message.payload.size()));
  }
  PushPart part{.tables = std::move(body.value().tables),
                .ids = std::move(message.payload[0]),
                .gradients = std::move(message.payload[1]),
                .counts = std::move(message.payload[2])};
  if (Status status = CheckRows(part.tables, part.ids); !status.ok()) return refuse(status);
  uint64_t floats = 0, rows = 0;
  for (const TablePart& table : part.tables) {
    floats += uint64_t{table.rows} * tables_[table.table].spec.dim;
    rows += table.rows;
  }
  if (part.gradients.size() != floats * sizeof(float)) {
    return refuse(CorruptionError("{}: {} bytes of gradients for {} floats", options_.name,
                                  part.gradients.size(), floats));
  }
  if (Status status = CheckPushedCounts(part.tables, part.counts); !status.ok()) {
    return refuse(status);
  }
  if (header.parts == 0 || header.part >= header.parts) {
    return refuse(
        CorruptionError("{}: push part {} of {}", options_.name, header.part, header.parts));
  }
  // A push of an applied step is a repetition of one that was answered: answer it again.
  if (header.step < next_step_ || (applying_ && header.step == next_step_)) {
    return Send(peer, EncodeMessage(ReplyHeader(header), PushReply{}));
  }
  if (header.step > next_step_ + kMaxStepsAhead) {
    return refuse(MakeStatus(StatusCode::kInternal, "{}: push of step {}, but step {} is next",
                             options_.name, header.step, next_step_));
  }
  StepPushes& step = pushes_[header.step];
  step.workers.resize(options_.workers);
  WorkerPush& worker = step.workers[header.sender];
  if (worker.parts_expected != 0 && worker.parts_expected != header.parts) {
    return refuse(CorruptionError("{}: worker {} pushes step {} in {} parts, then in {}",
                                  options_.name, header.sender, header.step, worker.parts_expected,
                                  header.parts));
  }
  worker.parts_expected = header.parts;
  worker.learning_rate = body.value().learning_rate;
  if (worker.parts.emplace(header.part, std::move(part)).second) stats_.rows_pushed += rows;
  Send(peer, EncodeMessage(ReplyHeader(header), PushReply{}));
}

void Shard::OnControl(const PeerId& peer, const Message& message, TimeMs now) {
  parked_controls_.push_back(
      {.peer = peer, .header = message.header, .deadline = DeadlineOf(message.header, now)});
}

}  // namespace rowhouse
