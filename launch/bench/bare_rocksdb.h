// BareRocksDb: the yardstick of the storage tier: a program that keeps rows in RocksDB, set up as
// ours is, with the memory of our row cache as its block cache, and reads, changes and writes the
// rows of each batch.
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
  // Of the rows a RowStore "rocksdb" left in `path`.
  static Result<std::unique_ptr<BareRocksDb>> Open(const std::string& path,
                                                   const StoreEnvironmentOptions& options);
  ~BareRocksDb();

  // Reads the rows by MultiGet, adds to their weights, and writes them back by one batch. Rows
  // ascend, each once.
  Status ChangeSorted(const StoreSlice& slice, std::span<const RowId> rows);
  Status Read(const StoreSlice& slice, std::span<const RowId> rows);
  // The same one by one, as they come.
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
