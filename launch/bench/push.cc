// push: gradients of 256 bytes a row from a worker to one shard, 20,000 distinct rows a request and
// 4 requests in flight, summed and applied by SGD when the step is complete, beside the same bytes
// moved by ZeroMQ alone.
#include <memory>
#include <utility>

#include "launch/bench/bench.h"
#include "launch/bench/one_shard.h"
#include "launch/bench/raw_exchange.h"

namespace rowhouse {
namespace {

constexpr size_t kPushSteps = 2;  // a sample: each of OneShard's two batches once

class PushBench final : public Bench {
 public:
  static Result<std::unique_ptr<Bench>> Make(const BenchOptions& options) {
    const OneShardOptions sizes;
    auto bench = std::make_unique<PushBench>();
    ASSIGN_OR_RETURN(bench->shard_, OneShard::Start(sizes));
    ASSIGN_OR_RETURN(
        bench->raw_,
        RawExchange::Start(
            {.request_bytes = sizes.request_rows * (sizeof(uint64_t) + sizes.dim * sizeof(float)),
             .reply_bytes = 64,  // a header
             .window = sizes.window}));
    bench->sizes_ = sizes;
    bench->is_profiled_ = !options.profile.empty();
    if (bench->is_profiled_) RETURN_IF_ERROR(bench->shard_->BeginProfile());
    return std::unique_ptr<Bench>(std::move(bench));
  }

  std::string unit() const override { return "rows/s"; }
  std::string yardstick() const override { return "the same bytes by ZeroMQ alone"; }
  std::optional<double> target() const override { return 0.5; }

  Result<std::optional<RunProfile>> Profile() override {
    if (!is_profiled_) return std::optional<RunProfile>();
    ASSIGN_OR_RETURN(RunProfile profile, shard_->TakeProfile());
    return std::optional(std::move(profile));
  }

  Result<double> MeasureSystem() override { return shard_->PushedRowsPerSecond(kPushSteps); }

  Result<double> MeasureYardstick() override {
    ASSIGN_OR_RETURN(const double requests,
                     raw_->RequestsPerSecond(kPushSteps * sizes_.step_requests));
    return requests * static_cast<double>(sizes_.request_rows);
  }

 private:
  OneShardOptions sizes_;
  std::unique_ptr<OneShard> shard_;
  std::unique_ptr<RawExchange> raw_;
  bool is_profiled_ = false;
};

REGISTER_MEMBER(AddBench("push",
                         {"gradients to one shard, beside the same bytes by ZeroMQ alone", "5 s",
                          /*has_profile=*/true},
                         &PushBench::Make));

}  // namespace
}  // namespace rowhouse
