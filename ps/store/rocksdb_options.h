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

// `number`: of the store in its environment; stores flush at different times by it.
rocksdb::ColumnFamilyOptions RowFamilyOptions(const StoreEnvironment& environment, size_t number);
// `path`: of the files, for log messages.
rocksdb::DBOptions RowDatabaseOptions(const StoreEnvironment& environment, const std::string& path);

// Flushes and compactions of a column family that are due or, of the whole database, under way.
uint64_t BackgroundJobs(rocksdb::DB& db, rocksdb::ColumnFamilyHandle* family);

}  // namespace rowhouse
