// Prefetches: reads the rows that a worker will pull in a step to come before it pulls them, and
// keeps them in the cache until it has pulled them. Prefetching changes when a row is read, never
// what a pull returns.
//
// A cache remembers only the next use of a row (RowCache::NoteNextUse); later uses are kept here
// and noted once the earlier step is applied.
//
// Bounds:  max_prefetch_bytes over all slices. Rows being read take at most half of the slots of
//          their slice, so that they find room beside the rows that are there.
// Threads: the shard's thread only.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <unordered_map>
#include <vector>

#include "ps/shard/cache_admission.h"
#include "ps/shard/local_tables.h"
#include "ps/shard/requests.h"
#include "ps/shard/shard_state.h"
#include "ps/shard/store_reader.h"

namespace rowhouse {

class Prefetches {
 public:
  struct Rooms {
    LocalTables& tables;
    StoreReader& reader;
    StoreWriter& writer;
    CacheAdmission& admission;
  };
  Prefetches(ShardState& state, const Rooms& rooms)
      : state_(state), rooms_(rooms), coming_(rooms.tables.slices().size()) {}

  // Reads the rows that may be stored and are not in the cache; notes the step for the others.
  void Start(const PrefetchTask& task);

  // Whether the row is being read. A read that is asked for now ends after it.
  bool IsComing(const LocalSlice& slice, RowId row) const {
    const auto& coming = coming_[slice.number];
    return !coming.empty() && coming.contains(row);
  }

  // A step was applied: notes the next uses of rows that were used in it.
  void OnStepApplied();

 private:
  struct LaterUse {
    LocalSlice* slice;
    RowId row;
    uint64_t step;
  };

  bool StartRow(const FoundRow& found, RowId row, uint64_t step);
  void Finish(std::vector<StoreRead> reads);
  void TakeRow(LocalSlice& slice, RowId row, const std::byte* record, uint64_t ticket);
  // A row that is in the cache will be used in `step`, which may be the next.
  void Keep(LocalSlice& slice, RowCache::Slot slot, RowId row, uint64_t step);
  void RememberUse(LocalSlice& slice, RowId row, const RowCache::LaterUse& use);
  bool HasRoomFor(uint64_t bytes) const;

  ShardState& state_;
  const Rooms rooms_;
  // Rows being read and the earliest step that wants each, by number of the slice.
  std::vector<std::unordered_map<RowId, uint64_t>> coming_;
  uint64_t coming_bytes_ = 0;                             // of their records
  std::set<uint64_t> reads_;                              // tickets of reads under way
  std::map<uint64_t, std::vector<LaterUse>> later_uses_;  // by the step before they are noted
  uint64_t later_uses_count_ = 0;
};

}  // namespace rowhouse
