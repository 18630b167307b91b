// RowStore: the rows of one shard at rest: records of fixed width per table, by row id.
// It is the last stop of a pull (cache, then store) and knows nothing of optimizers or wire.
//
// Threads:    one thread at a time (the shard's I/O thread); a RowStore needs no lock.
// Order:      a Get sees every Put that returned before it.
// Durability: what was Put before a Sync() that returned OK survives a crash, all of it.
// Invariant:  a record has exactly the bytes its slice says; any other size is kCorruption.
// To add one, write ps/stores/<name>.cc; it registers itself here.
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

class StoreEnvironment;  // what all stores of a process share; see ps/store_environment.h

// The part of a table a store keeps: all of its columns from `first_column` on.
struct StoreSlice {
  TableId table{};
  uint16_t first_column = 0;
  uint32_t record_bytes = 0;
};

struct RowStoreOptions {
  std::string path;        // directory this store owns, made if missing; "" for `memory`
  bool read_only = false;  // open what is there for reading; Put is a programmer's mistake
  // RocksDB: shared block cache, write-buffer manager and threads. Null: the store makes its own.
  std::shared_ptr<StoreEnvironment> environment;
};

// What a store has done since it was opened.
struct RowStoreCounters {
  uint64_t rows_read = 0;     // asked for by Get, found or not
  uint64_t rows_written = 0;  // by Puts that returned OK
  uint64_t stalls = 0;        // Puts that had to wait for flush or compaction
  uint64_t stall_ms = 0;      // for how long, together
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
  // disk is full; nothing is written then and the same Put may be tried again.
  virtual Status Put(const StoreSlice& slice, std::span<const RowId> rows,
                     std::span<const std::byte> records) = 0;

  // Makes everything Put so far survive a crash of process or machine.
  virtual Status Sync() = 0;

  // Calls visit(table, row, first_column, record) for every record in key order: table, row,
  // first column. Stops at the first error, which it returns. `visit` must not call this store.
  using Visitor = std::function<Status(TableId, RowId, uint16_t, std::span<const std::byte>)>;
  virtual Status Scan(const Visitor& visit) = 0;

  // May be called from any thread. Wrappers need not count.
  virtual RowStoreCounters counters() const { return {}; }
};

Registry<RowStore, RowStoreOptions>& RowStores();

// The kCorruption every store returns for a record that is not slice.record_bytes long. `where`
// is the store's path.
Status WrongRecordSize(const StoreSlice& slice, RowId row, size_t found_bytes,
                       std::string_view where);

}  // namespace rowhouse
