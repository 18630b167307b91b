// Sweeper: writes dirty rows to the store before they are max_dirty_steps steps old, and lets the
// push log forget what the store has.
//
// A hand goes over the slots of each slice once a lap. A lap ends after max_dirty_steps steps or,
// with a log, after max_lap_log_bytes of it, whichever comes first. So every row that was dirty
// when a lap began is written when it ends, and no row needs to know since when it is dirty. With a
// log, each lap ends in a sync of the store. Once that is done, what the log had when the lap began
// is not needed any more.
// Threads: the shard's thread only.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "ps/shard/local_tables.h"
#include "ps/shard/shard_state.h"
#include "ps/shard/store_writer.h"

namespace rowhouse {

class Sweeper {
 public:
  struct Rooms {
    LocalTables& tables;
    StoreWriter& writer;
  };
  Sweeper(ShardState& state, const Rooms& rooms)
      : state_(state), rooms_(rooms), hands_(rooms.tables.slices().size()) {}

  // A step was applied.
  void OnStepApplied();

  // Whether rows are swept at all.
  bool is_on() const { return state_.options.node.dirty_steps() != 0; }
  // A cache has another size, and none of its rows is dirty.
  void OnResized(const LocalSlice& slice);

  // A sync was asked for by this ticket, after which the store has all changes up to `lsn`.
  void NoteSync(uint64_t ticket, uint64_t lsn) { syncs_.emplace(ticket, lsn); }
  void OnSynced(uint64_t ticket);
  bool is_syncing() const { return !syncs_.empty(); }

 private:
  double Progress() const;
  void EndLap();

  ShardState& state_;
  const Rooms rooms_;
  std::vector<RowCache::Slot> hands_;   // by number of the slice
  uint64_t log_began_ = 0;              // bytes logged when the lap began
  std::map<uint64_t, uint64_t> syncs_;  // LSN by ticket
};

}  // namespace rowhouse
