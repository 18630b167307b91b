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
  std::string name;
  BenchNote note;
  Result<double> (OneShard::*measure)(size_t steps);
  OneShardOptions shard = {};
  std::optional<OneShardOptions> beside;  // nullopt: the bytes by ZeroMQ alone
  std::string yardstick;
  std::optional<double> target;
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
      {"pull", {"rows from one shard, beside " + bytes, "5 s", true}, pull, {}, {}, bytes, 0.5},
      {"push", {"gradients to one shard, beside " + bytes, "5 s", true}, push, {}, {}, bytes, 0.5},
      {"pull_encrypted",
       {"rows from one shard with --encrypt, beside without", "10 s"},
       pull,
       encrypted,
       OneShardOptions(),
       "without --encrypt",
       {}},
      {"push_encrypted",
       {"rows to one shard with --encrypt, beside without", "10 s"},
       push,
       encrypted,
       OneShardOptions(),
       "without --encrypt",
       {}},
      {"tier_cache_hit",
       {"pulls that all hit a cache, beside those of an array", "5 s"},
       pull,
       cached,
       array,
       "the same rows from a direct array",
       0.7},
  };
}

class ShardBench final : public Bench {
 public:
  explicit ShardBench(const ShardCase& which) : case_(which) {}

  static Result<std::unique_ptr<Bench>> Make(const ShardCase& which, const BenchOptions& options) {
    auto bench = std::make_unique<ShardBench>(which);
    const OneShardOptions& sizes = which.shard;
    ASSIGN_OR_RETURN(bench->shard_, OneShard::Start(sizes));
    const uint64_t id = sizeof(uint64_t), count = sizeof(uint32_t),
                   floats = sizes.dim * sizeof(float), header = 64;
    const bool is_pull = which.measure == &OneShard::PulledRowsPerSecond;
    if (which.beside) {
      ASSIGN_OR_RETURN(bench->beside_, OneShard::Start(*which.beside));
    } else {
      ASSIGN_OR_RETURN(bench->raw_,
                       RawExchange::Start(
                           {.request_bytes = sizes.request_rows * (id + (is_pull ? count : floats)),
                            .reply_bytes = is_pull ? sizes.request_rows * floats : header,
                            .window = sizes.window}));
    }
    bench->is_profiled_ = which.note.has_profile && !options.profile.empty();
    if (bench->is_profiled_) RETURN_IF_ERROR(bench->shard_->BeginProfile());
    return std::unique_ptr<Bench>(std::move(bench));
  }

  std::string unit() const override { return "rows/s"; }
  std::string yardstick() const override { return case_.yardstick; }
  std::optional<double> target() const override { return case_.target; }

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
  std::unique_ptr<OneShard> shard_, beside_;
  std::unique_ptr<RawExchange> raw_;
  bool is_profiled_ = false;
};

bool AddShardCases() {
  for (const ShardCase& one : ShardCases()) {
    AddBench(one.name, one.note,
             [one](const BenchOptions& options) { return ShardBench::Make(one, options); });
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

REGISTER_MEMBER(AddShardCases() &&
                AddCountBench("tier_cached_row_bytes",
                              {"bytes of a cached row beside its record", "1 s"},
                              "bytes a row may take beside its record", &CachedRowBytes));

}  // namespace
}  // namespace rowhouse
