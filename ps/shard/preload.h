// Preload: caches begin with the hottest rows of a file of access counts, as many as fill
// cache_warmup_ratio of their slots (MicroRec and HugeCTR warm their caches up so).
//
// Rows are read in groups of 1 MiB, one at a time, while requests are served; it ends when the
// first step is applied. Preloading changes when a row is read, never what a pull returns.
// Threads: the shard's thread only.
#pragma once

#include <deque>
#include <span>
#include <vector>

#include "ps/shard/local_tables.h"
#include "ps/shard/shard_state.h"
#include "ps/shard/store_reader.h"

namespace rowhouse {

class Preload {
 public:
  struct Rooms {
    LocalTables& tables;
    StoreReader& reader;
  };
  Preload(ShardState& state, const Rooms& rooms) : state_(state), rooms_(rooms) {}

  // Begins. To be called once, in the first event, when the sets of written rows are known.
  void Start();
  // To be called before a step is applied; the first call ends the preload. Rows that are still
  // being read are dropped: from now on a row may change, and be written to the store, after it was
  // read.
  void Stop() {
    left_.clear();
    is_over_ = true;
  }

 private:
  struct SliceRows {
    LocalSlice* slice;
    std::vector<RowId> rows;  // the hottest first
    size_t next = 0;
  };

  std::vector<RowId> HottestOf(const LocalSlice& slice) const;
  void Continue();
  void ReadGroup(LocalSlice& slice, std::span<const RowId> rows);
  void Take(LocalSlice& slice, StoreRead& read);

  ShardState& state_;
  const Rooms rooms_;
  std::deque<SliceRows> left_;
  bool is_over_ = false;
};

}  // namespace rowhouse
