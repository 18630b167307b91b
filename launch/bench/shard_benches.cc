// Rows between a worker and one shard, 20,000 distinct rows of 256 bytes a request and 4 requests
// in flight, beside the same rows by another way:
//   pull, push                      beside the same bytes moved by ZeroMQ alone. Gradients are
//   summed
//                                   and applied by SGD when a step is complete
//   pull_encrypted, push_encrypted  with CurveZMQ, beside a key in clear: what --encrypt costs
//   tier_cache_hit                  pulls that all hit a cache of 16 ways, beside a direct array
// tier_cached_row_bytes: bytes of a cached row besides its record; at most 8.
#include <memory>
#include <utility>
#include <vector>

#include "launch/bench/bench.h"
#include "launch/bench/one_shard.h"
#include "launch/bench/raw_exchange.h"
#include "ps/cache/row_cache.h"

namespace rowhouse {
namespace {

struct ShardCase {
  std::string name, what, yardstick;
  Result<double> (OneShard::*measure)(size_t steps);
  OneShardOptions shard = {};
  std::optional<OneShardOptions> beside = {};  // nullopt: the bytes by ZeroMQ alone
  std::optional<double> target = {};
};

std::vector<ShardCase> ShardCases() {
  const auto pull = &OneShard::PulledRowsPerSecond, push = &OneShard::PushedRowsPerSecond;
  const std::string bytes = "the same bytes by ZeroMQ alone";
  const OneShardOptions encrypted{.encrypts = true};
  // Of a step's rows few are neighbours in the table, as of a batch.
  OneShardOptions array{.step_requests = 4, .steps = 5}, cached = array;
  // 3 of the 16 ways of a set are in use on average: none has more rows than ways.
  cached.cache_rows = cached.table_rows - 1;
  return {
      // What a thread that only receives, gathers and sends was measured to reach: 0.5 to 0.64.
      {"pull", "rows from one shard, beside " + bytes, bytes, pull, {}, {}, 0.5},
      {"push", "gradients to one shard, beside " + bytes, bytes, push, {}, {}, 0.5},
      {"pull_encrypted", "rows from one shard with --encrypt, beside without", "without --encrypt",
       pull, encrypted, OneShardOptions()},
      {"push_encrypted", "rows to one shard with --encrypt, beside without", "without --encrypt",
       push, encrypted, OneShardOptions()},
      {"tier_cache_hit", "pulls that all hit a cache, beside those of an array",
       "the same rows from a direct array", pull, cached, array, 0.7},
  };
}

class ShardBench final : public Bench {
 public:
  ShardBench(const ShardCase& which, bool is_profiled) : case_(which), is_profiled_(is_profiled) {}

  Status Open() {
    const OneShardOptions& sizes = case_.shard;
    ASSIGN_OR_RETURN(shard_, OneShard::Start(sizes));
    const uint64_t id = sizeof(uint64_t), count = sizeof(uint32_t),
                   floats = sizes.dim * sizeof(float), header = 64;
    const bool is_pull = case_.measure == &OneShard::PulledRowsPerSecond;
    if (case_.beside) {
      ASSIGN_OR_RETURN(beside_, OneShard::Start(*case_.beside));
    } else {
      ASSIGN_OR_RETURN(raw_,
                       RawExchange::Start(
                           {.request_bytes = sizes.request_rows * (id + (is_pull ? count : floats)),
                            .reply_bytes = is_pull ? sizes.request_rows * floats : header,
                            .window = sizes.window}));
    }
    return is_profiled_ ? shard_->BeginProfile() : OkStatus();
  }

  Result<std::optional<RunProfile>> Profile() override {
    if (!is_profiled_) return std::optional<RunProfile>();
    ASSIGN_OR_RETURN(RunProfile profile, shard_->TakeProfile());
    return std::optional(std::move(profile));
  }

  // A sample: each of the shard's steps once.
  Result<double> MeasureSystem() override { return (*shard_.*case_.measure)(case_.shard.steps); }
  Result<double> MeasureYardstick() override {
    const OneShardOptions& sizes = case_.shard;
    if (beside_ != nullptr) return (*beside_.*case_.measure)(sizes.steps);
    ASSIGN_OR_RETURN(const double requests,
                     raw_->RequestsPerSecond(sizes.steps * sizes.step_requests));
    return requests * static_cast<double>(sizes.request_rows);
  }

 private:
  const ShardCase case_;
  const bool is_profiled_;
  std::unique_ptr<OneShard> shard_, beside_;
  std::unique_ptr<RawExchange> raw_;
};

bool AddShardCases() {
  for (const ShardCase& one : ShardCases()) {
    const bool has_profile = !one.beside;
    AddBench({.name = one.name,
              .what = one.what,
              .time = one.shard.encrypts ? "10 s" : "5 s",
              .unit = "rows/s",
              .yardstick = one.yardstick,
              .target = one.target,
              .has_profile = has_profile,
              .make = [=](const BenchOptions& options) {
                return MakeOpenBench<ShardBench>(one, has_profile && !options.profile.empty());
              }});
  }
  return true;
}

Result<std::vector<BenchFigure>> CachedRowBytes(const std::string& name, const BenchOptions&) {
  constexpr double kAllowed = 8.0;
  const RowCache cache({.layout = {.dim = 64, .state_floats = 0},
                        .rows = uint64_t{1} << 32,
                        .capacity_rows = 1 << 20});
  const auto bytes =
      static_cast<double>(cache.bytes_per_slot()) +
      static_cast<double>(cache.index_bytes()) / static_cast<double>(cache.capacity_rows());
  BenchFigure figure = CountedFigure(name, "B", bytes, kAllowed, 1.0);
  figure.ratio = kAllowed / bytes;  // As everywhere, 1 or more is good.
  return std::vector{figure};
}

REGISTER_MEMBER(AddShardCases() && AddBench({.name = "tier_cached_row_bytes",
                                             .what = "bytes of a cached row beside its record",
                                             .time = "1 s",
                                             .yardstick = "bytes a row may take beside its record",
                                             .count = &CachedRowBytes}));

}  // namespace
}  // namespace rowhouse
