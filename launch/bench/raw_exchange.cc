#include "launch/bench/raw_exchange.h"

#include <future>
#include <optional>
#include <string>
#include <utility>

#include "common/thread_name.h"
#include "common/transport/zeromq.h"
#include "launch/bench/stopwatch.h"

namespace rowhouse {
namespace {

constexpr int kAnswerWithinMs = 10'000;
constexpr int kLookForStopMs = 50;

void LeaveAlone(void* /*data*/, void* /*hint*/) {}

}  // namespace

RawExchange::PreparedMessages::PreparedMessages(size_t bytes, size_t messages)
    : buffers_(messages, std::vector<std::byte>(bytes)) {}

Frames RawExchange::PreparedMessages::Next() {
  std::vector<std::byte>& buffer = buffers_[next_];
  next_ = (next_ + 1) % buffers_.size();
  Frames frames;
  frames.emplace_back(buffer.data(), buffer.size(), &LeaveAlone, nullptr);
  return frames;
}

RawExchange::RawExchange(const RawExchangeOptions& options)
    : options_(options),
      requests_(options.request_bytes, options.window),
      replies_(options.reply_bytes, options.window),
      asking_(MakeZeroMqTransport({})),
      answering_(MakeZeroMqTransport({})) {}

RawExchange::~RawExchange() = default;

Result<std::unique_ptr<RawExchange>> RawExchange::Start(const RawExchangeOptions& options) {
  CHECK(options.request_bytes > 0 && options.reply_bytes > 0 && options.window > 0);
  std::unique_ptr<RawExchange> raw(new RawExchange(options));
  std::promise<Result<std::string>> promise;
  std::future<Result<std::string>> listening = promise.get_future();
  raw->answering_thread_ =
      std::jthread([&raw = *raw, promise = std::move(promise)](std::stop_token stop) mutable {
        NameThisThread("raw-answer");
        const Result<std::unique_ptr<Listener>> listener =
            raw.answering_->Listen("tcp://127.0.0.1:0");
        if (!listener.ok()) return promise.set_value(listener.status());
        promise.set_value(listener.value()->endpoint());
        raw.Answer(std::move(stop), *listener.value());
      });
  ASSIGN_OR_RETURN(const std::string endpoint, listening.get());
  ASSIGN_OR_RETURN(raw->dialer_, raw->asking_->MakeDialer("raw-ask"));
  ASSIGN_OR_RETURN([[maybe_unused]] const size_t listener, raw->dialer_->Connect(endpoint));
  return raw;
}

void RawExchange::Answer(std::stop_token stop, Listener& listener) {
  while (!stop.stop_requested()) {
    Result<std::optional<Incoming>> incoming = listener.Receive(kLookForStopMs);
    if (incoming.ok() && !incoming.value()) continue;
    Status status = incoming.status();
    if (status.ok()) status = listener.Send(incoming.value()->peer, replies_.Next());
    if (status.ok()) continue;
    LOG(ERROR) << "raw exchange: " << status.message();  // The asking end misses its deadline.
    return;
  }
}

Result<double> RawExchange::RequestsPerSecond(size_t requests) {
  const Stopwatch stopwatch;
  for (size_t sent = 0, answered = 0; answered < requests;) {
    for (; sent < requests && sent - answered < options_.window; ++sent) {
      RETURN_IF_ERROR(dialer_->Send(0, requests_.Next()));
    }
    ASSIGN_OR_RETURN(const std::optional<Incoming> incoming, dialer_->Receive(kAnswerWithinMs));
    if (!incoming) {
      return MakeStatus(StatusCode::kDeadlineExceeded, "raw exchange: no answer for {} ms",
                        kAnswerWithinMs);
    }
    if (incoming->frames.size() != 1 || incoming->frames[0].size() != options_.reply_bytes) {
      return CorruptionError("raw exchange: not the reply of {} bytes", options_.reply_bytes);
    }
    ++answered;
  }
  return static_cast<double>(requests) / stopwatch.Seconds();
}

}  // namespace rowhouse
