// How RocksDB is set up for rows: chosen by measurement, the figures and the command that
// reprints them are in docs/storage.md.
//
// Threads: pure functions.
#pragma once

#include <rocksdb/options.h>

#include <cstddef>
#include <string>

#include "ps/store_environment.h"

namespace rowhouse {

// `number`: of the store among those of its environment, so that not all flush at once.
rocksdb::ColumnFamilyOptions RowFamilyOptions(const StoreEnvironment& environment, size_t number);
// `path`: of its files, for the log.
rocksdb::DBOptions RowDatabaseOptions(const StoreEnvironment& environment, const std::string& path);

}  // namespace rowhouse
