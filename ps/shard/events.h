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
struct StoreCheckpointed {  // answers CheckpointStore
  uint64_t ticket = 0;
  Status status;          // kResourceExhausted: there is no room, and no part
  std::string directory;  // of the part, after kMake
  std::string checksum;
  uint64_t bytes = 0;
  std::vector<std::string> parts;  // of this model and shard that are there afterwards
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

using ShardEvent = std::variant<MessageArrived, RowsRead, RowsWritten, StoreSynced, StoreScanned,
                                StoreCounted, StoreCheckpointed, LogAppended, LogTruncated,
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
  // Finding no room ends it, with a part of the rows written: for rows that their caches still have
  // as dirty. Other writes are retried.
  bool gives_up = false;
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
// One phase of a checkpoint (common/wire/checkpoint.h). Finding no room ends it: it is not retried,
// as writes of rows are.
struct CheckpointStore {
  uint64_t ticket = 0;
  CheckpointPhase phase = CheckpointPhase::kReserve;
  uint64_t bytes = 0;                           // kReserve: of rows still to be written
  std::string name;                             // kMake, kDelete
  uint64_t steps = 0;                           // how many steps the rows have
  std::vector<WrittenSlice> written_rows = {};  // kMake: as of SyncStore
  std::vector<std::string> deleted;             // kDelete
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
// If it is among the actions, it is the last. A step is complete, and the shard applies it when it
// is given Continue; or there are more answers to make. The driver carries out all other actions
// before it gives Continue, so that answers need not wait for the step, and few are in memory.
struct CallAgain {};

using ShardAction =
    std::variant<SendFrames, ReadRows, WriteRows, SyncStore, CheckpointStore, ScanStore, CountStore,
                 AppendLog, TruncateLog, AskCacheBudget, WakeAt, CallAgain>;

}  // namespace rowhouse
