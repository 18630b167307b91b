// RowStore: the rows of one shard at rest: records of fixed width per table, by row id.
// It is the last stop of a pull (cache, then store) and knows nothing of optimizers or wire.
//
// Threads:    one thread at a time (the shard's I/O thread); a RowStore needs no lock.
// Order:      a Get sees every Put that returned before it.
// Durability: what was Put before a Sync() that returned OK survives a crash, all of it.
// Invariant:  a record has exactly the bytes its slice says; any other size is kCorruption.
// To add one, write ps/store/engines/<name>.cc; it registers itself here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/registry.h"
#include "common/status.h"
#include "common/types.h"

namespace rowhouse {

class StoreEnvironment;  // what all stores of a process share; see ps/store/store_environment.h

// The part of a table a store keeps: all of its columns from `first_column` on.
struct StoreSlice {
  TableId table{};
  uint16_t first_column = 0;
  uint32_t record_bytes = 0;
};

struct RowStoreOptions {
  std::string path;        // directory this store owns, made if missing; "" for `memory`
  bool read_only = false;  // open what is there for reading; Put is a programmer's mistake
  // False: rows must be there already. Without their index a store would begin anew and delete the
  // files that the index no longer names.
  bool creates = true;
  // Unless 0: what stamp() must be. Looked at before anything is changed: kCorruption if other rows
  // lie there than those that had this stamp.
  uint64_t expected_stamp = 0;
  // RocksDB: shared block cache, write-buffer manager and threads. Null: the store makes its own.
  std::shared_ptr<StoreEnvironment> environment;
};

// What a store has done since it was opened. Bytes of files are 0 for a store without any.
struct RowStoreCounters {
  uint64_t rows_read = 0;        // asked for by Get, found or not
  uint64_t rows_written = 0;     // by Puts that returned OK
  uint64_t stalls = 0;           // Puts that had to wait for flush or compaction
  uint64_t stall_ms = 0;         // for how long, together
  uint64_t bytes_read = 0;       // of records found by Get
  uint64_t bytes_written = 0;    // of records, by Puts that returned OK
  uint64_t file_bytes_read = 0;  // from files, or the system's cache of them, by Get
  uint64_t file_reads = 0;       // in so many reads
  uint64_t bytes_flushed = 0;    // memory to files
  uint64_t bytes_compacted = 0;  // written by compaction; it reads a little more
  uint64_t disk_full = 0;        // times the disk was found full
  uint64_t background_jobs = 0;  // flushes and compactions due or under way now

  // Bytes moved for each byte asked for; 0 before there is one.
  double read_amplification() const;
  double write_amplification() const;
};

// What a store takes on disk.
struct RowStoreLevel {
  int level = 0;  // 0: as flushed; the larger, the older the rows
  uint64_t files = 0;
  uint64_t bytes = 0;
};

class RowStore {
 public:
  virtual ~RowStore() = default;

  // Copies the record of rows[i] to out[i * record_bytes]. A row that is not stored leaves `out`
  // alone and adds i to *missing, in order. Fastest when rows ascend; rows need not be unique.
  // Requires out.size() == rows.size() * record_bytes.
  virtual Status Get(const StoreSlice& slice, std::span<const RowId> rows, std::span<std::byte> out,
                     std::vector<size_t>* missing) = 0;

  // Replaces records, all of them or none. Requires unique rows. A store that cannot keep up
  // waits, up to a limit of its own, and then returns kResourceExhausted, as it does when the
  // disk is full; nothing is written then and the same Put may be tried again, at once or any
  // time later. Rows Put before are still there, in memory if not on disk, and can be read. Where
  // there is room again the next Put or Sync finds it and succeeds: nobody has to be told, and
  // trying costs little while there is none. After any other error nothing may be relied on but
  // what the last Sync covered.
  virtual Status Put(const StoreSlice& slice, std::span<const RowId> rows,
                     std::span<const std::byte> records) = 0;

  // Makes everything Put so far survive a crash of process or machine. kResourceExhausted as for
  // Put: all of it is still in memory, and the same Sync may be tried again until there is room.
  virtual Status Sync() = 0;

  // Calls visit(table, row, first_column, record) for every record in key order: table, row,
  // first column. Stops at the first error, which it returns. `visit` must not call this store.
  // Records are aligned for floats, and there until `visit` returns.
  using Visitor = std::function<Status(TableId, RowId, uint16_t, std::span<const std::byte>)>;
  virtual Status Scan(const Visitor& visit) = 0;

  // May be called from any thread. Wrappers need not count.
  virtual RowStoreCounters counters() const { return {}; }

  // A number that every Put changes and that is the same when the store is opened again without
  // one; 0 where there is none. What is derived from the rows is good as long as it stays.
  virtual uint64_t stamp() const { return 0; }

  // Syncs, then rewrites the files so that each row is there once. Takes as long as reading and
  // writing all rows, and up to as much disk as they take.
  virtual Status Compact() { return Sync(); }

  // By ascending level; empty for a store without files.
  virtual std::vector<RowStoreLevel> levels() const { return {}; }

  // What any of the files is compressed with, as StoreEnvironmentOptions names it; "none" if none
  // is. Reads of every file what it says of itself.
  virtual Result<std::string> compression() const { return std::string("none"); }
};

Registry<RowStore, RowStoreOptions>& RowStores();

// The kCorruption every store returns for a record that is not slice.record_bytes long. `where`
// is the store's path.
Status WrongRecordSize(const StoreSlice& slice, RowId row, size_t found_bytes,
                       std::string_view where);

}  // namespace rowhouse
