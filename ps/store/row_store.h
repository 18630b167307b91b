// RowStore: the rows of one shard at rest: records of fixed width per table, by row id.
// A pull that misses the cache ends here. A store knows nothing of optimizers or messages.
//
// Threads:    one thread at a time (the shard's I/O thread); a RowStore needs no lock.
// Order:      a Get sees every Put that returned before it.
// Durability: all that was Put before a Sync() that returned OK survives a crash.
// Invariant:  a record has exactly slice.record_bytes; any other size is kCorruption.
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

// Columns of a table, from `first_column` on, as one record a row.
struct StoreSlice {
  TableId table{};
  uint16_t first_column = 0;
  uint32_t record_bytes = 0;
};

// Rows [first, end) of a table.
struct RowRange {
  TableId table{};
  RowId first{};
  RowId end{};

  bool operator==(const RowRange&) const = default;
};

struct RowStoreOptions {
  std::string path;        // directory this store owns, made if missing; "" for `memory`
  bool read_only = false;  // then Put must not be called
  // False: opening fails if no rows are there yet. (A new store would delete files that its new
  // index does not name, and these may be all that is left of the rows.)
  bool creates = true;
  // Unless "": what stamp() must be. Checked before anything is changed; kCorruption if it is not.
  std::string expected_stamp = {};
  // Unless empty: all other rows are removed for good when the store is opened. Ranges ascend and
  // do not overlap. Requires `expected_stamp`, and not `read_only`.
  std::vector<RowRange> keeps_only = {};
  // Block cache, write buffers and threads shared with other stores. Null: the store makes its own.
  std::shared_ptr<StoreEnvironment> environment;
  OptionValues own = {};  // of options that the store declares itself
};

// The records of a RowRange in key order, one at a time, as they were when the cursor was made.
// Threads: one a cursor; cursors of one store may be used side by side.
class RowCursor {
 public:
  virtual ~RowCursor() = default;
  // False at the end, and after an error; then status() says which.
  virtual bool IsValid() const = 0;
  virtual void Next() = 0;  // requires IsValid(), as what follows does
  virtual RowId row() const = 0;
  virtual uint16_t first_column() const = 0;
  // Aligned for floats; valid until Next().
  virtual std::span<const std::byte> record() const = 0;
  virtual Status status() const = 0;
};

// A file of records that a store takes over whole, by Ingest.
struct RowFile {
  std::string path;
  uint64_t bytes = 0;
  std::string checksum;  // XXH3-128 of the file, hex
};

// Writes a RowFile. Threads: one. On an error, and without Finish, the file is to be removed.
class RowFileWriter {
 public:
  virtual ~RowFileWriter() = default;
  // Keys (table, row, first column) must ascend.
  virtual Status Add(TableId table, RowId row, uint16_t first_column,
                     std::span<const std::byte> record) = 0;
  virtual uint64_t bytes() const = 0;  // written so far
  // The file is whole and on disk when this returns. Requires a record.
  virtual Result<RowFile> Finish() = 0;
};

// Counters since the store was opened. Those of files are 0 for a store without files.
struct RowStoreCounters {
  uint64_t rows_read = 0;        // asked for by Get, found or not
  uint64_t rows_written = 0;     // by Puts that returned OK
  uint64_t stalls = 0;           // Puts that waited for a flush or compaction
  uint64_t stall_ms = 0;         // how long they waited, together
  uint64_t bytes_read = 0;       // of records found by Get
  uint64_t bytes_written = 0;    // of records, by Puts that returned OK
  uint64_t file_bytes_read = 0;  // by Get, from files or the system's page cache
  uint64_t file_reads = 0;       // number of these reads
  uint64_t bytes_flushed = 0;    // memory to files
  uint64_t bytes_compacted = 0;  // written by compaction; it reads a little more
  uint64_t disk_full = 0;        // times the disk was found full
  uint64_t background_jobs = 0;  // flushes and compactions due or under way now
  // Memory: rows written and not flushed, at most so far; indexes and filters of open files, and
  // this store's equal share of the block cache, now.
  uint64_t memtable_bytes = 0;
  uint64_t table_reader_bytes = 0;
  uint64_t block_cache_bytes = 0;
  uint64_t file_bytes = 0;  // of files that hold rows, now

  // Bytes read or written in files for each byte of records; 0 if there are none.
  double read_amplification() const;
  double write_amplification() const;
};

// Files of one level of a store.
struct RowStoreLevel {
  int level = 0;  // 0: as flushed; higher levels hold older rows
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

  // Writes records, all of them or none. Requires unique rows.
  // kResourceExhausted if the disk is full, or if the store cannot keep up within its stall limit.
  // Then nothing was written, and the same Put may be tried again at any time; it succeeds once
  // there is room, and costs little before. Rows Put earlier can still be read.
  // After any other error only what the last Sync covered can be relied on.
  virtual Status Put(const StoreSlice& slice, std::span<const RowId> rows,
                     std::span<const std::byte> records) = 0;

  // Makes all Puts so far survive a crash of process or machine. kResourceExhausted as for Put: the
  // rows are still in memory, and the same Sync may be tried again.
  virtual Status Sync() = 0;

  // Calls visit(table, row, first_column, record) for every record in key order: table, row,
  // first column. Returns the first error of `visit`. `visit` must not call this store. A record is
  // aligned for floats and valid until `visit` returns.
  using Visitor = std::function<Status(TableId, RowId, uint16_t, std::span<const std::byte>)>;
  virtual Status Scan(const Visitor& visit) = 0;

  // Scan of the records of one table's rows [first, end). By default all records are scanned and
  // others passed over.
  virtual Status ScanRows(TableId table, RowId first, RowId end, const Visitor& visit);

  // What follows is for rows that are moved between stores; by default kUsage. Stores without files
  // may be moved from, and never to.
  virtual Result<std::unique_ptr<RowCursor>> Cursor(const RowRange& range) const;
  // About how many bytes, of files if the store has any, hold these rows.
  virtual uint64_t BytesOf(const RowRange& /*range*/) const { return 0; }
  // Makes the file `path`, on the file system of the store, for its Ingest.
  virtual Result<std::unique_ptr<RowFileWriter>> NewRowFile(const std::string& path) const;
  // Takes files over, which are then its own and gone from their paths: their rows are as if Put
  // and synced. No two may hold the same key. kResourceExhausted for a full disk.
  virtual Status Ingest(std::span<const RowFile> files);

  // May be called from any thread.
  virtual RowStoreCounters counters() const { return {}; }

  // Syncs, and leaves the files as they are until the next Put, so that stamp() stays.
  virtual Status Settle() { return Sync(); }

  // Says which rows these are: hex of the XXH3-128 of names, sizes and checksums of all files; "":
  // the store has no files. Once the store has settled it stays the same until the next Put, also
  // when the store is opened again, read-only or with this stamp expected.
  virtual std::string stamp() const { return ""; }

  // Reads every file, and compares it with its checksum, or, of a file that has none, with the
  // checksums of its blocks. kCorruption that names all damaged files, with the tables whose rows
  // they hold. `name_of`: a table's.
  using NameOfTable = std::function<std::string(TableId)>;
  virtual Status Verify(const NameOfTable& /*name_of*/) { return OkStatus(); }

  // Syncs, then makes `directory`, which must not exist, with a store of the rows as they are now,
  // that stays as it is whatever becomes of this one; files are links where both can have them. All
  // of it is on disk when this returns. Returns the stamp of the new store. Put and Sync may go on
  // after an error, which leaves no directory: kResourceExhausted as for Put; kUsage if rows of
  // this store do not outlive it.
  virtual Result<std::string> Checkpoint(const std::string& directory);

  // Bytes of rows that Put took and that are in memory only.
  virtual uint64_t bytes_in_memory() const { return 0; }

  // Syncs, then rewrites the files so that they hold each row once. Reads and writes all rows, and
  // needs up to as much free disk as they take.
  virtual Status Compact() { return Sync(); }

  // By ascending level; empty for a store without files.
  virtual std::vector<RowStoreLevel> levels() const { return {}; }

  // How files are compressed, as StoreEnvironmentOptions names it; "none" if no file is. Reads the
  // properties of every file.
  virtual Result<std::string> compression() const { return std::string("none"); }
};

// What a store says of itself, for code that knows it only by name.
struct StoreDeclaration {
  bool has_files = true;  // false: its rows end with the process
};

using StoreRegistry = Registry<RowStore, RowStoreOptions, StoreDeclaration>;
StoreRegistry& RowStores();

// An empty store in memory, for rows on their way from one place to another.
std::unique_ptr<RowStore> NewMemoryStore();

// kCorruption for a record that is not slice.record_bytes long. `where`: the store's path.
Status WrongRecordSize(const StoreSlice& slice, RowId row, size_t found_bytes,
                       std::string_view where);

// Reads and writes of one slice's rows: values that go from a shard to its I/O thread and back.
struct StoreRead {
  StoreSlice slice;
  std::vector<RowId> rows;
  std::vector<std::byte> records;  // rows x slice.record_bytes, filled by the store
  std::vector<size_t> missing;     // indices of rows that are not stored, ascending
};

struct StoreWrite {
  StoreSlice slice;
  std::vector<RowId> rows;         // unique
  std::vector<std::byte> records;  // rows x slice.record_bytes
};

}  // namespace rowhouse
