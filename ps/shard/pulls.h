// Pulls: each row of a pull comes from the cache, or else from the store, or, if it was never
// written, from its initialiser.
//
// Two kinds of pulls are parked: a pull of a later step, until that step is next; and a pull whose
// answer does not fit into the node's memory limit, until other answers are sent. If a worker does
// not read its answers, only its own pulls wait. A pull that misses waits for the store while
// others pass. The rows that were missing get slots of
// the cache, pinned for the step, in place of rows that the policy evicts (dirty ones are written
// back). A row for which there is no slot is answered without one, and is read or initialised again
// when the step is applied. An eval pull changes nothing in the cache. Bags whose rows are all in
// the cache are pooled where they lie. Threads: the shard's thread only.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "ps/shard/cache_admission.h"
#include "ps/shard/local_tables.h"
#include "ps/shard/prefetches.h"
#include "ps/shard/pushes.h"
#include "ps/shard/requests.h"
#include "ps/shard/shard_state.h"
#include "ps/shard/store_reader.h"

namespace rowhouse {

class Pulls {
 public:
  struct Rooms {
    LocalTables& tables;
    StoreReader& reader;
    CacheAdmission& admission;
    const Prefetches& prefetches;
    Pushes& pushes;
  };
  Pulls(ShardState& state, const Rooms& rooms) : state_(state), rooms_(rooms) {}

  // Serve() answers it at once if it can. kResourceExhausted if the worker has more under way than
  // any sound one.
  Status Park(PullTask pull);
  // Serves parked pulls of the next step, some megabytes of answers at a time. False: others are to
  // be served when these answers are sent.
  bool Serve();

  // Whether one was not served as answers that are not sent yet leave no room. Nobody tells when
  // they are.
  bool waits_for_room() const { return waits_for_room_; }

  // Whether a pull waits for the store.
  bool is_reading() const { return !reading_.empty(); }

  std::deque<PullTask>& parked() { return parked_; }
  const std::deque<PullTask>& parked() const { return parked_; }
  // All that were not answered: the parked ones, then those that wait for the store.
  void ForEachWaiting(const std::function<void(Request&)>& visit);
  void Clear();

 private:
  // A row that is not in the cache.
  struct Miss {
    LocalSlice* slice;
    RowId row;
    uint32_t count;  // lookups; 0 for eval
    size_t offset;   // of its weights in the reply, numbers
  };
  struct SliceMisses {
    StoreRead read;
    std::vector<Miss> misses;  // in the order of the read's rows
  };
  using MissesBySlice = std::map<uint32_t, SliceMisses>;         // by number of the slice
  using InitialBySlice = std::map<uint32_t, std::vector<Miss>>;  // likewise
  struct Pull {
    PullTask task;
    Frame rows;  // weights as numbers of the pull's precision, filled as rows are found
    std::vector<Miss> misses;                 // being read, in the order of the reads
    std::vector<Miss> coming;                 // being read for a prefetch
    std::optional<PooledFrames> pooled = {};  // if it has bags that are pooled already
    bool has_waited = false;                  // for the store
    AnswerCharge held = {};                   // of the answer
  };

  // Unless it is kYes, there is no room for the answer now, and `task` is as it was.
  AnswerMemory::Room TryToServe(PullTask& task);
  void ServeOne(PullTask task, AnswerCharge held);
  Precision precision() const { return state_.options.row_precision.pull; }
  size_t NumbersOf(const PullTask& task) const;  // of the rows, those of bags included
  uint64_t AnswerBytes(const PullTask& task) const;
  std::byte* PlaceOf(Pull& pull, size_t offset) const {
    return pull.rows.data() + offset * BytesOfWeight(precision());
  }
  // Where the rows of one table begin: `first` in the pull's list of rows, `offset` (numbers) in
  // the weights of the reply.
  struct Place {
    size_t first, offset;
  };
  // Pools bags in the records themselves if the cache has all of their rows. A copy of the rows of
  // some thousand bags would be written to memory and read again.
  bool PoolInCache(Pull& pull);
  // Pools bags from pull.rows, where their rows follow those of the reply, and cuts them off.
  void PoolGathered(Pull& pull) const;
  void GatherRows(Pull& pull, const LocalRows& rows, Place at, MissesBySlice* misses,
                  InitialBySlice* initial, TurnTimer* turns);
  Status TakeInitialValues(Pull& pull, LocalSlice& slice, std::span<const Miss> wanted);
  void ReadMisses(Pull pull, MissesBySlice misses);
  static void AddMiss(const Miss& miss, MissesBySlice* misses);
  void Finish(uint64_t number, std::vector<StoreRead> reads);
  Status TakeRead(Pull& pull, StoreRead& read, std::span<const Miss> wanted);
  // Takes the rows of pull.coming that the prefetch brought into a cache; adds the others to
  // *misses.
  void TakeComing(Pull& pull, MissesBySlice* misses);
  void TakeRow(Pull& pull, const Miss& wanted, std::byte* record);
  void Count(LocalTable& table, const RowsPulled& pulled);
  void Answer(Pull pull);
  void Refuse(const Request& request, const Status& status);

  ShardState& state_;
  const Rooms rooms_;
  std::deque<PullTask> parked_;
  std::map<uint64_t, Pull> reading_;  // by a number of their own
  uint64_t next_number_ = 0;
  uint64_t answered_bytes_ = 0;  // of answers, in this Serve()
  bool waits_for_room_ = false;
};

}  // namespace rowhouse
