// FLUSH, DIGEST, STATS: what one worker asks of a shard between two steps. header.step is a number
// of steps: the shard parks the request until it has applied this many. BYE goes to a PS node; BUSY
// is a shard's word to a worker that waits.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <vector>

#include "common/serialized.h"
#include "common/wire/header.h"

namespace rowhouse {

// How the time of a shard's thread divides, as STATS brings it.
enum class ShardPhase : uint32_t {
  kWait,    // for messages; receiving them, too, unless the shard is profiled
  kSocket,  // sending, and receiving if the shard is profiled
  kDecode,  // from bytes to requests that are checked
  kLookup,  // finding rows in the cache, of pulls; 0 unless the shard is profiled
  kGather,  // copying rows to the answer, first values; with kLookup unless profiled
  kEncode,  // from answers to bytes; pooling of bags
  kUpdate,  // applying steps: summing over workers, optimizers
  kStore,   // handing actions to the I/O thread, taking in what it read
  kOther,   // saves, counters, moves of cache
  kCount,
};
inline constexpr std::array<const char*, static_cast<size_t>(ShardPhase::kCount)> kShardPhaseNames =
    {"wait", "socket", "decode", "lookup", "gather", "encode", "update", "store", "other"};

// The same of its I/O thread: in the store.
enum class StorePhase : uint32_t { kIdle, kRead, kWrite, kOther, kCount };
inline constexpr std::array<const char*, static_cast<size_t>(StorePhase::kCount)> kStorePhaseNames =
    {"idle", "read", "write", "other"};

// Nanoseconds since the shard started, or since its profile began.
struct ShardTimes {
  std::array<uint64_t, kShardPhaseNames.size()> shard = {};
  std::array<uint64_t, kStorePhaseNames.size()> store = {};

  uint64_t ns(ShardPhase phase) const { return shard[static_cast<size_t>(phase)]; }
  uint64_t ns(StorePhase phase) const { return store[static_cast<size_t>(phase)]; }
  SERIALIZED(shard, store);
};

// Once this is answered with code 0, the rows as they are after header.step steps survive a crash
// (ps/shard/controls.h).
struct FlushRequest {
  static constexpr MessageType kType = MessageType::kFlush;
  template <class Archive>
  void serialize(Archive&) {}
};

struct FlushReply {
  static constexpr MessageType kType = MessageType::kFlushReply;
  uint8_t code = 0;  // StatusCode
  std::string message;
  std::string stamp;  // of the rows (RowStore::stamp); "": rows in memory
  SERIALIZED(code, message, stamp);
};

struct DigestRequest {
  static constexpr MessageType kType = MessageType::kDigest;
  template <class Archive>
  void serialize(Archive&) {}
};

struct DigestReply {
  static constexpr MessageType kType = MessageType::kDigestReply;
  uint8_t code = 0;  // StatusCode
  std::string message;
  uint64_t low = 0;  // rows digest of this shard, mod 2^128
  uint64_t high = 0;
  uint64_t rows = 0;  // rows that exist on this shard
  SERIALIZED(code, message, low, high, rows);
};

struct StatsRequest {
  static constexpr MessageType kType = MessageType::kStats;
  template <class Archive>
  void serialize(Archive&) {}
};

// Where the shard found the rows that training pulled.
struct RowsPulled {
  uint64_t from_memory = 0;    // in the cache when pulled, some because they were prefetched
  uint64_t first_touched = 0;  // were never written: made by the initialiser
  uint64_t from_store = 0;     // read from the store while the pull waited

  uint64_t total() const { return from_memory + not_in_memory(); }
  uint64_t not_in_memory() const { return first_touched + from_store; }
  void Add(const RowsPulled& other) {
    from_memory += other.from_memory;
    first_touched += other.first_touched;
    from_store += other.from_store;
  }
  SERIALIZED(from_memory, first_touched, from_store);
};

struct TableStats {
  uint32_t table = 0;        // id of a physical table
  RowsPulled pulled;         // a row that lies here in several slices counts once in each
  uint64_t rows_pushed = 0;  // before merging over workers
  SERIALIZED(table, pulled, rows_pushed);
};

// Counters of a shard, since it started. kShardCounters lists them: wire, report, sums over shards
// and the simulation follow that list.
struct ShardCounters {
  RowsPulled pulled;  // by training
  uint64_t rows_pushed = 0;
  uint64_t rows_updated = 0;
  uint64_t rows_evicted = 0;
  uint64_t rows_written = 0;
  uint64_t rows_overflowed = 0;
  uint64_t cache_rows = 0;
  uint64_t cache_bytes = 0;
  uint64_t rows_announced = 0;
  uint64_t rows_prefetched = 0;
  uint64_t pulls = 0;
  uint64_t pulls_from_store = 0;
  uint64_t rows_swept = 0;
  uint64_t log_bytes = 0;
  uint64_t store_rows_read = 0;
  uint64_t store_stalls = 0;
  uint64_t store_stall_ms = 0;
  uint64_t store_bytes_read = 0;
  uint64_t store_bytes_written = 0;
  uint64_t cache_bytes_moved = 0;
  uint64_t process_peak_bytes = 0;
  uint64_t rows_saved = 0;
  uint64_t save_wait_ms = 0;
  uint64_t store_file_bytes = 0;

  // Adds another shard's.
  void Add(const ShardCounters& other);
};

struct ShardCounter {
  const char* name;  // in report.json
  uint64_t ShardCounters::*value;
  const char* meaning;
  // All shards of a process have the same value: a shard's report leaves it out, and a total over
  // shards takes the largest value in place of the sum.
  bool is_of_process = false;
};

// In the order in which they travel: a new one comes last, with a new protocol version.
inline constexpr ShardCounter kShardCounters[] = {
    {"rows_pushed", &ShardCounters::rows_pushed, "rows pushed, before merging over workers"},
    {"rows_updated", &ShardCounters::rows_updated, "optimizer runs"},
    {"rows_evicted", &ShardCounters::rows_evicted, "rows that left a cache for others"},
    {"rows_written", &ShardCounters::rows_written, "rows written to the store"},
    {"rows_overflowed", &ShardCounters::rows_overflowed,
     "rows of a step that found no slot in the cache"},
    {"cache_rows", &ShardCounters::cache_rows, "slots of all caches"},
    {"cache_bytes", &ShardCounters::cache_bytes, "bytes of their records"},
    {"rows_announced", &ShardCounters::rows_announced,
     "rows of prefetch messages, each as often as it was named"},
    {"rows_prefetched", &ShardCounters::rows_prefetched,
     "rows that prefetches brought into a cache"},
    {"pulls", &ShardCounters::pulls, "pull messages of training"},
    {"pulls_from_store", &ShardCounters::pulls_from_store,
     "pull messages of training that waited for the store"},
    {"rows_swept", &ShardCounters::rows_swept, "rows written by the sweeper"},
    {"log_bytes", &ShardCounters::log_bytes, "bytes appended to the push log"},
    {"store_rows_read", &ShardCounters::store_rows_read, "rows looked up in the store"},
    {"store_stalls", &ShardCounters::store_stalls, "writes that waited for a flush or compaction"},
    {"store_stall_ms", &ShardCounters::store_stall_ms, "how long they waited, together"},
    {"store_bytes_read", &ShardCounters::store_bytes_read, "bytes read from the store's files"},
    {"store_bytes_written", &ShardCounters::store_bytes_written,
     "bytes written to the store's files by flushes and compactions"},
    {"cache_bytes_moved", &ShardCounters::cache_bytes_moved,
     "bytes by which caches of tables grew at the expense of others"},
    {"process_peak_bytes", &ShardCounters::process_peak_bytes,
     "most memory of the process so far; 0: not known", /*is_of_process=*/true},
    {"rows_saved", &ShardCounters::rows_saved, "rows written to delta files by saves in mid-run"},
    {"save_wait_ms", &ShardCounters::save_wait_ms,
     "how long complete steps waited until a save in mid-run had written copies of rows"},
    {"store_file_bytes", &ShardCounters::store_file_bytes, "bytes of the store's files"},
};
static_assert(sizeof(ShardCounters) ==
                  sizeof(RowsPulled) + std::size(kShardCounters) * sizeof(uint64_t),
              "every counter is listed");

inline void ShardCounters::Add(const ShardCounters& other) {
  pulled.Add(other.pulled);
  for (const ShardCounter& counter : kShardCounters) {
    uint64_t& mine = this->*counter.value;
    const uint64_t others = other.*counter.value;
    mine = counter.is_of_process ? std::max(mine, others) : mine + others;
  }
}

struct StatsReply : ShardCounters {
  static constexpr MessageType kType = MessageType::kStatsReply;
  uint8_t code = 0;  // StatusCode
  std::string message;
  std::vector<TableStats> tables;  // that have rows here, by ascending id
  ShardTimes times;                // since it started

  template <class Archive>
  void serialize(Archive& archive) {
    archive(code, message, pulled);
    for (const ShardCounter& counter : kShardCounters) archive(this->*counter.value);
    archive(tables, times);
  }
};

// The worker will send nothing more to the node.
struct ByeRequest {
  static constexpr MessageType kType = MessageType::kBye;
  template <class Archive>
  void serialize(Archive&) {}
};

struct ByeReply {
  static constexpr MessageType kType = MessageType::kByeReply;
  template <class Archive>
  void serialize(Archive&) {}
};

// Says that the answer to the request header.request_id will come later: the shard keeps it, and
// cannot go on now because its disk is full, or a save in mid-run has copies to write. The deadline
// of the worker that waits for the answer begins anew.
struct BusyReply {
  static constexpr MessageType kType = MessageType::kBusy;
  std::string message;
  SERIALIZED(message);
};

// Answers a request that cannot be read, whatever its type.
struct ErrorReply {
  static constexpr MessageType kType = MessageType::kError;
  uint8_t code = 0;  // StatusCode
  std::string message;
  SERIALIZED(code, message);
};

}  // namespace rowhouse
