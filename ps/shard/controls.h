// Controls: what a worker asks between two steps: to save all rows (FLUSH), for a save in mid-run
// (CHECKPOINT, see saves.h), for their digest, and for counters (STATS).
//
// FLUSH writes all dirty rows, piece by piece, and no step is applied meanwhile, so that what is
// saved is the rows after one step. It then syncs the store, writes "clean" into STATE.json
// (shard_store.h) and is answered. docs/storage.md, "A save", says what else makes a saved model.
// A digest writes the rows in the same way. One FLUSH, digest or save in mid-run at a time.
// Threads: the shard's thread only.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>

#include "common/wire/checkpoint.h"
#include "common/wire/profile.h"
#include "ps/shard/local_tables.h"
#include "ps/shard/saves.h"
#include "ps/shard/shard_state.h"
#include "ps/shard/store_writer.h"
#include "ps/shard/sweeper.h"

namespace rowhouse {

struct ControlTask {
  Request request;
  CheckpointRequest checkpoint = {};  // of a CHECKPOINT: kMark
};

class Controls {
 public:
  struct Rooms {
    const LocalTables& tables;
    StoreWriter& writer;
    Sweeper& sweeper;
    Saves& saves;
  };
  Controls(ShardState& state, const Rooms& rooms) : state_(state), rooms_(rooms) {}

  // Keeps a request until Serve() answers it, when its step is next. A STATS request is also
  // answered BUSY, at once, if the shard is blocked or was blocked within the last deadline_ms of
  // the request: a worker sends it when it has waited that long for other workers.
  // kResourceExhausted, here and below, if the worker has asked for more than any sound one.
  Status Park(Request request, CheckpointRequest checkpoint = {});
  void Serve();
  // Answers at once, but a kMark, which is parked.
  Status Checkpoint(Request request, CheckpointRequest checkpoint);
  // Answers a PROFILE at once, but for what the store has to be asked.
  Status Profile(Request request, ProfileWish wish);

  // Whether a FLUSH or digest writes rows.
  bool is_saving() const { return save_.has_value(); }
  // Writes on, as far as the writer has room.
  void ContinueSave();

  void OnSynced(const StoreSynced& event);
  void OnScanned(const StoreScanned& event);
  void OnCounted(const StoreCounted& event);

  std::deque<ControlTask>& parked() { return parked_; }
  // ForEachWaiting visits parked requests and those that wait for the store; VisitSaving visits the
  // request whose save or digest is writing dirty rows, if there is one.
  void ForEachWaiting(const std::function<void(Request&)>& visit);
  void VisitSaving(const std::function<void(Request&)>& visit);
  void Clear();

 private:
  struct Save {
    ControlTask task;
    size_t slice = 0;         // number of the slice that is being written
    RowCache::Slot next = 0;  // its first slot that is not written yet
  };

  Status CheckNumber(uint32_t worker) const;
  void ServeOne(ControlTask task);
  void AnswerProfile(const Request& request, const StoreCounted& event);
  bool WriteSlice(LocalSlice& slice, RowCache::Slot* next);
  void EndSave();
  // The request that waits for this ticket; nothing if it was refused since.
  std::optional<Request> TakeWaiting(uint64_t ticket);

  ShardState& state_;
  const Rooms rooms_;
  std::deque<ControlTask> parked_;
  std::optional<Save> save_;
  std::map<uint64_t, Request> in_store_;  // by ticket
};

}  // namespace rowhouse
