// RowDatabase: a RocksDB database that holds rows: opened and closed, which rows it has, and what
// it says of itself. How rows are read and written: engines/rocksdb.cc.
//
// Threads: any.
#pragma once

#include <rocksdb/compaction_filter.h>
#include <rocksdb/db.h>
#include <rocksdb/status.h>

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/status.h"
#include "ps/store/rocksdb_events.h"
#include "ps/store/rocksdb_files.h"
#include "ps/store/row_store.h"
#include "ps/store/store_environment.h"

namespace rowhouse {

// What RocksDB's errors mean to an operator: the Status of an operation `what` on the database in
// `path`: kResourceExhausted for a full disk, kCorruption for damage, else kIoError.
Status Translate(const rocksdb::Status& status, const std::string& path, std::string_view what);

// Of opening it: kUsage for what the operator can mend.
Status TranslateOpen(const rocksdb::Status& status, const std::string& path);

// RocksDB takes no lock for reading, and would see files vanish: kUsage if another process has the
// database open for writing. This only queries the lock, so that several may read. (Closing the
// file would drop a lock of this process, which must not have the rows open.)
Status CheckNotInUse(const std::string& path);

class RowDatabase {
 public:
  // One that is read-only, is not to be made, or stays settled, as `options` say. Errors as
  // RowStores().
  static Result<std::unique_ptr<RowDatabase>> Open(const RowStoreOptions& options,
                                                   const std::shared_ptr<RocksDbEvents>& events);
  // Flushes what is left.
  ~RowDatabase();
  RowDatabase(const RowDatabase&) = delete;
  RowDatabase& operator=(const RowDatabase&) = delete;

  rocksdb::DB& db() const { return *db_; }
  rocksdb::ColumnFamilyHandle* rows() const { return rows_; }

  RowFiles files() const { return RowFilesOf(*db_, rows_); }
  // RowStore::stamp and the like.
  std::string stamp() const { return StampOf(files()); }
  std::vector<RowStoreLevel> levels() const;
  Result<std::string> compression() const;
  Status Verify(const RowStore::NameOfTable& name_of) const;

  // kCorruption if the rows have another stamp.
  Status CheckStamp(const std::string& expected) const;
  // RowStoreOptions::keeps_only, with which it was opened.
  Status KeepOnly(std::span<const RowRange> ranges) const;

  uint64_t RowsInMemory() const;
  // Of one of the family of rows; 0 if it is not known.
  uint64_t Property(const std::string& name) const;

 private:
  explicit RowDatabase(std::string path) : path_(std::move(path)) {}

  const std::string path_;
  std::unique_ptr<rocksdb::CompactionFilter> kept_;  // null: all keys are
  std::unique_ptr<rocksdb::DB> db_;
  rocksdb::ColumnFamilyHandle* default_ = nullptr;
  rocksdb::ColumnFamilyHandle* rows_ = nullptr;
};

// The functions below keep some ranges of rows of a database and remove all other rows, writing
// little: files without kept rows are deleted; files that have both kinds are rewritten, each alone
// in its level. That is about one file a level at each end of a range. (DB::DeleteRange leaves
// marks, which compactions carry down through all levels, rewriting most of what lies below.)
// Threads: one a database.

// A filter with which compactions drop all keys outside the ranges. Ranges ascend and do not
// overlap. The filter must outlive the database.
std::unique_ptr<rocksdb::CompactionFilter> MakeKeptKeys(std::span<const RowRange> ranges);

// Requires a database that was opened with that filter, does not compact by itself and has nothing
// in its memtables. When this returns OK the other rows are gone for good; after an error some are.
Status RemoveOtherKeys(rocksdb::DB& db, rocksdb::ColumnFamilyHandle* rows, const std::string& path,
                       std::span<const RowRange> ranges);

}  // namespace rowhouse
