// rows_update/NAME: what each optimizer does to rows of 64 weights of a table in memory (1 GB), on
// one thread, gradients from the cache; beside reading and writing the weights and state of the
// same rows, in the same order.
#include <algorithm>
#include <array>

#include "common/kernels/target_clones.h"
#include "common/scatter.h"
#include "launch/bench/measured_shard.h"
#include "launch/bench/stopwatch.h"
#include "launch/bench_rows/bare_shard.h"
#include "launch/bench_rows/timed_pairs.h"
#include "ps/cache/page_memory.h"
#include "ps/cache/row_cache.h"
#include "ps/shard/local_tables.h"
#include "sharding/rows/optimizer.h"
#include "sharding/rows/record_update.h"

namespace rowhouse {
namespace {

constexpr size_t kUpdatedDim = 64, kUpdatedBytes = size_t{1} << 30;
constexpr size_t kRowsOfUpdate = 20'000, kUpdates = 16, kRowsAtOnce = FindAhead::kAtOnce,
                 kUpdatedAhead = RowCache::kTogether;
constexpr double kUpdateTarget = 0.6;

ROWHOUSE_TARGET_CLONES
void ReadAndWrite(float* floats, size_t count) {
  for (size_t i = 0; i < count; ++i) floats[i] += 0.0f;
}

class UpdateBench {
 public:
  explicit UpdateBench(const std::string& optimizer)
      : spec_(MeasuredTables(1, /*rows=*/1, kUpdatedDim, optimizer).physical.at(0)),
        optimizer_(Optimizers().Make(optimizer, spec_.optimizer_options).value()),
        layout_(LayoutOf(spec_, *optimizer_)),
        records_(kUpdatedBytes),
        gradients_(kRowsOfUpdate * kUpdatedDim, 1e-3f) {
    const uint64_t rows = kUpdatedBytes / layout_.bytes();
    std::vector<float> state(layout_.state_floats);
    optimizer_->InitState(state);
    for (uint64_t row = 0; row < rows; ++row) {
      std::ranges::copy(state, layout_.state(At(row)).begin());
    }
    for (size_t i = 0; i < kUpdates; ++i) {
      const Scatter scatter(rows, /*key=*/i);
      std::vector<uint64_t>& some = rows_.emplace_back();
      for (uint64_t r = 0; r < kRowsOfUpdate; ++r) some.push_back(scatter(r));
      std::ranges::sort(some);
    }
  }

  // Rows a second.
  double Update() {
    return Measure([&](std::span<const RecordUpdate> rows) {
      UpdateRecords(spec_, *optimizer_, layout_, /*first_column=*/0, step_,
                    /*learning_rate=*/0.01f, rows);
    });
  }
  double Touch() {
    return Measure([&](std::span<const RecordUpdate> rows) {
      for (const RecordUpdate& row : rows) {
        ReadAndWrite(reinterpret_cast<float*>(row.record), kUpdatedDim + layout_.state_floats);
      }
    });
  }

 private:
  std::byte* At(uint64_t row) { return records_.data() + row * layout_.bytes(); }

  // Some rows are updated while others are fetched, as a shard does it.
  template <typename OfRows>
  double Measure(const OfRows& of_rows) {
    const Stopwatch stopwatch;
    for (const std::vector<uint64_t>& rows : rows_) {
      std::array<RecordUpdate, kRowsAtOnce> some;
      for (size_t begin = 0; begin < rows.size(); begin += kRowsAtOnce) {
        const size_t count = std::min(kRowsAtOnce, rows.size() - begin);
        for (size_t i = begin + kUpdatedAhead;
             i < std::min(begin + kUpdatedAhead + count, rows.size()); ++i) {
          FetchRow(At(rows[i]), layout_.bytes());
        }
        for (size_t i = 0; i < count; ++i) {
          some[i] = {.row = RowId{rows[begin + i]},
                     .gradient = &gradients_[(begin + i) * kUpdatedDim],
                     .record = At(rows[begin + i])};
        }
        of_rows(std::span(some).first(count));
      }
      ++step_;
    }
    return static_cast<double>(kUpdates * kRowsOfUpdate) / stopwatch.Seconds();
  }

  const TableSpec spec_;
  const std::unique_ptr<Optimizer> optimizer_;
  const RecordLayout layout_;
  const PageMemory records_;
  const std::vector<float> gradients_;
  std::vector<std::vector<uint64_t>> rows_;
  uint64_t step_ = 0;
};

Result<std::vector<BenchFigure>> MeasureUpdates(const std::string& name, const BenchOptions&) {
  std::vector<BenchFigure> figures;
  for (const std::string& optimizer : Optimizers().Names()) {
    UpdateBench bench(optimizer);
    ASSIGN_OR_RETURN(BenchFigure figure, CompareTimed(
                                             name + "/" + optimizer, "rows/s", kUpdateTarget,
                                             [&]() -> Result<double> { return bench.Update(); },
                                             [&]() -> Result<double> { return bench.Touch(); }));
    figures.push_back(std::move(figure));
  }
  return figures;
}

REGISTER_MEMBER(AddBench({.name = "rows_update",
                          .what = "updates of rows in memory by each optimizer",
                          .time = "30 s",
                          .yardstick = "the same rows and state read and written",
                          .count = &MeasureUpdates}));

}  // namespace
}  // namespace rowhouse
