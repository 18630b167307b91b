// Shard: one shard of a PS node as a state machine: Handle(event, now) -> actions.
//
// It owns its rows (cache and what is stored), sums the pushes of a step in worker-rank order and
// runs each table's optimizer once on every touched row (design: "The synchronous step, exactly").
// It has no thread, lock, socket, file or clock and never blocks: the driver (ShardRunner in
// production, SimCluster in tests) carries out its actions and hands the results back as events.
//
// Order:  store actions take effect in the order given. A read that follows a write sees it.
// Faults: bytes from a peer never trip a CHECK. A failed store action makes the shard answer
//         everything with that error from then on: it must not train on rows it may have lost. One
//         that finds no room on the disk has not failed: the driver tries it again, and the shard
//         says BUSY to those who wait for it, so that their deadlines begin anew. A STATS request
//         is told at once, and also if that ended less than its deadline ago: workers ask when
//         others keep them waiting. As a failure does a row with a number that is none when it is
//         to be written: none reaches the store.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <variant>
#include <vector>

#include "common/clock.h"
#include "common/kernels/embedding_bag.h"
#include "common/transport/transport.h"
#include "common/types.h"
#include "common/wire/control.h"
#include "common/wire/message.h"
#include "common/wire/pull.h"
#include "common/wire/push.h"
#include "ps/cache/cache_ledger.h"
#include "ps/cache/reuse_sampler.h"
#include "ps/cache/row_cache.h"
#include "ps/log/push_log.h"
#include "ps/node/node_options.h"
#include "ps/store/row_store.h"
#include "ps/store/store_batch.h"
#include "ps/store/written_rows_file.h"
#include "sharding/plans/plan.h"
#include "sharding/rows/initialiser.h"
#include "sharding/rows/optimizer.h"

namespace rowhouse {

// ---- Events ---------------------------------------------------------------------------------

struct MessageArrived {
  PeerId peer;
  Frames frames;
};
struct RowsRead {  // a ReadRows action, done: records filled, missing named
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
// Whose write finds no room: they are tried again beside each other, so one may while the other
// may not.
enum class Blocked : uint8_t { kStore, kLog };
// A write or sync found no room (kResourceExhausted) and is tried again until there is; actions
// after it, of the store or of the log, wait. Comes again and again while that lasts.
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
                                StoreCounted, LogAppended, LogTruncated, StoreBlocked,
                                StoreUnblocked, CacheGranted, Tick, Continue>;

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
struct SyncStore {  // make all writes so far survive; then:
  uint64_t ticket = 0;
  uint64_t steps = 0;
  bool is_clean = true;  // note that the directory has the rows after `steps`, and no others
  // To be kept beside the rows then (ps/store/written_rows_file.h); "": nothing is.
  std::string written_rows = {};
};
// Append a push to the log, in the order given, beside the actions of the store.
struct AppendLog {
  uint64_t ticket = 0;
  std::shared_ptr<const LoggedPush> push;
  uint64_t lap = 0;  // of the sweeper: the steps applied when it began
};
struct TruncateLog {       // may overtake pushes that find no room
  uint64_t low_water = 0;  // LSN
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
// The last of the actions, if it is there: a step is complete, and the shard will apply it when it
// is given Continue. The driver carries out the actions before this one first, so that answers need
// not wait for the step.
struct CallAgain {};

using ShardAction = std::variant<SendFrames, ReadRows, WriteRows, SyncStore, ScanStore, CountStore,
                                 AppendLog, TruncateLog, AskCacheBudget, WakeAt, CallAgain>;

// ---- The shard ------------------------------------------------------------------------------

struct ShardOptions {
  NodeOptions node;  // of which cache_mb and memory_limit_mb are divided among the shards by Server
  ShardId id{};
  std::string name;  // "shard 3 (PS node 1 on host a)", for messages to people
  uint64_t job_id = 0;
  uint64_t incarnation = 0;  // of this server process; requests name it
  uint32_t workers = 1;
  uint64_t first_step = 0;                              // steps applied before this run
  uint64_t cache_bytes = NodeOptions().cache_mb << 20;  // over its tables, when it opens
  // After so many steps each, bytes of caches may move between its tables, and between the shards
  // of the node; AskCacheBudget must be answered then. 0: never. The same for all shards of a node.
  uint64_t cache_move_steps = 0;
  // Read from node.cache_access_counts: caches begin with the hottest rows. Null: with none.
  std::shared_ptr<const AccessCounts> access_counts = nullptr;
  // With a log: rows are written after so many bytes of it, even if it is not so many steps yet. A
  // log holds two laps of the sweeper, and what is pushed while the second's rows are synced.
  uint64_t max_lap_log_bytes = uint64_t{512} << 20;
  uint64_t max_unwritten_bytes = 256 << 20;  // writes under way before pulls and saves have to wait
  // Rows being prefetched and prefetches to be repeated, bytes; beyond it rows are not prefetched.
  uint64_t max_prefetch_bytes = 64 << 20;
  // A save says which rows were ever written, so that opening them again needs no scan. That takes
  // memory while it lasts, at most a sixteenth of cache_bytes. For stores that have a directory.
  bool keeps_written_rows = false;
};

class Shard {
 public:
  // `sources`: opened for all tables that have rows here. kUsage on unknown names of families and
  // on tables whose first values cannot be what their initialiser says.
  static Result<std::unique_ptr<Shard>> Make(const ShardOptions& options,
                                             const std::vector<TableSpec>& tables, const Plan& plan,
                                             const InitialiserSources& sources);
  ~Shard();

  // Takes one event; the returned actions are to be carried out in order.
  std::vector<ShardAction> Handle(ShardEvent event, TimeMs now);

  // The number of steps applied so far, over all runs of the model.
  uint64_t next_step() const { return next_step_; }
  const StatsReply& stats() const { return stats_; }
  // Bytes its caches may take now, and whether it will ever ask for others.
  uint64_t granted_cache_bytes() const;
  bool moves_cache_bytes() const { return !moving_slices_.empty(); }

  // To be told before the first event of every record that is in the store already; a row that is
  // not, and was never written since, is not looked up there. Rows of other shards are ignored.
  void NoteStored(TableId table, RowId row, uint16_t first_column);
  // The sets of what was told and written, of every slice that lies here, always in one order. To
  // be filled before the first event, in place of NoteStored.
  std::vector<WrittenSlice> written_slices() const;

 private:
  // One slice of a table that lies here.
  struct SliceState {
    Slice slice;
    StoreSlice store;
    std::unique_ptr<RowCache> cache;
    std::unique_ptr<WrittenRows> written;  // positions from slice.row_begin on
    uint64_t cache_bytes = 0;              // that the cache may take
    RowCache::Slot hand = 0;               // of the sweeper
    // Null: the cache has what it has for ever. Else (shard_caches.cc):
    std::unique_ptr<ReuseSampler> reuse;  // of rows pulled
    uint64_t first_cache_bytes = 0;
    double accesses_before = 0.0;  // when the round began
    RowCache::Slot cleaned = 0;    // before it is resized: slots below were written
    // Being read because they were announced, and for which step: the earliest.
    std::unordered_map<RowId, uint64_t> coming;
    // While any such read is under way: rows written, with the next ticket at that time.
    std::unordered_map<RowId, uint64_t> written_at;
    std::shared_ptr<const RowAccessCounts> frequencies;  // of the table; null: not known

    // False: was never written, so its first value is its value if it is not in the cache.
    bool MayBeStored(uint64_t position) const {
      return written->MayContain(position - slice.row_begin);
    }
    bool Has(uint64_t position) const {
      return position >= slice.row_begin && position < slice.row_end;
    }
  };
  // The slices of one table that begin at one column: of records of one layout.
  struct CutState {
    TableSpec spec;  // of whole rows
    uint32_t first_column = 0;
    RecordLayout layout;  // of these columns
    RowOrder order;
    std::vector<RowId> worker_rows;  // ascending; never here
    std::unique_ptr<Optimizer> optimizer;
    std::unique_ptr<Initialiser> initialiser;  // of whole rows
    std::vector<SliceState> slices;            // by ascending position
    bool overflow_reported = false;
    RowsPulled pulled;  // by training
    uint64_t rows_pushed = 0;

    // Null if the row does not lie here.
    SliceState* Find(RowId row);
    // Where up to kTogether rows that lie here are in the caches (RowCache::FindTogether).
    struct Found {
      SliceState* slice;
      RowCache::Slot slot;
    };
    using FoundTogether = std::array<Found, RowCache::kTogether>;
    void FindTogether(std::span<const RowId> rows, bool claims, FoundTogether* found);
  };
  // Where rows that lie here are in the caches, in their order, up to kTogether at a time. While
  // these are used memory is asked for those behind them, which were looked for before: who puts
  // rows into the cache meanwhile knows which. `claims`: the others will be claimed.
  class FindAhead {
   public:
    using Found = CutState::Found;
    // What else is used of rows [begin, end): called as they are looked for.
    using Fetch = std::function<void(size_t begin, size_t end)>;
    FindAhead(CutState& cut, std::span<const RowId> rows, bool claims, Fetch fetch = nullptr)
        : cut_(cut), rows_(rows), claims_(claims), fetch_(std::move(fetch)) {}
    // Good until the next call; none when all rows had their turn.
    std::span<const Found> Next();

   private:
    void Look(size_t begin);
    CutState& cut_;
    const std::span<const RowId> rows_;
    const bool claims_;
    const Fetch fetch_;
    size_t next_ = 0;
    CutState::FoundTogether found_ = {}, ahead_ = {};
  };
  // As TableRows, of cuts_[cut].
  struct CutRows {
    uint32_t cut = 0;
    uint32_t rows = 0;
  };
  // Bags as a pull gave them, with the rows they look up.
  struct PulledBags {
    TableBags part;
    uint32_t cut = 0;
    std::vector<uint64_t> rows;     // distinct, ascending
    std::vector<uint32_t> slots;    // of each lookup: its row's place in `rows`
    std::vector<uint32_t> offsets;  // bags + 1
    std::vector<float> weights;     // one a lookup, or none

    BagView view() const { return {.offsets = offsets, .slots = slots, .weights = weights}; }
    bool operator==(const PulledBags&) const = default;
  };
  // list, first column, first bag
  using BagKey = std::tuple<uint32_t, uint32_t, uint32_t>;
  // A request that waits: for a step, for room, or for rows from the store.
  struct PendingPull {
    PeerId peer;
    Header header;
    bool eval = false;
    TimeMs deadline = 0;
    std::vector<CutRows> parts;
    Frame ids;
    Frame counts;
    Frame rows;  // filled as rows are found: those of the reply, then those of the bags
    size_t reply_floats = 0;  // of the first
    std::vector<PulledBags> bags;
    // Rows that were not in the cache: where in `rows` their weights go (float offset).
    struct Miss {
      uint32_t cut;
      RowId row;
      uint32_t count;
      size_t offset;
    };
    std::vector<Miss> misses;  // in the order of the reads
    std::vector<Miss> coming;  // being read already, for a prefetch
    bool has_waited = false;   // for the store
  };
  // What to read, with the misses of the same order.
  using MissesBySlice =
      std::map<const SliceState*, std::pair<StoreRead, std::vector<PendingPull::Miss>>>;
  struct PendingControl {
    PeerId peer;
    Header header;
    TimeMs deadline = 0;
  };
  // All dirty rows on their way to the store, piece by piece, for a request. No step is applied
  // meanwhile, so that what is saved is the rows after one step.
  struct Save {
    PendingControl control;
    size_t cut = 0, slice = 0;
    RowCache::Slot next = 0;
  };
  // One part of a worker's push, kept as received.
  struct PushPart {
    std::vector<CutRows> parts;
    Frame ids;
    Frame gradients;
    Frame counts;  // one a row, or empty where no table of the part needs them
    std::vector<TableBags> bags;
    Frame bag_gradients;
    Frame bag_winners;
    Frame body;  // as received, for the log
  };
  struct WorkerPush {
    uint32_t parts_expected = 0;
    std::map<uint32_t, std::shared_ptr<const PushPart>> parts;
    uint32_t answered = 0;  // parts that are in the log, or need not be
    float learning_rate = 0.0f;
    bool complete() const { return parts_expected != 0 && answered == parts_expected; }
  };
  // Who waits for a part of a push that is on its way to the log.
  struct LoggingPush {
    PeerId peer;
    Header header;
    TimeMs deadline = 0;
  };
  struct StepPushes {
    std::vector<WorkerPush> workers;
    std::vector<std::map<BagKey, PulledBags>> bags;  // of each worker: pulled, not applied yet
  };
  // A touched row of the step being applied whose record is not in memory.
  struct ApplyMiss {
    uint32_t cut;
    RowId row;
    std::vector<float> gradient;
  };

  Shard(const ShardOptions& options);

  void MakeWrittenRows();
  // Bytes of the caches (shard_caches.cc).
  void MakeCaches();
  void CountCacheBytes();
  void MoveCaches();
  void BeginRound();
  void OnCacheGranted(CacheGranted event);
  bool CarryOutGrant();
  bool CleanForMove(CutState& cut, SliceState& slice);
  // The hottest rows, read into the caches before the first step is applied (shard_preload.cc).
  void StartPreload();
  void ContinuePreload();
  void FinishPreload(std::vector<StoreRead> reads);
  void TakePreloaded(CutState& cut, StoreRead& read);

  void OnMessage(MessageArrived message, TimeMs now);
  // Bags pooled on shards (shard_bags.cc).
  Result<std::vector<PulledBags>> TakeBags(const std::vector<TableBags>& parts, const Frame& ids,
                                           const Frame& lengths, const Frame& weights);
  void AddRowsOfBags(PendingPull* pull) const;
  uint64_t ReplyBytes(const PendingPull& pull) const;
  Status CheckPushedBags(const Header& header, const PushPart& part) const;
  void AnswerPull(PendingPull pull);
  // What bags push to the rows of one cut: as rows would have been pushed.
  struct BagGradients {
    std::vector<uint64_t> rows;  // distinct, ascending
    std::vector<float> gradients;
  };
  std::map<uint32_t, BagGradients> GradientsOfBags(const StepPushes& step, uint32_t worker) const;

  void OnPull(const PeerId& peer, Message message, TimeMs now);
  void OnPush(const PeerId& peer, Message message, TimeMs now);
  void OnPrefetch(const Message& message);
  void Keep(SliceState& slice, RowCache::Slot slot, RowId row, uint64_t step);
  void PrefetchLater(SliceState& slice, RowId row, const RowCache::LaterUse& use);
  void PrefetchAgain();
  bool HasRoomToPrefetch(uint64_t bytes) const;
  void FinishPrefetch(uint64_t ticket, std::vector<StoreRead> reads);
  void OnControl(const PeerId& peer, const Message& message, TimeMs now);
  void OnRowsRead(RowsRead event);
  void OnStoreBlocked(const StoreBlocked& event);
  void OnStoreUnblocked(const StoreUnblocked& event);
  bool IsBlocked() const { return !blocked_.empty(); }
  void OnTick(TimeMs now);

  Status CheckRequest(const Header& header) const;
  // What the parts are here; kCorruption if any row does not lie here.
  Result<std::vector<CutRows>> TakeParts(const std::vector<TableRows>& parts, const Frame& ids);
  Status CheckPushedCounts(const std::vector<CutRows>& parts, const Frame& counts) const;

  void Advance();  // serves what the state now allows; asks to be called again for a complete step
  bool IsStepComplete() const;
  bool CanApplyStep() const;  // now
  void ServePull(PendingPull pull);
  void ReadMisses(PendingPull pull, MissesBySlice misses);
  // Counts the lookups of a row of the pull and copies its weights to their place.
  // All rows of one read, with `wanted` in their order: those that are not stored get their first
  // value, each goes to its place in the reply and, unless for eval, into the cache.
  Status TakeRead(const PendingPull& pull, StoreRead& read,
                  std::span<const PendingPull::Miss> wanted, std::span<float> out);
  // The same of rows of one slice that were never written: nothing is read.
  Status TakeInitialValues(const PendingPull& pull, SliceState& slice,
                           std::span<const PendingPull::Miss> wanted, std::span<float> out);
  // Of a pull by training.
  void Count(CutState& cut, const RowsPulled& pulled);
  void TakeRow(const PendingPull& pull, const PendingPull::Miss& wanted, std::byte* record,
               std::span<float> out);
  void FinishPull(PendingPull pull, std::vector<StoreRead> reads);
  void ServeControl(PendingControl control);
  void LogPush(const PeerId& peer, const Header& header, float learning_rate,
               std::shared_ptr<const PushPart> part, TimeMs now);
  // Answers a part that is here already when the log has it.
  void AnswerAgain(const PeerId& peer, const Header& header, TimeMs now);
  void OnLogAppended(const LogAppended& event);
  void OnStoreSynced(const StoreSynced& event);
  double LapProgress() const;
  void Sweep();
  void ApplyStep();
  void FinishApply(std::vector<StoreRead> reads);
  // Updates rows that were not in the cache, and keeps or writes them.
  Status ApplyToRead(StoreRead& read, std::span<const ApplyMiss> touched);
  void EndStep();
  void ContinueSave();
  RowCache::Slot SlotsOfPiece(const CutState& cut) const;  // of what is written at once, at most
  // Those of slots [begin, end), by ascending row.
  void WriteDirty(CutState& cut, SliceState& slice, RowCache::Slot begin, RowCache::Slot end);
  void Fail(Status status);

  CutState* FindCut(uint32_t table, uint32_t first_column);  // null: not here
  CutState& CutOf(const StoreSlice& slice);
  void UpdateTouched(CutState& cut, RowId row, std::span<const float> gradient, std::byte* record);
  // A place in the cache for a row that is not in it, writing back what leaves. kNone: no room.
  RowCache::Slot ClaimSlot(CutState& cut, SliceState& slice, RowId row);
  // Puts a record into the cache if there is a place. False: no room.
  bool Admit(CutState& cut, SliceState& slice, RowId row, const std::byte* record, bool dirty,
             bool pin);
  void TakeVictim(const CutState& cut, SliceState& slice, const CacheVictim& victim);
  void QueueWrite(const CutState& cut, SliceState& slice, RowId row, const std::byte* record);
  StoreWrite& QueuedWriteOf(const SliceState& slice);
  void FlushQueuedWrites();
  // Weights and state of a row that was never pushed; `weights` those of the whole row.
  static void WriteInitialValue(const CutState& cut, std::span<const float> weights,
                                std::byte* record);
  Status InitialiseMissing(CutState& cut, StoreRead& read);

  Header ReplyHeader(const Header& request) const;
  void Send(const PeerId& peer, Frames frames);
  void SendError(const PeerId& peer, const Header& request, const Status& status);
  void AskWakeUp();
  static TimeMs DeadlineOf(const Header& header, TimeMs now);
  StatsReply StatsWith(const StoreCounted& counted) const;
  std::string DescribeMissingPushes() const;

  const ShardOptions options_;
  std::vector<CutState> cuts_;     // by table, then first column
  std::vector<size_t> first_cut_;  // of each table, and one past the end
  Status failure_;

  uint64_t next_step_ = 0;  // the step to be applied next
  std::map<uint64_t, StepPushes> pushes_;
  bool has_begun_ = false;  // an event was handled
  // Rows to be read into a cache before the first step, the hottest first.
  struct Preload {
    CutState* cut;
    SliceState* slice;
    std::vector<RowId> rows;
    size_t next = 0;
  };
  std::deque<Preload> preloads_;
  uint64_t preload_ticket_ = 0;            // of the read under way; 0: none
  std::set<Blocked> blocked_;              // who finds no room
  std::optional<TimeMs> last_blocked_at_;  // when somebody last was
  std::string why_blocked_;                // the last time
  bool applying_ = false;                  // waits for rows of the step from the store
  uint64_t apply_ticket_ = 0;
  StepContext apply_context_;
  std::vector<ApplyMiss> apply_misses_;

  std::deque<PendingPull> parked_pulls_;
  std::deque<PendingControl> parked_controls_;
  std::unordered_map<uint64_t, PendingPull> reading_pulls_;  // by ticket
  // By ticket; first who sent the part, then who sent it again.
  std::unordered_map<uint64_t, std::vector<LoggingPush>> logging_pushes_;
  // Of syncs under way: the LSN up to which all changes are in the store then.
  std::unordered_map<uint64_t, uint64_t> syncs_;  // by ticket
  uint64_t lap_began_ = 0;                        // of the sweeper: steps applied then
  uint64_t lap_log_began_ = 0;                    // and bytes logged
  std::set<uint64_t> prefetches_;                 // tickets of reads under way
  // Uses announced beyond the next one, which is all that a cache remembers of a row: by the step
  // after which they are announced again.
  struct LaterUse {
    SliceState* slice;
    RowId row;
    uint64_t step;
  };
  std::map<uint64_t, std::vector<LaterUse>> later_uses_;
  uint64_t later_uses_count_ = 0;
  uint64_t coming_bytes_ = 0;  // of records that are being read because they were announced
  std::optional<Save> save_;

  std::vector<std::pair<CutState*, SliceState*>> moving_slices_;  // those whose bytes may move
  CacheDemands demands_;                                          // of them, as the round began
  CacheGrant grant_;                                              // the last
  bool is_grant_awaited_ = false;                                 // asked for, not answered

  std::unordered_map<uint64_t, PendingControl> store_controls_;  // by ticket

  uint64_t next_ticket_ = 1;
  uint64_t unwritten_bytes_ = 0;
  std::unordered_map<uint64_t, uint64_t> write_bytes_;  // by ticket
  std::map<std::tuple<uint32_t, uint32_t, uint64_t>, StoreWrite>
      queued_writes_;  // by table, column and row the slice begins at

  TimeMs now_ = 0;
  TimeMs wake_at_ = 0;  // 0: none asked
  StatsReply stats_;
  std::vector<ShardAction> actions_;  // of the Handle under way
};

// Handles an event and, as often as the shard asks for it, Continue. All actions, in order; for
// drivers to whom it does not matter that answers wait for a step.
std::vector<ShardAction> HandleAll(Shard& shard, ShardEvent event, TimeMs now);

}  // namespace rowhouse
