// Shard: one shard of a PS node as a state machine: Handle(event, now) -> actions.
//
// It owns its rows, sums the pushes of a step in worker-rank order, and runs each table's optimizer
// once on every touched row (docs/step.md). It has no thread, lock, socket, file or clock and never
// blocks: the driver (ShardRunner in production, SimCluster in tests) carries out its actions and
// hands the results back as events. The work is done in rooms (ps/shard/README.md); this class
// keeps the order of events and the failure.
//
// Faults: bytes from a peer never trip a CHECK. After a failed store action, or a NaN or infinity
//         in a row that is to be written, the shard answers every request with that error: it must
//         not train on rows it may have lost. A full disk is no failure: the driver retries the
//         write, and the shard answers BUSY to those who wait, so that their deadlines begin anew.
// Threads: one; each shard has its own.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "common/inquiry/inquiry.h"
#include "ps/shard/cache_admission.h"
#include "ps/shard/cache_moves.h"
#include "ps/shard/controls.h"
#include "ps/shard/events.h"
#include "ps/shard/local_tables.h"
#include "ps/shard/prefetches.h"
#include "ps/shard/preload.h"
#include "ps/shard/pulls.h"
#include "ps/shard/pushes.h"
#include "ps/shard/refusals.h"
#include "ps/shard/requests.h"
#include "ps/shard/saves.h"
#include "ps/shard/senders.h"
#include "ps/shard/shard_options.h"
#include "ps/shard/shard_state.h"
#include "ps/shard/step_update.h"
#include "ps/shard/store_reader.h"
#include "ps/shard/store_writer.h"
#include "ps/shard/sweeper.h"
#include "sharding/plans/plan.h"
#include "sharding/rows/initialiser.h"

namespace rowhouse {

class Shard {
 public:
  // As LocalTables::Make.
  static Result<std::unique_ptr<Shard>> Make(const ShardOptions& options,
                                             const std::vector<TableSpec>& tables, const Plan& plan,
                                             const InitialiserSources& sources);
  Shard(const Shard&) = delete;
  Shard& operator=(const Shard&) = delete;

  // Takes one event; the returned actions are to be carried out in order. If the last of them is
  // CallAgain, Continue is to follow.
  std::vector<ShardAction> Handle(ShardEvent event, TimeMs now);

  // Where it counts its time from now on; outlives the shard. It decides nothing by what it counts.
  void CountPhasesIn(ShardPhases* phases) { state_.phases = phases; }

  // The number of steps applied so far, over all runs of the model.
  uint64_t next_step() const { return state_.next_step; }
  const ShardCounters& stats() const { return state_.counters; }
  // Bytes its caches may take now, and whether it will ever ask for others.
  uint64_t granted_cache_bytes() const { return tables_.granted_cache_bytes(); }
  bool moves_cache_bytes() const { return cache_moves_.is_on(); }
  // For people: how far it is, and what its next step waits for.
  std::string DescribeStanding() const;
  // The same for a picture of the run: of a shard that reads rows or waits for a disk, a note.
  Waits WaitsNow() const;
  // Whether it may look up rows in the store that are not there.
  bool guesses_written_rows() const { return tables_.guesses_written_rows(); }

  // To be called before the first event, once for every record that is in the store already. The
  // shard does not look up a row in the store unless it was told of it here or has written it
  // since. Rows of other shards are ignored.
  void NoteStored(TableId table, RowId row, uint16_t first_column) {
    tables_.NoteStored(table, row, first_column);
  }
  // For each slice, the set of rows that NoteStored named or the shard has written; slices are
  // always in the same order. The caller may fill the sets before the first event in place of
  // calling NoteStored.
  std::vector<WrittenSlice> written_slices() const { return tables_.WrittenSlices(); }

 private:
  Shard(const ShardOptions& options, LocalTables tables);

  void Dispatch(ShardEvent& event);
  void OnMessage(MessageArrived event);
  void OnSynced(const StoreSynced& event);
  void OnBlocked(const StoreBlocked& event);
  void OnUnblocked(const StoreUnblocked& event);
  void OnTick();

  Status Take(Request request, Message message);
  void TakePrefetch(Message message);

  // Serves what the present state allows. False: there is more to serve when the answers are sent.
  bool Advance();
  bool CanApplyStep() const;
  bool IsStepDue() const;
  bool WaitsForSave() const;
  void NoteWaitForSave();
  std::string DescribeNextStep() const;
  void TellWaiting(const std::string& why);
  void ApplyStep();
  void OnStepApplied();
  void RefuseAll();
  void AskWakeUp();

  ShardState state_;
  LocalTables tables_;
  StoreWriter writer_;
  StoreReader reader_;
  CacheAdmission admission_;
  Requests requests_;
  Senders senders_;
  Refusals refusals_;
  Sweeper sweeper_;
  Saves saves_;
  Controls controls_;
  Prefetches prefetches_;
  Preload preload_;
  CacheMoves cache_moves_;
  Pushes pushes_;
  Pulls pulls_;
  StepUpdate update_;

  bool has_begun_ = false;  // an event was handled
  TimeMs wake_at_ = 0;      // 0: none asked for
  // Since when steps have waited for a save, and when that was last told.
  std::optional<TimeMs> waits_for_save_since_;
  TimeMs told_of_wait_ = 0;
};

}  // namespace rowhouse
