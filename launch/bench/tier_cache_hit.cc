// tier_cache_hit: pulls that all hit a cache of 16 ways, beside the same pulls of the same rows
// from a direct array. tier_cached_row_bytes: bytes of a cached row besides its record; at most 8.
#include <memory>
#include <utility>

#include "launch/bench/bench.h"
#include "launch/bench/one_shard.h"
#include "ps/cache/row_cache.h"

namespace rowhouse {
namespace {

constexpr size_t kHitSteps = 5;  // a sample: each of OneShard's steps once

class CacheHitBench final : public Bench {
 public:
  static Result<std::unique_ptr<Bench>> Make(const BenchOptions&) {
    OneShardOptions sizes;
    // Of a step's rows few are neighbours in the table, as of a batch.
    sizes.step_requests = 4;
    sizes.steps = kHitSteps;
    auto bench = std::make_unique<CacheHitBench>();
    ASSIGN_OR_RETURN(bench->direct_, OneShard::Start(sizes));
    // 3 of the 16 ways of a set are in use on average: none has more rows than ways.
    sizes.cache_rows = sizes.table_rows - 1;
    ASSIGN_OR_RETURN(bench->cached_, OneShard::Start(sizes));
    return std::unique_ptr<Bench>(std::move(bench));
  }

  std::string unit() const override { return "rows/s"; }
  std::string yardstick() const override { return "the same rows from a direct array"; }
  std::optional<double> target() const override { return 0.7; }

  Result<double> MeasureSystem() override { return cached_->PulledRowsPerSecond(kHitSteps); }
  Result<double> MeasureYardstick() override { return direct_->PulledRowsPerSecond(kHitSteps); }

 private:
  std::unique_ptr<OneShard> direct_, cached_;
};

class RowBytesBench final : public CountBench {
 public:
  explicit RowBytesBench(const BenchOptions&) {}

  std::string yardstick() const override { return "bytes a row may take beside its record"; }

  Result<std::vector<BenchFigure>> Measure(const std::string& name) override {
    constexpr double kAllowed = 8.0;
    const RowCache cache({.layout = {.dim = 64, .state_floats = 0},
                          .rows = uint64_t{1} << 32,
                          .capacity_rows = 1 << 20});
    const auto bytes =
        static_cast<double>(cache.bytes_per_slot()) +
        static_cast<double>(cache.index_bytes()) / static_cast<double>(cache.capacity_rows());
    // As everywhere, a ratio of 1 or more is good.
    return std::vector{BenchFigure{.name = name,
                                   .unit = "B",
                                   .measured = bytes,
                                   .yardstick = kAllowed,
                                   .ratio = kAllowed / bytes,
                                   .spread = 0.0,
                                   .target = 1.0}};
  }
};

REGISTER_MEMBER(AddBench("tier_cache_hit",
                         {"pulls that all hit a cache, beside those of an array", "5 s"},
                         &CacheHitBench::Make) &&
                AddBench<RowBytesBench>("tier_cached_row_bytes",
                                        {"bytes of a cached row beside its record", "1 s"}));

}  // namespace
}  // namespace rowhouse
