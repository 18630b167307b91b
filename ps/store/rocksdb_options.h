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

// How many flushes and compactions are due in the column family, plus how many are under way in the
// whole database.
uint64_t BackgroundJobs(rocksdb::DB& db, rocksdb::ColumnFamilyHandle* family);

}  // namespace rowhouse
