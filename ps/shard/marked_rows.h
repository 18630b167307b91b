// MarkedRows: which rows a save in mid-run still has to write, and copies of those that change
// first.
//
// Mark() marks every row that is dirty in a cache. A hand then goes over all slots, beside the
// steps, and takes the marked rows (Walk). A marked row in front of the hand that is about to be
// updated, or leaves its cache or the set of dirty rows, is copied before. So each marked row is
// taken once, as it was at the mark. No slot keeps a mark: a dirty row in front of the hand is
// marked if its record says that it was last changed before the mark. A marked row that has not
// changed since an earlier save is in one of that save's delta files; which of them are needed is
// noted.
//
// Rows stay in their slots meanwhile, so no cache may be resized. A NaN or infinity in a row fails
// the shard.
// Threads: the shard's thread only.
#pragma once

#include <cstdint>
#include <cstring>
#include <map>
#include <utility>
#include <vector>

#include "ps/shard/local_tables.h"
#include "ps/shard/shard_state.h"

namespace rowhouse {

// A delta file that an earlier save wrote: of rows whose last change, an LSN, is in (after, steps].
struct WrittenDelta {
  uint64_t after = 0, steps = 0;
  uint64_t bytes = 0;
  bool is_needed = false;  // a marked row is in it
};

// The LSN in the trailer of a record of a slice.
inline uint64_t LsnIn(const StoreSlice& slice, const std::byte* record) {
  RecordTrailer trailer;
  std::memcpy(&trailer, record + slice.record_bytes - sizeof trailer, sizeof trailer);
  return trailer.lsn;
}

class MarkedRows {
 public:
  MarkedRows(ShardState& state, LocalTables& tables)
      : state_(state), tables_(tables), marked_at_(state.next_step) {}

  // Between two steps. `written`: ascending; rows last changed before the last of them ended are in
  // one of them, and are not taken.
  void Mark(std::vector<WrittenDelta> written);
  // No row is marked any more; copies are dropped.
  void Stop();

  // Whether slots are in front of the hand.
  bool is_walking() const { return is_walking_; }

  // To be called before the update of a record. `slot`: RowCache::kNone if it is in no cache.
  void BeforeUpdate(const LocalSlice& slice, RowId row, RowCache::Slot slot,
                    const std::byte* record) {
    const uint64_t lsn = LsnIn(slice.store, record);
    if (lsn > marked_at_) return;
    changed_bytes_ += slice.store.record_bytes;
    if (is_walking_ && slot != RowCache::kNone && slice.cache->is_dirty(slot)) {
      BeforeLeaving(slice, row, slot, record);
    }
  }
  // To be called before a dirty row leaves the slot or becomes clean.
  void BeforeLeaving(const LocalSlice& slice, RowId row, RowCache::Slot slot,
                     const std::byte* record);

  // Copies made since the last call.
  std::vector<StoreWrite> TakeCopies();

  // Moves the hand on over some slots, but not over more than this many bytes of marked rows (a row
  // at least), which it returns.
  std::vector<StoreWrite> Walk(uint64_t most_bytes);

  // Those of Mark(). Whether they are needed is known when is_walking() is false.
  const std::vector<WrittenDelta>& written() const { return written_; }
  // Bytes of the rows that were marked, and of those changed since the last mark.
  uint64_t marked_bytes() const { return marked_bytes_; }
  uint64_t changed_bytes() const { return changed_bytes_; }

 private:
  // False: the row is in a delta file.
  bool IsToBeTaken(const LocalSlice& slice, uint64_t lsn);
  void Take(const LocalSlice& slice, RowId row, const std::byte* record, StoreWrite* write);

  ShardState& state_;
  LocalTables& tables_;
  uint64_t marked_at_;  // steps done when rows were last marked
  std::vector<WrittenDelta> written_;
  bool is_walking_ = false;
  // The hand: the slice, by number, and its first slot that was not taken yet.
  size_t slice_ = 0;
  RowCache::Slot next_ = 0;
  std::map<uint32_t, StoreWrite> copies_;  // by number of the slice
  uint64_t marked_bytes_ = 0, changed_bytes_ = 0;
};

}  // namespace rowhouse
