// FLUSH, DIGEST, STATS, BYE, BUSY: what one worker asks of a shard between two steps.
// header.step: the number of steps applied that the request is about; the shard waits for it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/wire/header.h"

namespace rowhouse {

// Everything up to header.step survives a crash once this is answered with code 0.
struct FlushRequest {
  static constexpr MessageType kType = MessageType::kFlush;
  template <class Archive>
  void serialize(Archive&) {}
};

struct FlushReply {
  static constexpr MessageType kType = MessageType::kFlushReply;
  uint8_t code = 0;  // StatusCode
  std::string message;

  template <class Archive>
  void serialize(Archive& archive) {
    archive(code, message);
  }
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

  template <class Archive>
  void serialize(Archive& archive) {
    archive(code, message, low, high, rows);
  }
};

struct StatsRequest {
  static constexpr MessageType kType = MessageType::kStats;
  template <class Archive>
  void serialize(Archive&) {}
};

// Where the shard found the rows that training pulled.
struct RowsPulled {
  uint64_t from_memory = 0;    // cached when they were asked for, some because they were announced
  uint64_t first_touched = 0;  // were never written: made by the initialiser
  uint64_t from_store = 0;     // read from the store while the pull waited

  uint64_t total() const { return from_memory + not_in_memory(); }
  uint64_t not_in_memory() const { return first_touched + from_store; }
  void Add(const RowsPulled& other) {
    from_memory += other.from_memory;
    first_touched += other.first_touched;
    from_store += other.from_store;
  }

  template <class Archive>
  void serialize(Archive& archive) {
    archive(from_memory, first_touched, from_store);
  }
};

struct TableStats {
  uint32_t table = 0;        // id of a physical table
  RowsPulled pulled;         // a row of several cuts once for each
  uint64_t rows_pushed = 0;  // before merging over workers

  template <class Archive>
  void serialize(Archive& archive) {
    archive(table, pulled, rows_pushed);
  }
};

// Counters since the shard started.
struct StatsReply {
  static constexpr MessageType kType = MessageType::kStatsReply;
  uint8_t code = 0;  // StatusCode
  std::string message;
  RowsPulled pulled;          // by training pulls
  uint64_t rows_pushed = 0;   // before merging over workers
  uint64_t rows_updated = 0;  // optimizer runs
  uint64_t rows_evicted = 0;
  uint64_t rows_written = 0;     // to the store
  uint64_t rows_overflowed = 0;  // found no place in the cache: the batch was larger
  uint64_t cache_rows = 0;       // capacity
  uint64_t cache_bytes = 0;
  uint64_t rows_announced = 0;    // by prefetches, the same row as often as it was
  uint64_t rows_prefetched = 0;   // of them brought into the cache, before a pull asked
  uint64_t pulls = 0;             // by training: parts
  uint64_t pulls_from_store = 0;  // of them that waited for rows from the store
  uint64_t rows_swept = 0;        // of rows_written: by the sweeper
  uint64_t log_bytes = 0;         // appended to the push log
  // Of the store.
  uint64_t store_rows_read = 0;
  uint64_t store_stalls = 0;  // writes that had to wait for flush or compaction
  uint64_t store_stall_ms = 0;
  uint64_t store_bytes_read = 0;     // from files
  uint64_t store_bytes_written = 0;  // to files, by flush and compaction
  // By which caches of tables that gained were made larger, since the shard began.
  uint64_t cache_bytes_moved = 0;
  // Of the process, which may run several shards; 0: not known.
  uint64_t process_peak_bytes = 0;
  std::vector<TableStats> tables;  // that have rows here, by ascending id

  template <class Archive>
  void serialize(Archive& archive) {
    archive(code, message, pulled, rows_pushed, rows_updated, rows_evicted, rows_written,
            rows_overflowed, cache_rows, cache_bytes, rows_announced, rows_prefetched, pulls,
            pulls_from_store, rows_swept, log_bytes, store_rows_read, store_stalls, store_stall_ms,
            store_bytes_read, store_bytes_written, cache_bytes_moved, process_peak_bytes, tables);
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

// Not an answer but the word that one will come: the shard cannot go on now (its disk is full), and
// has not forgotten the request that header.request_id names. Whoever waits for it begins to count
// its deadline anew.
struct BusyReply {
  static constexpr MessageType kType = MessageType::kBusy;
  std::string message;

  template <class Archive>
  void serialize(Archive& archive) {
    archive(message);
  }
};

// Any other request is answered by this when it cannot even be read.
struct ErrorReply {
  static constexpr MessageType kType = MessageType::kError;
  uint8_t code = 0;  // StatusCode
  std::string message;

  template <class Archive>
  void serialize(Archive& archive) {
    archive(code, message);
  }
};

}  // namespace rowhouse
