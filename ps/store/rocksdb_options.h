// How RocksDB is set up for rows: chosen by measurement. docs/storage.md ("Store") has what the
// alternatives came to, measured once; what was chosen `rowhouse bench tier` measures anew.
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

// `number`: of the store among those of its environment, so that not all flush at once.
rocksdb::ColumnFamilyOptions RowFamilyOptions(const StoreEnvironment& environment, size_t number);
// `path`: of its files, for the log.
rocksdb::DBOptions RowDatabaseOptions(const StoreEnvironment& environment, const std::string& path);

// Flushes and compactions of a column family that are due or, of the whole database, under way.
uint64_t BackgroundJobs(rocksdb::DB& db, rocksdb::ColumnFamilyHandle* family);

}  // namespace rowhouse
