// RocksDB's options for rows, chosen by measurement: docs/storage.md ("Store") compares the
// alternatives, `rowhouse bench tier` measures the chosen ones.
//
// Threads: any.
#pragma once

#include <rocksdb/db.h>
#include <rocksdb/options.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "ps/store/store_environment.h"

namespace rowhouse {

// `number`: of the store in its environment. The size of memtables depends on it, so that the
// stores of an environment flush at different times.
rocksdb::ColumnFamilyOptions RowFamilyOptions(const StoreEnvironment& environment, size_t number);
// `path`: of the files, for log messages.
rocksdb::DBOptions RowDatabaseOptions(const StoreEnvironment& environment, const std::string& path);

// Sizes of files for a store whose files have this many bytes, so that it has some hundreds of them
// whatever its size: each open file takes a descriptor and memory. What a compaction reads and
// writes at once, and needs on the disk meanwhile, grows with them.
struct RowFileSizes {
  uint64_t file_bytes = 0;        // about, of the largest
  uint64_t compaction_bytes = 0;  // at most, of one compaction
  // `min_file_bytes`: StoreEnvironmentOptions has it.
  static RowFileSizes Of(uint64_t store_bytes, uint64_t min_file_bytes);
};

// How many flushes and compactions are due in the column family, plus how many are under way in the
// whole database.
uint64_t BackgroundJobs(rocksdb::DB& db, rocksdb::ColumnFamilyHandle* family);

}  // namespace rowhouse
