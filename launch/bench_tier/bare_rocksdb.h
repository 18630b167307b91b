// BareRocksDb: the yardstick of the storage tier: RocksDB without a row cache, set up as the store,
// with the row cache's memory as block cache; it reads, changes and writes the rows of each batch.
//
// Threads: one; it may read by several (StoreEnvironmentOptions::read_threads).
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "common/status.h"
#include "ps/store/rocksdb_options.h"
#include "ps/store/row_store.h"
#include "ps/store/store_environment.h"

namespace rocksdb {
class ColumnFamilyHandle;
class DB;
}  // namespace rocksdb

namespace rowhouse {

class BareRocksDb {
 public:
  // Opens the rows that a RowStore "rocksdb" wrote in `path`.
  static Result<std::unique_ptr<BareRocksDb>> Open(const std::string& path,
                                                   const StoreEnvironmentOptions& options);
  ~BareRocksDb();

  // Reads the rows by MultiGet, adds to their weights, and writes them back by one batch. Rows
  // ascend, each once.
  Status ChangeSorted(const StoreSlice& slice, std::span<const RowId> rows);
  Status Read(const StoreSlice& slice, std::span<const RowId> rows);
  // Reads, changes and writes the rows one by one, in the order given.
  Status ChangeEach(const StoreSlice& slice, std::span<const RowId> rows);
  uint64_t background_jobs() const { return BackgroundJobs(*db_, families_[1]); }

 private:
  explicit BareRocksDb(const StoreEnvironmentOptions& options);

  StoreEnvironment environment_;
  std::unique_ptr<rocksdb::DB> db_;
  std::vector<rocksdb::ColumnFamilyHandle*> families_;
  std::vector<float> records_;
};

}  // namespace rowhouse
