// LocalTables: the rows that lie on a shard: its tables, their slices, and each slice's cache.
//
// Locating a row: FindAhead gives slice and slot of many rows at once. What it gives is good within
// one Handle and until a slot is claimed in the same cache; after a read of the store a row is
// looked up again.
// Order:   slices are numbered by table, first column and position. Whatever goes over several
//          slices does so by that number, never by address, so that a seed repeats a run.
// Threads: the shard's thread only.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "common/status.h"
#include "common/types.h"
#include "common/wire/control.h"
#include "ps/cache/row_cache.h"
#include "ps/shard/shard_options.h"
#include "ps/store/row_store.h"
#include "ps/store/written_rows_file.h"
#include "sharding/plans/plan.h"
#include "sharding/plans/reuse_sampler.h"
#include "sharding/rows/initialiser.h"
#include "sharding/rows/optimizer.h"

namespace rowhouse {

// One slice of a table that lies here.
struct LocalSlice {
  uint32_t number = 0;  // among all slices of the shard
  uint32_t table = 0;   // index into LocalTables
  Slice range;
  StoreSlice store;
  uint64_t cache_bytes = 0;  // granted to the cache
  std::unique_ptr<RowCache> cache;
  std::shared_ptr<WrittenRows> written;                  // by position - range.row_begin
  std::shared_ptr<const RowAccessCounts> access_counts;  // of the table; null: not known
  ReuseSampler* reuse = nullptr;  // is told of each row that training pulls; null: nobody is

  // `position`: in the table's row order.
  bool Has(uint64_t position) const {
    return position >= range.row_begin && position < range.row_end;
  }
  // False: the row was never written, so unless it is cached its initial value is its value.
  bool MayBeStored(uint64_t position) const {
    return written->MayContain(position - range.row_begin);
  }
};

// Where a row is: its slice, and its slot there or RowCache::kNone. `position` is set for rows that
// are not in the cache.
struct FoundRow {
  LocalSlice* slice = nullptr;
  RowCache::Slot slot = RowCache::kNone;
  uint64_t position = 0;
};
using FoundTogether = std::array<FoundRow, RowCache::kTogether>;

// One table's columns [first_column, first_column + layout.dim), with all of its slices here. A
// table that is divided by columns may be here several times.
struct LocalTable {
  TableSpec spec;  // of whole rows
  uint32_t first_column = 0;
  RecordLayout layout;  // of these columns
  RowOrder order;
  std::vector<RowId> worker_rows;  // ascending; they live on the workers, never here
  std::unique_ptr<Optimizer> optimizer;
  std::unique_ptr<Initialiser> initialiser;  // of whole rows
  std::vector<LocalSlice> slices;            // by ascending position
  bool overflow_reported = false;
  RowsPulled pulled;  // by training
  uint64_t rows_pushed = 0;

  // Null if the row does not lie here.
  LocalSlice* Find(RowId row) {
    const uint64_t position = order.PositionOf(row);
    if (slices.size() != 1) return FindAmongSlices(position);
    return slices.front().Has(position) ? &slices.front() : nullptr;
  }
  const LocalSlice* Find(RowId row) const { return const_cast<LocalTable*>(this)->Find(row); }
  // Whether the row exists and lies here. Where all rows do, its position is not asked for.
  bool Has(RowId row) const {
    if (Raw(row) >= spec.rows) return false;
    return (slices.size() == 1 && slices.front().range.rows() == spec.rows) || Find(row) != nullptr;
  }
  // Whether a peer may ask for the row.
  bool Owns(RowId row) const {
    return Has(row) && (worker_rows.empty() ||
                        !std::binary_search(worker_rows.begin(), worker_rows.end(), row));
  }
  // Of up to kTogether rows that lie here.
  void FindTogether(std::span<const RowId> rows, FoundTogether* found);

  // Fills a record with the initial value of a row; `weights`: those of the whole row.
  void WriteInitialValue(std::span<const float> weights, std::byte* record) const;
  // Gives the missing rows of a read their initial values, so that all its records are filled.
  Status InitialiseMissing(StoreRead& read) const;

 private:
  LocalSlice* FindAmongSlices(uint64_t position);
};

// ReadOf returns a read of the slice without any rows. MarkAllMissing makes a read of rows that
// were never written ready for InitialiseMissing, without asking the store.
StoreRead ReadOf(const LocalSlice& slice);
void MarkAllMissing(StoreRead& read);

// Finds rows that lie here, in their order. Next() returns the next kAtOnce of them (fewer at the
// end), and prefetches the records of the kAtOnce rows that come kTogether later: more at once
// would wait for one another, as a CPU fetches a few dozen lines at a time. A row is looked up at
// most 2 * kTogether rows before it is returned. If the caller puts it into the cache meanwhile, it
// is still returned as not cached; the caller must know such rows.
class FindAhead {
 public:
  static constexpr size_t kAtOnce = 4;

  // `claims`: rows that are not in the cache will be claimed.
  FindAhead(LocalTable& table, std::span<const RowId> rows, bool claims)
      : table_(table), rows_(rows), claims_(claims) {}

  // Good until the next call; empty at the end.
  std::span<const FoundRow> Next();

 private:
  static constexpr size_t kTogether = RowCache::kTogether;
  static_assert(kTogether % kAtOnce == 0);

  // Looks up the rows from `begin` on, a multiple of kTogether.
  void FindFrom(size_t begin);
  void Prefetch(size_t begin, size_t end) const;
  size_t End(size_t begin, size_t rows) const { return std::min(begin + rows, rows_.size()); }

  LocalTable& table_;
  const std::span<const RowId> rows_;
  const bool claims_;
  size_t next_ = 0;
  FoundTogether groups_[2] = {};  // row r is in groups_[r / kTogether % 2]
};

class LocalTables {
 public:
  // The tables of which `plan` gives rows to options.id; their caches share options.cache_bytes:
  // as the plan says, else equally, but what a small table does not need goes to the larger ones
  // (DivideCache). No cache has more than cache_ratio of its rows. CacheMoves changes the sizes
  // later. `sources`:
  // opened for all of them. kUsage if a table names an unknown member of a family, if its
  // initialiser refuses it, or if two of its slices here begin at the same column and end at
  // different columns.
  static Result<LocalTables> Make(const ShardOptions& options, const std::vector<TableSpec>& tables,
                                  const Plan& plan, const InitialiserSources& sources);

  size_t size() const { return tables_.size(); }
  LocalTable& operator[](size_t index) { return tables_[index]; }
  const LocalTable& operator[](size_t index) const { return tables_[index]; }
  auto begin() { return tables_.begin(); }
  auto end() { return tables_.end(); }
  auto begin() const { return tables_.begin(); }
  auto end() const { return tables_.end(); }

  // By number.
  const std::vector<LocalSlice*>& slices() const { return slices_; }
  LocalTable& TableOf(const LocalSlice& slice) { return tables_[slice.table]; }

  // Null: no rows of the table lie here from that column on. Any numbers may be asked for.
  LocalTable* Find(uint32_t table, uint32_t first_column);
  const LocalTable* Find(uint32_t table, uint32_t first_column) const {
    return const_cast<LocalTables*>(this)->Find(table, first_column);
  }
  size_t IndexOf(const LocalTable& table) const { return &table - tables_.data(); }

  // As Shard::NoteStored and Shard::written_slices.
  void NoteStored(TableId table, RowId row, uint16_t first_column);
  std::vector<WrittenSlice> WrittenSlices() const;

  uint64_t granted_cache_bytes() const;
  // Whether a set of written rows is not exact.
  bool guesses_written_rows() const;
  // By ascending table id.
  std::vector<TableStats> Stats() const;

 private:
  LocalTables() = default;
  void MakeCaches(const ShardOptions& options, const Plan& plan);
  void MakeWrittenRows(uint64_t budget_bytes);

  std::vector<LocalTable> tables_;  // by table, then first column
  std::vector<size_t> first_of_;    // of each table id, and one past the end
  std::vector<LocalSlice*> slices_;
};

}  // namespace rowhouse
