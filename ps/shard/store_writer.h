// StoreWriter: rows on their way from the cache to the store.
//
// Rows are queued by slice and leave together, by Flush: before each read of the store and at the
// end of each event. While the store is cut for a save they are held in memory (Hold), where reads
// see them. A NaN or infinity in a row that is to be written fails the shard, so that none
// reaches the store.
// Threads: the shard's thread only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ps/shard/local_tables.h"
#include "ps/shard/marked_rows.h"
#include "ps/shard/shard_state.h"
#include "ps/store/row_store.h"

namespace rowhouse {

// HeldWrites: writes of rows that wait in memory until the store has been cut for a save
// (ps/store/part_maker.h), and that reads must see.
class HeldWrites {
 public:
  // Of a row that is added twice, the later record counts.
  void Add(std::vector<StoreWrite> writes);
  bool empty() const { return groups_.empty(); }
  // The record of the row as it was last added; null: it was not. Valid until the next call of Add
  // or Take.
  const std::byte* Find(const StoreSlice& slice, RowId row) const;
  // What was added, in order.
  std::vector<std::vector<StoreWrite>> Take();

 private:
  using SliceKey = std::pair<TableId, uint16_t>;  // table, first column
  std::vector<std::vector<StoreWrite>> groups_;
  std::map<SliceKey, std::unordered_map<RowId, const std::byte*>> newest_;
};

// Rows written while a prefetch is reading: what the read brings of them may be old.
class RecentWrites {
 public:
  void Start() { is_on_ = true; }
  // `ticket`: the one that was to be taken next when the row was queued.
  void Note(const LocalSlice& slice, RowId row, uint64_t ticket) {
    if (is_on_) written_at_[slice.number][row] = ticket;
  }
  // Whether the row was queued after the read of that ticket was asked for.
  bool IsNewer(const LocalSlice& slice, RowId row, uint64_t read_ticket) const;
  // Nobody will ask about reads before `oldest_ticket`.
  void ForgetBefore(uint64_t oldest_ticket);
  void Stop();
  size_t size() const;

 private:
  bool is_on_ = false;
  std::map<uint32_t, std::unordered_map<RowId, uint64_t>> written_at_;  // by number of the slice
};

class StoreWriter {
 public:
  StoreWriter(ShardState& state, LocalTables& tables)
      : state_(state), tables_(tables), marked_(state, tables) {}

  // Copies the record.
  void Queue(LocalSlice& slice, RowId row, const std::byte* record);
  // Queues the dirty rows of slots [begin, end), by ascending row, and marks them clean.
  void QueueDirty(LocalSlice& slice, RowCache::Slot begin, RowCache::Slot end);
  // One WriteRows action of all that is queued; none if nothing is.
  void Flush();
  // From Hold to Release nothing leaves: Flush adds what is queued to held().
  void Hold();
  void Release();
  bool is_held() const { return is_held_; }
  const HeldWrites& held() const { return held_; }
  // Whether no write is under way.
  bool is_idle() const { return write_bytes_.empty(); }
  void OnRowsWritten(const RowsWritten& event);

  // Bytes held or under way to the store are fewer than max_unwritten_bytes.
  bool has_room() const { return unwritten_bytes_ < state_.options.max_unwritten_bytes; }
  uint64_t unwritten_bytes() const { return unwritten_bytes_; }
  // Whoever writes a whole cache writes it in pieces of at most this many slots. A piece is at most
  // 1 MiB, the size of the blocks of memtables: these blocks then reuse the places in the heap that
  // written pieces leave. Larger pieces would make the heap grow.
  RowCache::Slot SlotsOfPiece(const LocalSlice& slice) const;

  RecentWrites& recent() { return recent_; }
  MarkedRows& marked() { return marked_; }

 private:
  StoreWrite& QueuedOf(const LocalSlice& slice);
  void Send(std::vector<StoreWrite> writes);

  ShardState& state_;
  LocalTables& tables_;
  std::map<uint32_t, StoreWrite> queued_;               // by number of the slice
  std::unordered_map<uint64_t, uint64_t> write_bytes_;  // of writes under way, by ticket
  uint64_t unwritten_bytes_ = 0;                        // their sum, and that of held_
  bool is_held_ = false;
  HeldWrites held_;
  RecentWrites recent_;
  MarkedRows marked_;
};

}  // namespace rowhouse
