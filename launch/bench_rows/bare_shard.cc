#include "launch/bench_rows/bare_shard.h"

#include <algorithm>
#include <cstring>
#include <future>
#include <string>
#include <utility>

#include "common/kernels/row_updates.h"
#include "common/thread_name.h"
#include "common/transport/peer_name.h"
#include "common/transport/zeromq.h"
#include "common/wire/codec.h"
#include "common/wire/pull.h"
#include "common/wire/push.h"

namespace rowhouse {
namespace {

constexpr int kPatienceMs = 10'000;
constexpr int kLookForStopMs = 50;
constexpr size_t kFetchedAhead = 16;
constexpr float kBareLearningRate = 0.01f;

// Lent until the message has arrived, which its answer says.
template <typename T>
Frame LoanOf(std::span<const T> values) {
  auto* const bytes = reinterpret_cast<std::byte*>(const_cast<T*>(values.data()));
  return Frame(
      bytes, values.size_bytes(), [](void*, void*) {}, nullptr);
}

uint64_t BytesOf(const Frames& frames) {
  uint64_t bytes = 0;
  for (const Frame& frame : frames) bytes += frame.size();
  return bytes;
}

}  // namespace

BareShard::BareShard(const OneShardOptions& options)
    : options_(options),
      rows_(options.table_rows * options.dim * sizeof(float)),
      answers_(options.window, std::vector<float>(options.request_rows * options.dim)) {
  for (size_t i = 0; i < options.steps; ++i) steps_.push_back(SpreadBatch(options, /*key=*/i));
  // As a shard has initialised its rows.
  auto* const floats = reinterpret_cast<float*>(rows_.data());
  std::fill_n(floats, options.table_rows * options.dim, 0.25f);
  const Security security{.kind = Security::Kind::kPlain, .key = NewKey()};
  asking_ = MakeZeroMqTransport({.security = security});
  answering_ = MakeZeroMqTransport({.security = security});
}

BareShard::~BareShard() = default;

Result<std::unique_ptr<BareShard>> BareShard::Start(const OneShardOptions& options) {
  std::unique_ptr<BareShard> bare(new BareShard(options));
  std::promise<Result<std::string>> promise;
  std::future<Result<std::string>> listening = promise.get_future();
  bare->thread_ =
      std::jthread([&bare = *bare, promise = std::move(promise)](std::stop_token stop) mutable {
        NameThisThread("bare shard");
        const Result<std::unique_ptr<Listener>> listener =
            bare.answering_->Listen(bare.options_.listen);
        if (!listener.ok()) return promise.set_value(listener.status());
        promise.set_value(listener.value()->endpoint());
        bare.Serve(stop, *listener.value());
      });
  ASSIGN_OR_RETURN(const std::string endpoint, listening.get());
  ASSIGN_OR_RETURN(bare->dialer_, bare->asking_->MakeDialer(PeerIdOf({.job_id = 1})));
  RETURN_IF_ERROR(bare->dialer_->Connect(endpoint).status());
  return bare;
}

float* BareShard::At(RowId row) const {
  return reinterpret_cast<float*>(rows_.data()) + Raw(row) * options_.dim;
}

const float* BareShard::row(RowId row) const { return At(row); }

// ---- The shard ----------------------------------------------------------------------------------

void BareShard::Serve(const std::stop_token& stop, Listener& listener) {
  while (!stop.stop_requested()) {
    Result<std::optional<Incoming>> incoming = listener.Receive(kLookForStopMs);
    if (incoming.ok() && !incoming.value()) continue;
    Status status = incoming.status();
    if (status.ok()) {
      status = listener.Send(incoming.value()->peer, Answer(incoming.value()->frames));
    }
    if (status.ok()) continue;
    LOG(ERROR) << "bare shard: " << status.message();  // The asking end misses its deadline.
    return;
  }
}

Frames BareShard::Answer(const Frames& request) {
  constexpr size_t kIds = 2, kGradients = 3, kFramesOfPull = 4;
  const std::span<const RowId> rows = request[kIds].As<RowId>();
  const size_t dim = options_.dim, row_bytes = dim * sizeof(float);
  const bool is_pull = request.size() == kFramesOfPull;
  if (!is_pull) {
    const float* gradient = request[kGradients].As<float>().data();
    for (size_t i = 0; i < rows.size(); ++i, gradient += dim) {
      if (i + kFetchedAhead < rows.size()) FetchRow(At(rows[i + kFetchedAhead]), row_bytes);
      SgdUpdate(kBareLearningRate, {gradient, dim}, {At(rows[i]), dim});
    }
    return EncodeMessage(Header{}, PushReply{});
  }
  std::vector<float>& answer = answers_[next_answer_];
  next_answer_ = (next_answer_ + 1) % answers_.size();
  float* to = answer.data();
  for (size_t i = 0; i < rows.size(); ++i, to += dim) {
    if (i + kFetchedAhead < rows.size()) FetchRow(At(rows[i + kFetchedAhead]), row_bytes);
    std::memcpy(to, At(rows[i]), row_bytes);
  }
  Frames payload;
  payload.push_back(LoanOf(std::span<const float>(answer).first(rows.size() * dim)));
  return EncodeMessage(Header{}, PullReply{}, std::move(payload));
}

// ---- The worker ---------------------------------------------------------------------------------

Frames BareShard::RequestOf(const RowBatch& batch, size_t request, bool is_pull) const {
  const size_t first = request * options_.request_rows, rows = options_.request_rows;
  const std::vector<TableRows> tables = {{.table = 0, .rows = static_cast<uint32_t>(rows)}};
  Frames payload;
  payload.push_back(LoanOf(std::span(batch.rows).subspan(first, rows)));
  if (is_pull) {
    payload.push_back(LoanOf(std::span(batch.counts).subspan(first, rows)));
    return EncodeMessage(Header{}, PullRequest{.eval = false, .tables = tables, .bags = {}},
                         std::move(payload));
  }
  payload.push_back(
      LoanOf(std::span(batch.gradients).subspan(first * options_.dim, rows * options_.dim)));
  payload.emplace_back();
  return EncodeMessage(
      Header{},
      PushRequest{.learning_rate = kBareLearningRate, .samples = 1, .tables = tables, .bags = {}},
      std::move(payload));
}

Status BareShard::Run(bool is_pull, bool copies_rows) {
  RowBatch& batch = steps_[next_step_];
  next_step_ = (next_step_ + 1) % steps_.size();
  const size_t answer_bytes = is_pull ? options_.request_rows * options_.dim * sizeof(float) : 0;
  for (size_t sent = 0, answered = 0; answered < options_.step_requests; ++answered) {
    for (; sent < options_.step_requests && sent - answered < options_.window; ++sent) {
      Frames request = RequestOf(batch, sent, is_pull);
      moved_bytes_ += BytesOf(request);
      RETURN_IF_ERROR(dialer_->Send(0, std::move(request)));
    }
    ASSIGN_OR_RETURN(const std::optional<Incoming> incoming, dialer_->Receive(kPatienceMs));
    if (!incoming) {
      return MakeStatus(StatusCode::kDeadlineExceeded, "bare shard: no answer for {} ms",
                        kPatienceMs);
    }
    moved_bytes_ += BytesOf(incoming->frames);
    if (incoming->frames.size() != (is_pull ? 3u : 2u) ||
        (is_pull && incoming->frames[2].size() != answer_bytes)) {
      return CorruptionError("bare shard: not an answer with {} bytes of rows", answer_bytes);
    }
    if (copies_rows) {
      std::memcpy(batch.values.data() + answered * options_.request_rows * options_.dim,
                  incoming->frames[2].data(), answer_bytes);
    }
  }
  return OkStatus();
}

}  // namespace rowhouse
