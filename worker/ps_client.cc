#include "worker/ps_client.h"

#include <algorithm>

#include "common/wire/codec.h"
#include "common/wire/pull.h"
#include "common/wire/push.h"

namespace rowhouse {
PsClient::PsClient(const PsClientOptions& options, const Plan& plan,
                   std::vector<ShardAddress> shards)
    : options_(options), plan_(plan), shards_(std::move(shards)) {
  CHECK_EQ(plan_.shards(), shards_.size());
  CHECK_GT(options_.window, 0u);
  to_send_.resize(shards_.size());
  in_flight_.resize(shards_.size());
  digests_.resize(shards_.size());
  stats_.resize(shards_.size());
}

std::string PsClient::Describe(size_t shard) const {
  return fmt::format("worker {}: {} of step {} to {}", Raw(options_.worker), MessageTypeName(type_),
                     step_, shards_[shard].name);
}

void PsClient::Start(MessageType type, uint64_t step) {
  CHECK(!busy()) << "one operation at a time";
  type_ = type;
  step_ = step;
}

void PsClient::StartPull(uint64_t step, bool eval, std::vector<RowBatch>* batches) {
  Start(MessageType::kPull, step);
  eval_ = eval;
  pull_batches_ = batches;
  CutIntoParts(*batches, /*is_push=*/false);
}

void PsClient::StartPush(uint64_t step, float learning_rate, uint64_t samples,
                         const std::vector<RowBatch>* batches) {
  Start(MessageType::kPush, step);
  learning_rate_ = learning_rate;
  samples_ = samples;
  push_batches_ = batches;
  CutIntoParts(*batches, /*is_push=*/true);
}

void PsClient::StartFlush(uint64_t steps) { StartControl(MessageType::kFlush, steps); }
void PsClient::StartDigest(uint64_t steps) { StartControl(MessageType::kDigest, steps); }
void PsClient::StartStats(uint64_t steps) { StartControl(MessageType::kStats, steps); }

void PsClient::StartControl(MessageType type, uint64_t steps) {
  Start(type, steps);
  for (size_t shard = 0; shard < shards_.size(); ++shard) {
    to_send_[shard].push_back({.shard = shard, .pieces = {}});
    ++unsent_;
  }
}

void PsClient::CutIntoParts(const std::vector<RowBatch>& batches, bool is_push) {
  struct Open {
    std::vector<Part> parts;
    size_t rows = 0, bytes = 0;  // in the last part
  };
  std::vector<Open> open(shards_.size());
  for (size_t b = 0; b < batches.size(); ++b) {
    const RowBatch& batch = batches[b];
    if (plan_.is_on_workers(batch.table) || (is_push && !batch.trains)) continue;
    const size_t row_bytes = sizeof(uint64_t) + batch.dim * sizeof(float);
    auto first = batch.rows.begin();
    for (const Slice& slice : plan_.slices(batch.table)) {
      const auto last = std::lower_bound(first, batch.rows.end(), RowId{slice.row_end});
      Open& to = open[Raw(slice.shard)];
      while (first != last) {
        if (to.parts.empty() || to.rows >= options_.max_part_rows ||
            to.bytes + row_bytes > options_.max_part_bytes) {
          to.parts.push_back({.shard = Raw(slice.shard), .pieces = {}});
          to.rows = to.bytes = 0;
        }
        const size_t room =
            std::max<size_t>(1, std::min(options_.max_part_rows - to.rows,
                                         (options_.max_part_bytes - to.bytes) / row_bytes));
        const size_t rows = std::min<size_t>(room, static_cast<size_t>(last - first));
        const auto begin = static_cast<size_t>(first - batch.rows.begin());
        to.parts.back().pieces.push_back({.batch = b, .begin = begin, .end = begin + rows});
        to.rows += rows;
        to.bytes += rows * row_bytes;
        first += static_cast<std::ptrdiff_t>(rows);
      }
    }
    CHECK(first == batch.rows.end()) << "a row beyond its table";
  }
  for (size_t shard = 0; shard < open.size(); ++shard) {
    std::vector<Part>& parts = open[shard].parts;
    if (parts.empty() && is_push) parts.push_back({.shard = shard, .pieces = {}});
    for (uint32_t k = 0; k < parts.size(); ++k) {
      parts[k].number = k;
      parts[k].count = static_cast<uint32_t>(parts.size());
      to_send_[shard].push_back(std::move(parts[k]));
      ++unsent_;
    }
  }
}

std::vector<PsClient::Outgoing> PsClient::TakeOutgoing(TimeMs now) {
  std::vector<Outgoing> outgoing;
  if (!status_.ok()) return outgoing;
  for (size_t shard = 0; shard < shards_.size(); ++shard) {
    while (!to_send_[shard].empty() && in_flight_[shard] < options_.window) {
      Part part = std::move(to_send_[shard].front());
      to_send_[shard].pop_front();
      const uint64_t id = next_request_id_++;
      outgoing.push_back({.shard = shard, .frames = Encode(part, id)});
      waiting_.emplace(id, Waiting{.part = std::move(part),
                                   .deadline = now + DeadlineMs() + options_.answer_grace_ms});
      ++in_flight_[shard];
      --unsent_;
      ++unanswered_;
    }
  }
  return outgoing;
}

uint32_t PsClient::DeadlineMs() const {
  const bool is_rows = type_ == MessageType::kPull || type_ == MessageType::kPush;
  return is_rows ? options_.deadline_ms : options_.control_deadline_ms;
}

Frames PsClient::Encode(const Part& part, uint64_t request_id) const {
  Header header;
  header.job_id = options_.job_id;
  header.request_id = request_id;
  header.step = step_;
  header.part = part.number;
  header.parts = part.count;
  header.deadline_ms = DeadlineMs();
  header.sender = Raw(options_.worker);
  header.incarnation = shards_[part.shard].incarnation;
  switch (type_) {
    case MessageType::kPull:
      return EncodePull(header, part);
    case MessageType::kPush:
      return EncodePush(header, part);
    case MessageType::kFlush:
      return EncodeMessage(header, FlushRequest{}, {});
    case MessageType::kDigest:
      return EncodeMessage(header, DigestRequest{}, {});
    default:
      return EncodeMessage(header, StatsRequest{}, {});
  }
}

namespace {

// One column of the rows of a part, piece after piece, `width(batch)` elements a row.
template <typename T, typename Pieces, typename Width>
Frame Gather(const std::vector<RowBatch>& batches, const Pieces& pieces,
             std::vector<T> RowBatch::*column, const Width& width) {
  size_t bytes = 0;
  for (const auto& piece : pieces) {
    bytes += (piece.end - piece.begin) * width(batches[piece.batch]) * sizeof(T);
  }
  Frame frame(bytes);
  std::byte* to = frame.data();
  for (const auto& piece : pieces) {
    const RowBatch& batch = batches[piece.batch];
    const size_t piece_bytes = (piece.end - piece.begin) * width(batch) * sizeof(T);
    std::memcpy(to, (batch.*column).data() + piece.begin * width(batch), piece_bytes);
    to += piece_bytes;
  }
  return frame;
}

constexpr auto kOneARow = [](const RowBatch&) { return size_t{1}; };
constexpr auto kDimARow = [](const RowBatch& batch) { return size_t{batch.dim}; };

}  // namespace

std::vector<TablePart> PsClient::TablesOf(const std::vector<RowBatch>& batches, const Part& part) {
  std::vector<TablePart> tables;
  for (const Piece& piece : part.pieces) {
    tables.push_back(
        {Raw(batches[piece.batch].table), static_cast<uint32_t>(piece.end - piece.begin)});
  }
  return tables;
}

Frames PsClient::EncodePull(const Header& header, const Part& part) const {
  const std::vector<RowBatch>& batches = *pull_batches_;
  Frames payload;
  payload.push_back(Gather(batches, part.pieces, &RowBatch::rows, kOneARow));
  payload.push_back(eval_ ? Frame() : Gather(batches, part.pieces, &RowBatch::counts, kOneARow));
  const PullRequest request{.eval = eval_, .tables = TablesOf(batches, part)};
  return EncodeMessage(header, request, std::move(payload));
}

Frames PsClient::EncodePush(const Header& header, const Part& part) const {
  const std::vector<RowBatch>& batches = *push_batches_;
  Frames payload;
  payload.push_back(Gather(batches, part.pieces, &RowBatch::rows, kOneARow));
  payload.push_back(Gather(batches, part.pieces, &RowBatch::gradients, kDimARow));
  payload.push_back(options_.push_counts ? Gather(batches, part.pieces, &RowBatch::counts, kOneARow)
                                         : Frame());
  const PushRequest request{
      .learning_rate = learning_rate_, .samples = samples_, .tables = TablesOf(batches, part)};
  return EncodeMessage(header, request, std::move(payload));
}

void PsClient::OnMessage(size_t shard, Frames frames) {
  if (!status_.ok()) return;
  Result<Message> unpacked = Unpack(std::move(frames));
  if (!unpacked.ok()) {
    status_ = unpacked.status().Annotate(Describe(shard));
    return;
  }
  const Message& message = unpacked.value();
  const auto waiting = waiting_.find(message.header.request_id);
  if (waiting == waiting_.end()) return;  // An answer to an operation that was given up.
  const Part part = std::move(waiting->second.part);
  waiting_.erase(waiting);
  --in_flight_[part.shard];
  --unanswered_;
  const Status status = TakeReply(part, message);
  if (!status.ok()) status_ = status.Annotate(Describe(part.shard));
}

namespace {

template <typename Reply>
Status DecodeReply(const Message& message, Reply* reply) {
  ASSIGN_OR_RETURN(*reply, DecodeBody<Reply>(message));
  if (reply->code != 0) return Status(static_cast<StatusCode>(reply->code), reply->message);
  return OkStatus();
}

}  // namespace

Status PsClient::TakeReply(const Part& part, const Message& message) {
  if (message.header.type == MessageType::kError) {
    ErrorReply reply;
    RETURN_IF_ERROR(DecodeReply(message, &reply));
    return CorruptionError("an error without a code");
  }
  if (type_ == MessageType::kPull) return CopyRows(part, message);
  if (type_ == MessageType::kPush) {
    PushReply reply;
    return DecodeReply(message, &reply);
  }
  if (type_ == MessageType::kFlush) {
    FlushReply reply;
    return DecodeReply(message, &reply);
  }
  if (type_ == MessageType::kDigest) return DecodeReply(message, &digests_[part.shard]);
  return DecodeReply(message, &stats_[part.shard]);
}

Status PsClient::CopyRows(const Part& part, const Message& message) {
  PullReply reply;
  RETURN_IF_ERROR(DecodeReply(message, &reply));
  size_t bytes = 0;
  for (const Piece& piece : part.pieces) {
    bytes += (piece.end - piece.begin) * (*pull_batches_)[piece.batch].dim * sizeof(float);
  }
  if (message.payload.size() != 1 || message.payload[0].size() != bytes) {
    return CorruptionError("the answer does not hold the {} bytes of rows asked for", bytes);
  }
  const std::byte* from = message.payload[0].data();
  for (const Piece& piece : part.pieces) {
    RowBatch& batch = (*pull_batches_)[piece.batch];
    const size_t piece_bytes = (piece.end - piece.begin) * batch.dim * sizeof(float);
    std::memcpy(&batch.values[piece.begin * batch.dim], from, piece_bytes);
    from += piece_bytes;
  }
  return OkStatus();
}

void PsClient::OnTick(TimeMs now) {
  if (!status_.ok()) return;
  for (const auto& [id, waiting] : waiting_) {
    if (now < waiting.deadline) continue;
    status_ = MakeStatus(StatusCode::kDeadlineExceeded, "{}: no answer for {} ms",
                         Describe(waiting.part.shard), DeadlineMs() + options_.answer_grace_ms);
    return;
  }
}

std::optional<TimeMs> PsClient::NextDeadline() const {
  std::optional<TimeMs> earliest;
  for (const auto& [id, waiting] : waiting_) {
    if (!earliest || waiting.deadline < *earliest) earliest = waiting.deadline;
  }
  return earliest;
}

Status RunClient(PsClient& client, Dialer& dialer, const Clock& clock) {
  constexpr TimeMs kMaxWaitMs = 1000;
  while (client.busy()) {
    for (PsClient::Outgoing& outgoing : client.TakeOutgoing(clock.NowMs())) {
      RETURN_IF_ERROR(dialer.Send(outgoing.shard, std::move(outgoing.frames))
                          .Annotate(client.shards()[outgoing.shard].name));
    }
    const TimeMs now = clock.NowMs();
    const TimeMs wait = client.NextDeadline().value_or(now + kMaxWaitMs) - now;
    ASSIGN_OR_RETURN(std::optional<Incoming> incoming,
                     dialer.Receive(static_cast<int>(std::clamp<TimeMs>(wait, 0, kMaxWaitMs))));
    if (incoming) {
      client.OnMessage(incoming->listener, std::move(incoming->frames));
    }
    client.OnTick(clock.NowMs());
  }
  return client.status();
}

}  // namespace rowhouse
