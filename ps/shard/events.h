// What happens to a shard (events) and what it wants done (actions).
//
// The driver hands events to Shard::Handle one at a time and carries out the actions it returns.
// Store actions take effect in the order given: a read that follows a write sees it. Each action
// that has a ticket is answered by the event with the same ticket.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "common/clock.h"
#include "common/frame.h"
#include "common/status.h"
#include "common/transport/transport.h"
#include "common/wire/checkpoint.h"
#include "ps/cache/cache_ledger.h"
#include "ps/log/push_log.h"
#include "ps/store/row_store.h"
#include "ps/store/written_rows_file.h"

namespace rowhouse {

// ---- Events ---------------------------------------------------------------------------------

struct MessageArrived {
  PeerId peer;
  Frames frames;
};
struct RowsRead {  // answers ReadRows: records filled, missing rows named
  uint64_t ticket = 0;
  Status status;
  std::vector<StoreRead> reads;
};
struct RowsWritten {
  uint64_t ticket = 0;
  Status status;
};
struct StoreSynced {
  uint64_t ticket = 0;
  Status status;
  std::string stamp = {};  // RowStore::stamp() of rows that are saved
};
struct StoreScanned {
  uint64_t ticket = 0;
  Status status;
  uint64_t digest_low = 0, digest_high = 0;  // mod 2^128
  uint64_t rows = 0;
};
struct LogAppended {
  uint64_t ticket = 0;
  Status status;
  uint64_t log_bytes = 0;  // appended so far
};
struct LogTruncated {
  Status status;
};
struct StoreCounted {
  uint64_t ticket = 0;
  RowStoreCounters counters;
  uint64_t process_peak_bytes = 0;  // 0: not known
};
struct StoreCut {  // answers CutStore
  uint64_t ticket = 0;
  Status status;  // kResourceExhausted, here and in the next two: there is no room
};
struct DeltaWritten {
  uint64_t ticket = 0;
  Status status;
};
struct PartMade {  // answers MakePart
  uint64_t ticket = 0;
  Status status;          // not OK: there is no part
  std::string directory;  // of the part
  std::string checksum;
  uint64_t bytes = 0;
  uint64_t delta_bytes = 0;        // of the delta file of this save
  std::vector<std::string> parts;  // of this model and shard that are there afterwards
};
struct PartsDeleted {  // answers DropPart and DeletePartsOf
  Status status;
  std::vector<std::string> parts;  // as above
};
// Who finds no room to write. Store and log are retried independently of each other.
enum class Blocked : uint8_t { kStore, kLog };
// A write or sync found no room (kResourceExhausted). The driver retries it until there is room;
// later actions of the same kind (store or log) wait. Repeated while the state lasts.
struct StoreBlocked {
  Status status;
  Blocked what = Blocked::kStore;
};
struct StoreUnblocked {
  Blocked what = Blocked::kStore;
};
struct CacheGranted {  // the answer to AskCacheBudget
  CacheGrant grant;
};
struct Tick {};      // a time asked for by WakeAt has come
struct Continue {};  // the answer to CallAgain

using ShardEvent =
    std::variant<MessageArrived, RowsRead, RowsWritten, StoreSynced, StoreScanned, StoreCounted,
                 StoreCut, DeltaWritten, PartMade, PartsDeleted, LogAppended, LogTruncated,
                 StoreBlocked, StoreUnblocked, CacheGranted, Tick, Continue>;

// ---- Actions --------------------------------------------------------------------------------

struct SendFrames {
  PeerId peer;
  Frames frames;
};
struct ReadRows {
  uint64_t ticket = 0;
  std::vector<StoreRead> reads;
};
struct WriteRows {
  uint64_t ticket = 0;
  std::vector<StoreWrite> writes;
};
struct SyncStore {  // makes all writes so far survive a crash
  uint64_t ticket = 0;
  uint64_t steps = 0;
  // True: STATE.json then says that the directory has the rows as they are after `steps` steps.
  bool is_clean = true;
  // Kept beside the rows (ps/store/written_rows_file.h) as they are by then; none: nothing is.
  std::vector<WrittenSlice> written_rows = {};
};
// Appends a push to the log. Log actions keep their order; they run beside the store's.
struct AppendLog {
  uint64_t ticket = 0;
  std::shared_ptr<const LoggedPush> push;
  uint64_t lap = 0;  // of the sweeper: steps applied when the lap began
};
struct TruncateLog {       // may overtake appends that find no room
  uint64_t low_water = 0;  // LSN
};
// Of a save in mid-run, in this order; they go on beside the store's. Finding no room ends them:
// they are not retried, as writes of rows are. (ps/store/part_maker.h)
struct CutStore {  // no write or sync is under way until this has ended
  uint64_t ticket = 0;
  std::string name;          // of the checkpoint
  bool has_changes = false;  // rows have changed since the directory was new, loaded or clean
};
struct WriteDelta {
  uint64_t ticket = 0;
  uint64_t steps = 0;  // that the records have
  std::vector<StoreWrite> writes;
};
struct MakePart {
  uint64_t ticket = 0;
  std::string name;
  uint64_t steps = 0;
  std::vector<uint64_t> deltas;            // steps of the delta files that it needs
  std::vector<WrittenSlice> written_rows;  // as of SyncStore
};
struct DropPart {  // of a save that is given up
  std::string name;
};
struct DeletePartsOf {  // as PartMaker::Delete
  std::vector<std::string> names;
  std::string whole;
  uint64_t steps = 0;
};
struct ScanStore {  // digest of every stored row
  uint64_t ticket = 0;
};
struct CountStore {
  uint64_t ticket = 0;
};
struct AskCacheBudget {  // the node's CacheLedger
  CacheDemands demands;
};
struct WakeAt {  // replaces an earlier one
  TimeMs at = 0;
};
// If it is among the actions, it is the last. A step is complete, and the shard applies some rows
// of it when it is given Continue; or there are more answers to make. The driver carries out all
// other actions before it gives Continue, so that answers need not wait for the step, and few are
// in memory. It may give a message before.
struct CallAgain {
  bool takes_messages = true;  // false: before messages, as enough of them wait for what comes
};

using ShardAction = std::variant<SendFrames, ReadRows, WriteRows, SyncStore, ScanStore, CountStore,
                                 CutStore, WriteDelta, MakePart, DropPart, DeletePartsOf, AppendLog,
                                 TruncateLog, AskCacheBudget, WakeAt, CallAgain>;

// Whether the save thread carries it out (ShardStore::ExecuteSave).
inline bool IsOfSave(const ShardAction& action) {
  return std::holds_alternative<CutStore>(action) || std::holds_alternative<WriteDelta>(action) ||
         std::holds_alternative<MakePart>(action) || std::holds_alternative<DropPart>(action) ||
         std::holds_alternative<DeletePartsOf>(action);
}

}  // namespace rowhouse
