// tier_first_touch: rows that no step has touched, pulled for the first time: the shard computes
// their initial values and gives them slots in a cache of 16 ways, without a lookup in the store.
// The yardstick writes the same bytes to memory in order; the pages of both were written before.
// The shard is called directly, without messages, which `pull` measures.
//
// tier_first_touch_scattered: its yardstick writes such records to places in random order, as a
// cache has to.
#include <cstring>
#include <vector>

#include "common/scatter.h"
#include "launch/bench/bench.h"
#include "launch/bench/measured_shard.h"
#include "launch/bench/stopwatch.h"

namespace rowhouse {
namespace {

constexpr uint64_t kTouchableRows = uint64_t{1} << 40;  // far more than will be asked for
constexpr uint32_t kTouchedDim = 64;
constexpr uint32_t kTouchPullRows = 20'000;
constexpr size_t kTouchPulls = 10;  // of a sample
constexpr size_t kTouchedRecordBytes = kTouchedDim * sizeof(float) + sizeof(RecordTrailer);
constexpr size_t kTouchSampleRows = kTouchPulls * kTouchPullRows;
// Rows of a step stay in the cache until the next one: as good as all that are asked for have a
// place, though sets fill up unevenly.
constexpr uint64_t kTouchCacheRows = 2 * (kMeasuredPairs + 1) * kTouchSampleRows;

class FirstTouchBench final : public Bench {
 public:
  explicit FirstTouchBench(bool is_scattered) : is_scattered_(is_scattered) {}

  Status Open() {
    // All of it is written, so that no page is new: of the scattered as much as the shard's cache
    // has.
    memory_.resize((is_scattered_ ? kTouchCacheRows : kTouchSampleRows) * kTouchedRecordBytes);
    ASSIGN_OR_RETURN(
        shard_, ShardAlone::Make(
                    MeasuredTables(1, kTouchableRows, kTouchedDim), /*pools=*/false,
                    {.name = "bench shard", .cache_bytes = kTouchCacheRows * kTouchedRecordBytes}));
    return OkStatus();
  }

  Result<double> MeasureSystem() override {
    double ns = 0;
    for (size_t i = 0; i < kTouchPulls; ++i) {
      ASSIGN_OR_RETURN(const double one, PullNewRows());
      ns += one;
    }
    return kTouchSampleRows / ns * 1e9;
  }

  Result<double> MeasureYardstick() override {
    const Stopwatch stopwatch;
    ++written_;
    if (is_scattered_) {
      for (size_t i = 0; i < kTouchSampleRows; ++i) {
        std::memset(memory_.data() + scatter_(i) * kTouchedRecordBytes, written_,
                    kTouchedRecordBytes);
      }
    } else {
      std::memset(memory_.data(), written_, memory_.size());
    }
    asm volatile("" : : "r"(memory_.data()) : "memory");  // It is written.
    return kTouchSampleRows / stopwatch.Seconds();
  }

 private:
  Result<double> PullNewRows() {
    std::vector<RowBatch> batches = {{.table = TableId{0}, .dim = kTouchedDim}};
    for (uint32_t i = 0; i < kTouchPullRows; ++i) batches[0].rows.push_back(RowId{next_ += 7});
    batches[0].counts.assign(kTouchPullRows, 1);
    batches[0].values.resize(size_t{kTouchPullRows} * kTouchedDim);
    const auto& stats = shard_->shard().stats();
    const uint64_t before = stats.pulled.first_touched;
    ASSIGN_OR_RETURN(const double ns, shard_->Pull(&batches));
    if (stats.pulled.first_touched - before != kTouchPullRows || stats.rows_evicted != 0 ||
        stats.rows_overflowed * 100 > stats.pulled.total()) {
      return MakeStatus(StatusCode::kInternal, "the shard did not answer with {} new rows",
                        kTouchPullRows);
    }
    return ns;
  }

  const bool is_scattered_;
  const Scatter scatter_{kTouchCacheRows, /*key=*/5};
  std::unique_ptr<ShardAlone> shard_;
  uint64_t next_ = 0;
  std::vector<std::byte> memory_;
  int written_ = 0;
};

REGISTER_MEMBER(
    AddBench({.name = "tier_first_touch",
              .what = "rows pulled for the first time, beside writing to memory",
              .time = "5 s",
              .unit = "rows/s",
              .yardstick = "writing their bytes to memory",
              .target = 0.25,
              .make = [](const BenchOptions&) { return MakeOpenBench<FirstTouchBench>(false); }}) &&
    AddBench({.name = "tier_first_touch_scattered",
              .what = "the same, beside writing in random order",
              .time = "5 s",
              .unit = "rows/s",
              .yardstick = "writing their bytes to memory, record by record in random order",
              .make = [](const BenchOptions&) { return MakeOpenBench<FirstTouchBench>(true); }}));

}  // namespace
}  // namespace rowhouse
