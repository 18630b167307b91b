// StepUpdate: applies the pushes of one step: gradients of a row are summed in worker-rank order,
// starting from the first worker that has the row, and the row's optimizer runs once on the sum.
//
// Some thousands of rows at a time, so that messages are taken meanwhile: a large step takes tens
// of milliseconds. Rows that are in no cache and may be stored are read first; the step ends when
// they were. Threads: the shard's thread only.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "ps/shard/cache_admission.h"
#include "ps/shard/local_tables.h"
#include "ps/shard/pushes.h"
#include "ps/shard/shard_state.h"
#include "ps/shard/store_reader.h"
#include "ps/shard/store_writer.h"
#include "sharding/rows/record_update.h"

namespace rowhouse {

// A worker's gradient of one row.
struct Touch {
  RowId row;
  uint32_t worker;
  uint32_t lookups;      // 0 where the push does not say
  const void* gradient;  // layout.dim numbers of the push's precision; null of bags, until summed
};

// All that was pushed to one table in a step, by row and then by worker.
class TableTouches {
 public:
  void Reserve(size_t touches) {
    touches_.reserve(touches);
    rows_.reserve(touches);
  }
  void Add(const Touch& touch) {
    ascend_ = ascend_ && (rows_.empty() || rows_.back() < touch.row);
    if (ascend_) rows_.push_back(touch.row);
    touches_.push_back(touch);
  }
  // Sorts the touches; to be called once all are added. The touches of a row by one worker stay in
  // the order in which they were added.
  void Finish();

  std::span<const RowId> rows() const { return rows_; }  // distinct, ascending
  std::span<const Touch> Of(size_t row) const { return Of(row, row + 1); }
  // Of rows [begin, end).
  std::span<const Touch> Of(size_t begin, size_t end) const {
    const size_t first = FirstOf(begin);
    return std::span(touches_).subspan(first, FirstOf(end) - first);
  }
  std::span<Touch> Of(size_t begin, size_t end) {
    const size_t first = FirstOf(begin);
    return std::span(touches_).subspan(first, FirstOf(end) - first);
  }

 private:
  size_t FirstOf(size_t row) const { return ascend_ ? row : first_[row]; }

  std::vector<Touch> touches_;
  std::vector<RowId> rows_;
  bool ascend_ = true;         // each touch is of a later row than the one before, as of one worker
  std::vector<size_t> first_;  // else: index of each row's first touch, and one past the end
};

// The gradient that a row's optimizer gets: the sum of its touches, whose gradients have this
// precision; with scale_grad_by_freq divided by the lookups of all workers. The result is good
// until the next call with this `sum`, which has table.layout.dim floats.
std::span<const float> SumOf(const LocalTable& table, Precision precision,
                             std::span<const Touch> touches, std::span<float> sum);

class StepUpdate {
 public:
  struct Rooms {
    LocalTables& tables;
    StoreReader& reader;
    StoreWriter& writer;
    CacheAdmission& admission;
  };
  // `done`: called when all rows of a step are updated; may be inside Apply and GoOn.
  StepUpdate(ShardState& state, const Rooms& rooms, std::function<void()> done)
      : state_(state), rooms_(rooms), done_(std::move(done)) {}

  // Begins to apply the next step. `pushes` stay until it is done.
  void Apply(const StepPushes& pushes);
  // Goes on with it. Requires has_rows_left().
  void GoOn();
  bool has_rows_left() const { return work_ != nullptr; }
  // Whether the step waits for rows from the store.
  bool is_reading() const { return is_reading_; }
  // Whether a step has begun and is not done.
  bool is_under_way() const { return has_rows_left() || is_reading_; }

 private:
  // A touched row that is not in its cache.
  struct Miss {
    RowId row;
    std::vector<float> gradient;
  };
  struct SliceMisses {
    LocalSlice* slice = nullptr;
    std::vector<Miss> misses;

    StoreRead Read() const;
  };
  using MissesBySlice = std::map<uint32_t, SliceMisses>;  // by number of the slice

  // What a worker's bags give to the rows that are updated next.
  struct RowSums {
    std::vector<float> sums;
    std::vector<std::byte> packed;  // as a push has them, unless that is f32
  };

  // A step that has begun. The rows before `row` of table `table`, and of tables before, are
  // updated or missed.
  struct Work {
    std::vector<std::map<uint32_t, RowGradients>> of_bags;  // by worker
    std::vector<TableTouches> touches;                      // by table
    std::vector<RowSums> sums;                              // by worker
    size_t table = 0, row = 0;
    MissesBySlice stored = {}, never_written = {};
  };

  Precision precision() const { return state_.options.row_precision.push; }
  void SumBags(uint32_t table, size_t begin, size_t end);
  void UpdateRows(LocalTable& table, const TableTouches& touches, size_t begin, size_t end,
                  TurnTimer* turns);
  void EndWork(Work work);
  void Update(const LocalTable& table, std::span<const RecordUpdate> rows);
  Status UpdateMisses(const SliceMisses& of_slice, StoreRead& read);
  void ReadMisses(MissesBySlice misses);
  void Finish(std::vector<StoreRead> reads);

  ShardState& state_;
  const Rooms rooms_;
  const std::function<void()> done_;
  StepContext context_;
  std::unique_ptr<Work> work_;
  bool is_reading_ = false;
  std::vector<SliceMisses> reading_;  // in the order of the reads
};

}  // namespace rowhouse
