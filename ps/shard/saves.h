// Saves: saves in mid-run, beside the steps (docs/storage.md, "Saves in mid-run").
//
// Between two steps a save marks the dirty rows (marked_rows.h), and steps go on. Then, side by
// side:
//
//   the store is cut as it is   writes of rows are held from the mark until the cut is done, which
//                               begins when no write and no sync is under way
//   marked rows are written     to a delta file: copies of those that steps are about to change
//                               first, then those that the hand comes to
//
// When both are done, the part is made of the cut, the delta file, and those of earlier saves that
// have marked rows. A save for which the disk has no room is given up; rows stay as they were.
//
// Copies of rows, writes that are held, and others under way take at most max_unwritten_bytes:
// while a step might need more it waits until some are written, or until no row is marked. Pulls
// wait, too, while all of it is taken. Threads: the shard's thread only.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "common/wire/checkpoint.h"
#include "ps/shard/local_tables.h"
#include "ps/shard/marked_rows.h"
#include "ps/shard/shard_state.h"
#include "ps/shard/store_writer.h"
#include "ps/shard/sweeper.h"

namespace rowhouse {

class Saves {
 public:
  struct Rooms {
    const LocalTables& tables;
    StoreWriter& writer;
    const Sweeper& sweeper;
  };
  Saves(ShardState& state, const Rooms& rooms) : state_(state), rooms_(rooms) {}

  // Between two steps. kInternal if a save is under way.
  Status Begin(const std::string& name);
  // Does what can be done now. To be called after each event.
  void Continue();
  // Deletes parts of checkpoints, when the save thread comes to it.
  void Delete(const CheckpointRequest& request, uint64_t steps);

  bool is_under_way() const { return save_.has_value(); }
  // Whether a step that updates at most `bytes` of rows may be applied.
  bool HasRoomFor(uint64_t bytes) const;
  // Whether rows may leave the cache.
  bool has_room() const { return unwritten_bytes() < state_.options.max_unwritten_bytes; }
  // What a step waits for.
  std::string WhyNoRoom() const;
  // How the last save that was begun stands.
  CheckpointReply Report() const;

  void OnCut(const StoreCut& event);
  void OnDeltaWritten(const DeltaWritten& event);
  void OnPartMade(const PartMade& event);
  void OnPartsDeleted(const PartsDeleted& event);

 private:
  enum class Cut : uint8_t { kNotYet, kUnderWay, kDone };
  struct Save {
    std::string name;
    uint64_t steps = 0;
    Cut cut = Cut::kNotYet;
    bool has_delta = false;
    bool is_part_made = false;                            // or under way
    std::unordered_map<uint64_t, uint64_t> write_bytes_;  // of delta writes under way, by ticket
    std::string no_room;                                  // why the save is given up; "": it is not
    std::optional<TimeMs> blocked_since;                  // the store finds no room; the cut waits
  };

  // False: the status is an error, and the shard or the save has ended with it.
  bool Check(const Status& status);
  void Write(std::vector<StoreWrite> writes);
  uint64_t unwritten_bytes() const { return waiting_bytes_ + rooms_.writer.unwritten_bytes(); }
  void NoteBlockage();
  void Finish();
  void GiveUp();

  ShardState& state_;
  const Rooms rooms_;
  std::optional<Save> save_;
  std::vector<WrittenDelta> deltas_;  // of this run's saves, those that may be needed; ascending
  uint64_t marked_bytes_ = 0;         // of the last save that was made
  uint64_t waiting_bytes_ = 0;        // of delta writes under way
  size_t deletions_ = 0;              // under way
  CheckpointReply last_;              // of the last save that ended
};

}  // namespace rowhouse
