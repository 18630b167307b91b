// What a shard makes of its peers' bytes: every size, row and number is checked here; what goes on
// from here is sound. Requests that have to wait are parked for Advance.
#include <algorithm>

#include "common/frame.h"
#include "common/wire/codec.h"
#include "ps/shard/shard.h"

namespace rowhouse {
namespace {

// How many steps ahead of the one to be applied a pull or push may be. Workers meet in the dense
// exchange of every step, so one ahead is all that can happen; more is a broken peer.
constexpr uint64_t kMaxStepsAhead = 2;

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
    case MessageType::kPrefetch:
      return OnPrefetch(message);
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
Result<std::vector<Shard::CutRows>> Shard::TakeParts(const std::vector<TableRows>& parts,
                                                     const Frame& ids) {
  uint64_t rows = 0;
  for (const TableRows& part : parts) rows += part.rows;
  if (ids.size() != rows * sizeof(uint64_t)) {
    return CorruptionError("{}: {} bytes of ids for {} rows", options_.name, ids.size(), rows);
  }
  std::vector<CutRows> taken;
  const uint64_t* id = ids.As<uint64_t>().data();
  for (const TableRows& part : parts) {
    CutState* cut = FindCut(part.table, part.first_column);
    if (cut == nullptr) {
      return CorruptionError("{}: no rows of table {} lie here from column {} on", options_.name,
                             part.table, part.first_column);
    }
    for (uint32_t i = 0; i < part.rows; ++i, ++id) {
      const RowId row{*id};
      if (Raw(row) >= cut->spec.rows || cut->Find(row) == nullptr ||
          std::binary_search(cut->worker_rows.begin(), cut->worker_rows.end(), row)) {
        return CorruptionError("{}: table \"{}\" row {} does not lie here", options_.name,
                               cut->spec.name, *id);
      }
    }
    taken.push_back({.cut = static_cast<uint32_t>(cut - cuts_.data()), .rows = part.rows});
  }
  return taken;
}

// Whoever divides by counts must find one for every row, and none of 0.
Status Shard::CheckPushedCounts(const std::vector<CutRows>& parts, const Frame& counts) const {
  uint64_t rows = 0;
  const TableSpec* needs_them = nullptr;
  for (const CutRows& part : parts) {
    const TableSpec& table = cuts_[part.cut].spec;
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

// The largest frame of the answer. Not yet taken, so that a small request costs no large memory.
uint64_t Shard::ReplyBytes(const PendingPull& pull) const {
  uint64_t rows = 0, sums = 0;
  for (const CutRows& part : pull.parts) {
    rows += uint64_t{part.rows} * cuts_[part.cut].layout.dim * sizeof(float);
  }
  for (const PulledBags& bags : pull.bags) {
    const uint64_t dim = cuts_[bags.cut].layout.dim;
    sums += bags.part.bags * dim * (bags.part.is_partial ? sizeof(double) : sizeof(float));
  }
  return std::max(rows, sums);
}

void Shard::OnPull(const PeerId& peer, Message message, TimeMs now) {
  const Header header = message.header;
  Result<PullRequest> body = DecodeBody<PullRequest>(message);
  if (!body.ok()) return SendError(peer, header, body.status());
  const bool eval = body.value().eval;
  const size_t pull_frames = body.value().bags.empty() ? 2 : 5;
  if (message.payload.size() != pull_frames) {
    return SendError(peer, header,
                     CorruptionError("{}: a pull has {} payload frames, not {}", options_.name,
                                     pull_frames, message.payload.size()));
  }
  PendingPull pull{.peer = peer,
                   .header = header,
                   .eval = eval,
                   .deadline = DeadlineOf(header, now),
                   .parts = {},
                   .ids = std::move(message.payload[0]),
                   .counts = std::move(message.payload[1]),
                   .rows = {},
                   .bags = {},
                   .misses = {}};
  Result<std::vector<CutRows>> parts = TakeParts(body.value().tables, pull.ids);
  if (!parts.ok()) return SendError(peer, header, parts.status());
  pull.parts = std::move(parts).value();
  const size_t rows = pull.ids.size() / sizeof(uint64_t);
  if (pull.counts.size() != (eval ? 0 : rows * sizeof(uint32_t))) {
    return SendError(peer, header,
                     CorruptionError("{}: {} bytes of counts for {} rows", options_.name,
                                     pull.counts.size(), rows));
  }
  if (!body.value().bags.empty()) {
    Result<std::vector<PulledBags>> bags =
        TakeBags(body.value().bags, message.payload[2], message.payload[3], message.payload[4]);
    if (!bags.ok()) return SendError(peer, header, bags.status());
    pull.bags = std::move(bags).value();
  }
  if (header.step < next_step_ || header.step > next_step_ + kMaxStepsAhead) {
    return SendError(peer, header,
                     MakeStatus(StatusCode::kInternal, "{}: pull of step {}, but step {} is next",
                                options_.name, header.step, next_step_));
  }
  if (const uint64_t bytes = ReplyBytes(pull); bytes > kMaxFrameBytes) {
    return SendError(peer, header,
                     CorruptionError("{}: a pull whose answer takes {} bytes; it may take {}",
                                     options_.name, bytes, kMaxFrameBytes));
  }
  AddRowsOfBags(&pull);
  parked_pulls_.push_back(std::move(pull));  // Advance serves it at once if it can.
}

void Shard::OnPush(const PeerId& peer, Message message, TimeMs now) {
  const Header header = message.header;
  Result<PushRequest> body = DecodeBody<PushRequest>(message);
  if (!body.ok()) return SendError(peer, header, body.status());
  const auto refuse = [&](Status status) { SendError(peer, header, status); };
  const size_t push_frames = body.value().bags.empty() ? 3 : 5;
  if (message.payload.size() != push_frames) {
    return refuse(CorruptionError("{}: a push has {} payload frames, not {}", options_.name,
                                  push_frames, message.payload.size()));
  }
  PushPart part{.parts = {},
                .ids = std::move(message.payload[0]),
                .gradients = std::move(message.payload[1]),
                .counts = std::move(message.payload[2]),
                .bags = std::move(body.value().bags),
                .bag_gradients = {},
                .bag_winners = {},
                .body = std::move(message.body)};
  if (!part.bags.empty()) {
    part.bag_gradients = std::move(message.payload[3]);
    part.bag_winners = std::move(message.payload[4]);
  }
  Result<std::vector<CutRows>> parts = TakeParts(body.value().tables, part.ids);
  if (!parts.ok()) return refuse(parts.status());
  part.parts = std::move(parts).value();
  uint64_t floats = 0, rows = 0;
  for (const CutRows& of_cut : part.parts) {
    floats += uint64_t{of_cut.rows} * cuts_[of_cut.cut].layout.dim;
    rows += of_cut.rows;
  }
  if (part.gradients.size() != floats * sizeof(float)) {
    return refuse(CorruptionError("{}: {} bytes of gradients for {} floats", options_.name,
                                  part.gradients.size(), floats));
  }
  if (Status status = CheckPushedCounts(part.parts, part.counts); !status.ok()) {
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
  if (Status status = CheckPushedBags(header, part); !status.ok()) return refuse(status);
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
  auto kept = std::make_shared<const PushPart>(std::move(part));
  if (!worker.parts.emplace(header.part, kept).second) return AnswerAgain(peer, header, now);
  stats_.rows_pushed += rows;
  for (const CutRows& part_of_cut : kept->parts) {
    cuts_[part_of_cut.cut].rows_pushed += part_of_cut.rows;
  }
  if (options_.node.logs_pushes()) {
    return LogPush(peer, header, worker.learning_rate, std::move(kept), now);
  }
  ++worker.answered;
  Send(peer, EncodeMessage(ReplyHeader(header), PushReply{}));
}

void Shard::OnControl(const PeerId& peer, const Message& message, TimeMs now) {
  const bool was_blocked =
      last_blocked_at_ && now - *last_blocked_at_ < TimeMs{message.header.deadline_ms};
  if (message.header.type == MessageType::kStats && (IsBlocked() || was_blocked)) {
    const std::string text =
        fmt::format("{} {}: {}", options_.name, IsBlocked() ? "waits" : "has waited", why_blocked_);
    Send(peer, EncodeMessage(ReplyHeader(message.header), BusyReply{.message = text}));
  }
  parked_controls_.push_back(
      {.peer = peer, .header = message.header, .deadline = DeadlineOf(message.header, now)});
}

}  // namespace rowhouse
