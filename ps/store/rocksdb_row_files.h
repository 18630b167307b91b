// Rows on their way between RocksDB databases: read by key, and written as sorted files that a
// database takes over as its own.
//
// Threads: any; one a cursor and a writer.
#pragma once

#include <rocksdb/db.h>
#include <rocksdb/options.h>

#include <memory>
#include <optional>
#include <span>
#include <string>

#include "common/status.h"
#include "ps/store/row_store.h"
#include "ps/store/store_key.h"

namespace rowhouse {

struct KeyRange {
  StoreKey::Encoded begin, end;
};
KeyRange KeysOf(const RowRange& range);
inline rocksdb::Slice SliceOf(const StoreKey::Encoded& key) { return {key.data(), key.size()}; }

// All records, or those of a range, by key. `path`: the database's, for errors.
class RocksDbCursor final : public RowCursor {
 public:
  RocksDbCursor(rocksdb::DB& db, rocksdb::ColumnFamilyHandle* rows, std::string path,
                const std::optional<KeyRange>& range);

  bool IsValid() const override { return is_valid_; }
  void Next() override;
  const StoreKey& key() const { return key_; }
  RowId row() const override { return key_.row; }
  uint16_t first_column() const override { return key_.first_column; }
  std::span<const std::byte> record() const override { return record_; }
  Status status() const override { return status_; }

 private:
  void Read();

  const std::string path_;
  std::optional<KeyRange> range_;
  rocksdb::Slice end_;
  std::unique_ptr<rocksdb::Iterator> at_;
  bool is_valid_ = false;
  StoreKey key_;
  std::vector<std::byte> record_;
  Status status_;
};

uint64_t BytesOfRange(rocksdb::DB& db, rocksdb::ColumnFamilyHandle* rows, const RowRange& range);

// With the options of the database and family that will take the file over.
Result<std::unique_ptr<RowFileWriter>> MakeRowFileWriter(const rocksdb::Options& options,
                                                         const std::string& path);

Status IngestRowFiles(rocksdb::DB& db, rocksdb::ColumnFamilyHandle* rows, const std::string& path,
                      std::span<const RowFile> files);

}  // namespace rowhouse
