// pull: rows of 256 bytes from one shard's cache into a worker's batch, 20,000 distinct rows a
// request and 4 requests in flight, beside the same bytes moved by ZeroMQ alone.
#include <memory>
#include <utility>

#include "launch/bench/bench.h"
#include "launch/bench/one_shard.h"
#include "launch/bench/raw_exchange.h"

namespace rowhouse {
namespace {

constexpr size_t kPullSteps = 2;  // a sample: each of OneShard's two batches once

class PullBench final : public Bench {
 public:
  static Result<std::unique_ptr<Bench>> Make(const BenchOptions& options) {
    const OneShardOptions sizes;
    auto bench = std::make_unique<PullBench>();
    ASSIGN_OR_RETURN(bench->shard_, OneShard::Start(sizes));
    ASSIGN_OR_RETURN(
        bench->raw_,
        RawExchange::Start(
            {.request_bytes = sizes.request_rows * (sizeof(uint64_t) + sizeof(uint32_t)),
             .reply_bytes = sizes.request_rows * sizes.dim * sizeof(float),
             .window = sizes.window}));
    bench->sizes_ = sizes;
    bench->is_profiled_ = !options.profile.empty();
    if (bench->is_profiled_) RETURN_IF_ERROR(bench->shard_->BeginProfile());
    return std::unique_ptr<Bench>(std::move(bench));
  }

  std::string unit() const override { return "rows/s"; }
  std::string yardstick() const override { return "the same bytes by ZeroMQ alone"; }
  // What a thread that only receives, gathers and sends was measured to reach: 0.5 to 0.64.
  std::optional<double> target() const override { return 0.5; }

  Result<std::optional<RunProfile>> Profile() override {
    if (!is_profiled_) return std::optional<RunProfile>();
    ASSIGN_OR_RETURN(RunProfile profile, shard_->TakeProfile());
    return std::optional(std::move(profile));
  }

  Result<double> MeasureSystem() override { return shard_->PulledRowsPerSecond(kPullSteps); }

  Result<double> MeasureYardstick() override {
    ASSIGN_OR_RETURN(const double requests,
                     raw_->RequestsPerSecond(kPullSteps * sizes_.step_requests));
    return requests * static_cast<double>(sizes_.request_rows);
  }

 private:
  OneShardOptions sizes_;
  std::unique_ptr<OneShard> shard_;
  std::unique_ptr<RawExchange> raw_;
  bool is_profiled_ = false;
};

REGISTER_MEMBER(AddBench("pull",
                         {"rows from one shard, beside the same bytes by ZeroMQ alone", "5 s",
                          /*has_profile=*/true},
                         &PullBench::Make));

}  // namespace
}  // namespace rowhouse
