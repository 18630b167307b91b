// tier_first_touch: rows that no step has touched, pulled for the first time: the shard computes
// their initial values and gives them slots in a cache of 16 ways, without a lookup in the store.
// The yardstick writes the same bytes to memory in order; the pages of both were written before.
// The shard is called directly, without messages, which `pull` measures.
//
// tier_first_touch_scattered: its yardstick writes such records to places in random order, as a
// cache has to.
#include <chrono>
#include <cstring>
#include <vector>

#include "common/scatter.h"
#include "common/transport/peer_name.h"
#include "common/wire/codec.h"
#include "common/wire/pull.h"
#include "launch/bench/bench.h"
#include "ps/shard/shard.h"
#include "sharding/plans/plan_maker.h"
#include "sharding/rows/initialiser.h"

namespace rowhouse {
namespace {

constexpr uint64_t kTouchableRows = uint64_t{1} << 40;  // far more than will be asked for
constexpr uint32_t kTouchedDim = 64;
constexpr uint32_t kPullRows = 20'000;
constexpr size_t kTouchPulls = 10;  // of a sample
constexpr size_t kTouchedRecordBytes = kTouchedDim * sizeof(float) + sizeof(RecordTrailer);
constexpr size_t kSampleRows = kTouchPulls * kPullRows;
// Rows of a step stay in the cache until the next one: as good as all that are asked for have a
// place, though sets fill up unevenly.
constexpr uint64_t kCacheRows = 2 * (kMeasuredPairs + 1) * kSampleRows;
constexpr uint64_t kTouchJobId = 1;

class FirstTouchBench final : public Bench {
 public:
  explicit FirstTouchBench(bool is_scattered) : is_scattered_(is_scattered) {
    // All of it, so that no page is new: of the scattered as much as the shard's cache has.
    const uint64_t rows = is_scattered ? kCacheRows : kSampleRows;
    memory_.resize(rows * kTouchedRecordBytes);
  }

  static Result<std::unique_ptr<Bench>> Make(bool is_scattered) {
    TableSpec table;
    table.name = "rows";
    table.rows = kTouchableRows;
    table.dim = kTouchedDim;
    const std::vector<TableSpec> tables = {table};
    ASSIGN_OR_RETURN(const InitialiserSources sources, InitialiserSources::Open(tables));
    auto bench = std::make_unique<FirstTouchBench>(is_scattered);
    ASSIGN_OR_RETURN(bench->shard_,
                     Shard::Make({.name = "bench shard",
                                  .job_id = kTouchJobId,
                                  .cache_bytes = kCacheRows * kTouchedRecordBytes},
                                 tables, MakeRowWisePlan(tables, /*shards=*/1), sources));
    return std::unique_ptr<Bench>(std::move(bench));
  }

  std::string unit() const override { return "rows/s"; }
  std::string yardstick() const override {
    return is_scattered_ ? "writing their bytes to memory, record by record in random order"
                         : "writing their bytes to memory";
  }
  std::optional<double> target() const override {
    return is_scattered_ ? std::nullopt : std::optional(0.25);
  }

  Result<double> MeasureSystem() override {
    const auto begin = std::chrono::steady_clock::now();
    for (size_t i = 0; i < kTouchPulls; ++i) RETURN_IF_ERROR(PullNewRows());
    return RowsPerSecondSince(begin);
  }

  Result<double> MeasureYardstick() override {
    const auto begin = std::chrono::steady_clock::now();
    ++written_;
    if (is_scattered_) {
      for (size_t i = 0; i < kSampleRows; ++i) {
        std::memset(memory_.data() + scatter_(i) * kTouchedRecordBytes, written_,
                    kTouchedRecordBytes);
      }
    } else {
      std::memset(memory_.data(), written_, memory_.size());
    }
    asm volatile("" : : "r"(memory_.data()) : "memory");  // It is written.
    return RowsPerSecondSince(begin);
  }

 private:
  using Time = std::chrono::steady_clock::time_point;

  static double RowsPerSecondSince(Time begin) {
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
    return static_cast<double>(kSampleRows) / seconds.count();
  }

  Status PullNewRows() {
    Frame ids(kPullRows * sizeof(uint64_t)), counts(kPullRows * sizeof(uint32_t));
    for (uint64_t& id : ids.As<uint64_t>()) id = next_ += 7;
    for (uint32_t& count : counts.As<uint32_t>()) count = 1;
    Frames payload;
    payload.push_back(std::move(ids));
    payload.push_back(std::move(counts));
    Header header;
    header.job_id = kTouchJobId;
    const PullRequest request{.tables = {{0, kPullRows, 0}}, .bags = {}};
    const uint64_t before = shard_->stats().pulled.first_touched;
    const std::vector<ShardAction> actions =
        HandleAll(*shard_,
                  MessageArrived{PeerIdOf({.job_id = kTouchJobId}),
                                 EncodeMessage(header, request, std::move(payload))},
                  0);
    if (actions.size() != 1 || !std::holds_alternative<SendFrames>(actions[0]) ||
        shard_->stats().pulled.first_touched - before != kPullRows ||
        shard_->stats().rows_evicted != 0 ||
        shard_->stats().rows_overflowed * 100 > shard_->stats().pulled.total()) {
      return MakeStatus(StatusCode::kInternal, "the shard did not answer with {} new rows",
                        kPullRows);
    }
    return OkStatus();
  }

  std::unique_ptr<Shard> shard_;
  uint64_t next_ = 0;
  const bool is_scattered_;
  const Scatter scatter_{kCacheRows, /*key=*/5};
  std::vector<std::byte> memory_;
  int written_ = 0;
};

REGISTER_MEMBER(AddBench("tier_first_touch",
                         {"rows pulled for the first time, beside writing to memory", "5 s"},
                         [](const BenchOptions&) { return FirstTouchBench::Make(false); }) &&
                AddBench("tier_first_touch_scattered",
                         {"the same, beside writing in random order", "5 s"},
                         [](const BenchOptions&) { return FirstTouchBench::Make(true); }));

}  // namespace
}  // namespace rowhouse
