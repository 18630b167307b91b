#include "worker/client/ps_client.h"

#include <algorithm>
#include <utility>

#include "common/wire/codec.h"
#include "common/wire/prefetch.h"
#include "common/wire/pull.h"
#include "common/wire/push.h"

namespace rowhouse {
namespace {

uint64_t BytesOf(const Frames& frames) {
  uint64_t bytes = 0;
  for (const Frame& frame : frames) bytes += frame.size();
  return bytes;
}

}  // namespace

PsClient::PsClient(const PsClientOptions& options, const Plan& plan,
                   std::vector<ShardAddress> shards)
    : options_(options), plan_(plan), shards_(std::move(shards)) {
  CHECK_EQ(plan_.shards(), shards_.size());
  CHECK_GT(options_.window, 0u);
  to_send_.resize(shards_.size());
  in_flight_.resize(shards_.size());
  digests_.resize(shards_.size());
  stats_.resize(shards_.size());
  for (uint32_t t = 0; t < plan_.tables(); ++t) bands_.push_back(plan_.bands(TableId{t}));
}

std::string PsClient::Describe(size_t shard) const {
  return fmt::format("worker {}: {} of step {} to {}", Raw(options_.worker), MessageTypeName(type_),
                     step_, shards_[shard].name);
}

void PsClient::Start(MessageType type, uint64_t step) {
  CHECK(!busy()) << "one operation at a time";
  busy_message_.clear();
  busy_since_.reset();
  busy_told_at_.reset();
  look_within_ms_ = 0;
  type_ = type;
  step_ = step;
}

void PsClient::StartPull(uint64_t step, bool eval, std::vector<RowBatch>* batches,
                         std::vector<BagBatch>* bags) {
  Start(MessageType::kPull, step);
  has_pull_waited_ = false;
  eval_ = eval;
  pull_batches_ = batches;
  bags_ = bags;
  GroupBags();
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

// Step 0 is applied before every other: no shard lets this wait for a push.
void PsClient::StartLook(uint32_t within_ms) {
  CHECK_GT(within_ms, 0u);
  StartControl(MessageType::kStats, 0);
  look_within_ms_ = within_ms;
}

void PsClient::StartControl(MessageType type, uint64_t steps) {
  Start(type, steps);
  for (size_t shard = 0; shard < shards_.size(); ++shard) {
    to_send_[shard].push_back({.shard = shard, .pieces = {}, .bags = {}});
    ++unsent_;
  }
}

void PsClient::RouteRows(const RowBatch& batch, Routing* routing) const {
  const std::vector<Plan::Band>& bands = bands_[Raw(batch.table)];
  const RowOrder& order = plan_.order(batch.table);
  const std::vector<RowId>& on_workers = plan_.worker_rows(batch.table);
  routing->rows.clear();
  routing->ends.clear();
  if (!order.is_scattered() && on_workers.empty()) {
    auto end = batch.rows.begin();
    for (const Plan::Band& band : bands) {
      end = std::lower_bound(end, batch.rows.end(), RowId{band.row_end});
      routing->ends.push_back(static_cast<size_t>(end - batch.rows.begin()));
    }
    CHECK(end == batch.rows.end()) << "a row beyond its table";
    return;
  }
  // By band, in the order of rows within each: counted, then placed.
  std::vector<uint32_t> kept, band_of;
  routing->ends.assign(bands.size(), 0);
  auto worker_row = on_workers.begin();
  for (uint32_t r = 0; r < batch.rows.size(); ++r) {
    worker_row = std::lower_bound(worker_row, on_workers.end(), batch.rows[r]);
    if (worker_row != on_workers.end() && *worker_row == batch.rows[r]) continue;
    const uint64_t position = order.PositionOf(batch.rows[r]);
    const auto band =
        std::upper_bound(bands.begin(), bands.end(), position,
                         [](uint64_t at, const Plan::Band& other) { return at < other.row_end; });
    CHECK(band != bands.end()) << "a row beyond its table";
    kept.push_back(r);
    band_of.push_back(static_cast<uint32_t>(band - bands.begin()));
    ++routing->ends[band_of.back()];
  }
  std::vector<size_t> next(bands.size());
  for (size_t b = 1; b < bands.size(); ++b) {
    next[b] = routing->ends[b - 1];
    routing->ends[b] += routing->ends[b - 1];
  }
  routing->rows.resize(kept.size());
  for (size_t i = 0; i < kept.size(); ++i) routing->rows[next[band_of[i]]++] = kept[i];
}

void PsClient::AddRows(const std::vector<RowBatch>& batches, bool is_push,
                       std::vector<OpenParts>* open) {
  routings_.resize(batches.size());
  for (size_t b = 0; b < batches.size(); ++b) {
    const RowBatch& batch = batches[b];
    if (batch.rows.empty() || plan_.is_on_workers(batch.table) || (is_push && !batch.trains))
      continue;
    RouteRows(batch, &routings_[b]);
    size_t band_begin = 0;
    for (size_t k = 0; k < routings_[b].ends.size(); band_begin = routings_[b].ends[k++]) {
      for (const Slice& slice : bands_[Raw(batch.table)][k].cuts) {
        const size_t row_bytes = sizeof(uint64_t) + slice.columns() * sizeof(float);
        OpenParts& to = (*open)[Raw(slice.shard)];
        for (size_t begin = band_begin; begin < routings_[b].ends[k];) {
          if (to.parts.empty() || to.rows >= options_.max_part_rows ||
              to.bytes + row_bytes > options_.max_part_bytes) {
            to.parts.push_back({.shard = Raw(slice.shard), .pieces = {}, .bags = {}});
            to.rows = to.bytes = 0;
          }
          const size_t room =
              std::max<size_t>(1, std::min(options_.max_part_rows - to.rows,
                                           (options_.max_part_bytes - to.bytes) / row_bytes));
          const size_t rows = std::min(room, routings_[b].ends[k] - begin);
          to.parts.back().pieces.push_back({.batch = b,
                                            .begin = begin,
                                            .end = begin + rows,
                                            .first_column = slice.column_begin,
                                            .columns = slice.columns()});
          to.rows += rows;
          to.bytes += rows * row_bytes;
          begin += rows;
        }
      }
    }
  }
}

void PsClient::CutIntoParts(const std::vector<RowBatch>& batches, bool is_push) {
  std::vector<OpenParts> open(shards_.size());
  AddRows(batches, is_push, &open);
  AddBags(is_push, &open);
  for (size_t shard = 0; shard < open.size(); ++shard) {
    std::vector<Part>& parts = open[shard].parts;
    if (parts.empty() && is_push) parts.push_back({.shard = shard, .pieces = {}, .bags = {}});
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
  outgoing = std::exchange(prefetches_, {});
  for (size_t shard = 0; shard < shards_.size(); ++shard) {
    while (!to_send_[shard].empty() && in_flight_[shard] < options_.window) {
      Part part = std::move(to_send_[shard].front());
      to_send_[shard].pop_front();
      const uint64_t id = next_request_id_++;
      outgoing.push_back({.shard = shard, .frames = Encode(part, id)});
      bytes_moved_ += BytesOf(outgoing.back().frames);
      waiting_.emplace(id, Waiting{.part = std::move(part), .deadline = DeadlineFrom(now)});
      ++in_flight_[shard];
      --unsent_;
      ++unanswered_;
    }
  }
  return outgoing;
}

TimeMs PsClient::DeadlineFrom(TimeMs now) const {
  return now + DeadlineMs() + options_.answer_grace_ms;
}

uint32_t PsClient::DeadlineMs() const {
  const bool is_of_all_rows = type_ == MessageType::kFlush || type_ == MessageType::kDigest;
  return is_of_all_rows ? options_.control_deadline_ms : options_.deadline_ms;
}

void PsClient::Prefetch(uint64_t step, const std::vector<RowBatch>& batches) {
  CHECK(!busy()) << "one operation at a time";
  std::vector<OpenParts> open(shards_.size());
  AddRows(batches, /*is_push=*/false, &open);
  for (const OpenParts& of_shard : open) {
    for (const Part& part : of_shard.parts) {
      Header header = HeaderOf(part, next_request_id_++);
      header.step = step;
      Frames payload;
      payload.push_back(GatherNumbers(batches, part, &RowBatch::rows));
      prefetches_.push_back(
          {.shard = part.shard,
           .frames = EncodeMessage(header, PrefetchRequest{.tables = TablesOf(batches, part)},
                                   std::move(payload))});
      bytes_moved_ += BytesOf(prefetches_.back().frames);
    }
  }
}

Header PsClient::HeaderOf(const Part& part, uint64_t request_id) const {
  Header header;
  header.job_id = options_.job_id;
  header.request_id = request_id;
  header.step = step_;
  header.part = part.number;
  header.parts = part.count;
  header.deadline_ms = IsLook() ? look_within_ms_ : DeadlineMs();
  header.sender = Raw(options_.worker);
  header.incarnation = shards_[part.shard].incarnation;
  return header;
}

Frames PsClient::Encode(const Part& part, uint64_t request_id) const {
  const Header header = HeaderOf(part, request_id);
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

// Ids or counts of the rows of a part, piece after piece.
template <typename T>
Frame PsClient::GatherNumbers(const std::vector<RowBatch>& batches, const Part& part,
                              std::vector<T> RowBatch::*column) const {
  size_t rows = 0;
  for (const Piece& piece : part.pieces) rows += piece.rows();
  Frame frame(rows * sizeof(T));
  T* to = frame.As<T>().data();
  for (const Piece& piece : part.pieces) {
    const std::vector<T>& from = batches[piece.batch].*column;
    const std::vector<uint32_t>& routing = routings_[piece.batch].rows;
    if (routing.empty()) {
      to = std::copy(from.begin() + piece.begin, from.begin() + piece.end, to);
      continue;
    }
    for (size_t p = piece.begin; p < piece.end; ++p) *to++ = from[routing[p]];
  }
  return frame;
}

void PsClient::GatherPiece(const Piece& piece, const std::vector<float>& plane, size_t width,
                           float* to) const {
  const std::vector<uint32_t>& routing = routings_[piece.batch].rows;
  if (routing.empty() && piece.columns == width) {
    std::memcpy(to, &plane[piece.begin * width], piece.rows() * width * sizeof(float));
    return;
  }
  for (size_t p = piece.begin; p < piece.end; ++p, to += piece.columns) {
    const size_t row = routing.empty() ? p : routing[p];
    std::memcpy(to, &plane[row * width + piece.first_column], piece.columns * sizeof(float));
  }
}

void PsClient::ScatterPiece(const Piece& piece, const float* from, size_t width,
                            std::vector<float>* plane) const {
  const std::vector<uint32_t>& routing = routings_[piece.batch].rows;
  if (routing.empty() && piece.columns == width) {
    std::memcpy(&(*plane)[piece.begin * width], from, piece.rows() * width * sizeof(float));
    return;
  }
  for (size_t p = piece.begin; p < piece.end; ++p, from += piece.columns) {
    const size_t row = routing.empty() ? p : routing[p];
    std::memcpy(&(*plane)[row * width + piece.first_column], from, piece.columns * sizeof(float));
  }
}

size_t PsClient::FloatsOf(const Part& part) {
  size_t floats = 0;
  for (const Piece& piece : part.pieces) floats += piece.rows() * piece.columns;
  return floats;
}

std::vector<TableRows> PsClient::TablesOf(const std::vector<RowBatch>& batches, const Part& part) {
  std::vector<TableRows> tables;
  for (const Piece& piece : part.pieces) {
    tables.push_back({.table = Raw(batches[piece.batch].table),
                      .rows = static_cast<uint32_t>(piece.rows()),
                      .first_column = piece.first_column});
  }
  return tables;
}

Frames PsClient::EncodePull(const Header& header, const Part& part) const {
  const std::vector<RowBatch>& batches = *pull_batches_;
  Frames payload;
  payload.push_back(GatherNumbers(batches, part, &RowBatch::rows));
  payload.push_back(eval_ ? Frame() : GatherNumbers(batches, part, &RowBatch::counts));
  if (!part.bags.empty()) EncodeBags(part, &payload);
  const PullRequest request{
      .eval = eval_, .tables = TablesOf(batches, part), .bags = TableBagsOf(part)};
  return EncodeMessage(header, request, std::move(payload));
}

Frames PsClient::EncodePush(const Header& header, const Part& part) const {
  const std::vector<RowBatch>& batches = *push_batches_;
  Frames payload;
  payload.push_back(GatherNumbers(batches, part, &RowBatch::rows));
  payload.emplace_back(FloatsOf(part) * sizeof(float));
  float* to = payload.back().As<float>().data();
  for (const Piece& piece : part.pieces) {
    const RowBatch& batch = batches[piece.batch];
    GatherPiece(piece, batch.gradients, batch.dim, to);
    to += piece.rows() * piece.columns;
  }
  payload.push_back(options_.push_counts ? GatherNumbers(batches, part, &RowBatch::counts)
                                         : Frame());
  if (!part.bags.empty()) EncodeBagGradients(part, &payload);
  const PushRequest request{.learning_rate = learning_rate_,
                            .samples = samples_,
                            .tables = TablesOf(batches, part),
                            .bags = TableBagsOf(part)};
  return EncodeMessage(header, request, std::move(payload));
}

void PsClient::OnMessage(size_t shard, Frames frames) {
  if (!status_.ok()) return;
  bytes_moved_ += BytesOf(frames);
  Result<Message> unpacked = Unpack(std::move(frames));
  if (!unpacked.ok()) {
    status_ = unpacked.status().Annotate(Describe(shard));
    return;
  }
  const Message& message = unpacked.value();
  const auto waiting = waiting_.find(message.header.request_id);
  if (waiting == waiting_.end()) return;  // An answer to an operation that was given up.
  if (message.header.type == MessageType::kBusy) return OnBusy(message, &waiting->second);
  const Part part = std::move(waiting->second.part);
  waiting_.erase(waiting);
  --in_flight_[part.shard];
  --unanswered_;
  const Status status = TakeReply(part, message);
  if (!status.ok()) status_ = status.Annotate(Describe(part.shard));
}

void PsClient::OnBusy(const Message& message, Waiting* waiting) {
  const Result<BusyReply> busy = DecodeBody<BusyReply>(message);
  if (!busy.ok()) {
    status_ = busy.status().Annotate(Describe(waiting->part.shard));
    return;
  }
  waiting->begins_anew = true;
  if (busy_message_.empty()) busy_message_ = busy.value().message;
}

void PsClient::OnBusyTick(TimeMs now) {
  constexpr TimeMs kTellAgainMs = 30000;
  if (!busy_since_) busy_since_ = now;
  const TimeMs waited = now - *busy_since_;
  if (waited >= options_.room_deadline_ms) {
    status_ = MakeStatus(StatusCode::kResourceExhausted,
                         "worker {}: no room for {} ms (--save_deadline_ms): {}",
                         Raw(options_.worker), waited, busy_message_);
    return;
  }
  // Counts hold nobody up; who looks says itself what it found.
  if (type_ == MessageType::kStats) return;
  if (busy_told_at_ && now - *busy_told_at_ < kTellAgainMs) return;
  busy_told_at_ = now;
  LOG(WARNING) << "worker " << Raw(options_.worker) << ": " << busy_message_
               << "; the run waits for room, "
               << (waited < 1000 ? std::string() : fmt::format("{} s so far and ", waited / 1000))
               << options_.room_deadline_ms / 1000 << " s at most";
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
  const size_t bytes = FloatsOf(part) * sizeof(float);
  const size_t frames = part.bags.empty() ? 1 : 3;
  if (message.payload.size() != frames || message.payload[0].size() != bytes) {
    return CorruptionError("the answer does not hold the {} bytes of rows asked for", bytes);
  }
  has_pull_waited_ = has_pull_waited_ || reply.has_waited;
  if (!part.bags.empty()) {
    RETURN_IF_ERROR(CopyBags(part, message.payload[1], message.payload[2]));
  }
  const float* from = message.payload[0].As<float>().data();
  for (const Piece& piece : part.pieces) {
    RowBatch& batch = (*pull_batches_)[piece.batch];
    ScatterPiece(piece, from, batch.dim, &batch.values);
    from += piece.rows() * piece.columns;
  }
  return OkStatus();
}

void PsClient::OnTick(TimeMs now) {
  if (!status_.ok()) return;
  bool is_busy = false;
  for (auto& [id, waiting] : waiting_) {
    if (std::exchange(waiting.begins_anew, false)) {
      waiting.deadline = DeadlineFrom(now);
      is_busy = true;
    }
    if (now < waiting.deadline) continue;
    status_ = MakeStatus(StatusCode::kDeadlineExceeded, "{}: no answer for {} ms",
                         Describe(waiting.part.shard), DeadlineMs() + options_.answer_grace_ms);
    return;
  }
  if (is_busy) OnBusyTick(now);
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
  for (;;) {
    for (PsClient::Outgoing& outgoing : client.TakeOutgoing(clock.NowMs())) {
      RETURN_IF_ERROR(dialer.Send(outgoing.shard, std::move(outgoing.frames))
                          .Annotate(client.shards()[outgoing.shard].name));
    }
    if (!client.busy()) return client.status();
    const TimeMs now = clock.NowMs();
    const TimeMs wait = client.NextDeadline().value_or(now + kMaxWaitMs) - now;
    ASSIGN_OR_RETURN(std::optional<Incoming> incoming,
                     dialer.Receive(static_cast<int>(std::clamp<TimeMs>(wait, 0, kMaxWaitMs))));
    if (incoming) {
      client.OnMessage(incoming->listener, std::move(incoming->frames));
    }
    client.OnTick(clock.NowMs());
  }
}

}  // namespace rowhouse
