// Some ranges of rows of a database are kept, and all others removed, by way of few bytes: files
// without kept rows are deleted, and of the others those that have removed rows, too, are
// rewritten, each by itself in its level. So about one file a level is rewritten at each end of a
// range. (Marks of removed ranges, DB::DeleteRange, would be compacted through all levels, with
// most of what lies below.)
//
// Threads: one a database.
#pragma once

#include <rocksdb/compaction_filter.h>
#include <rocksdb/db.h>

#include <memory>
#include <span>
#include <string>

#include "common/status.h"
#include "ps/store/row_store.h"

namespace rowhouse {

// Passes over all keys but those of the ranges, which ascend and do not overlap. It is to outlive
// the database.
std::unique_ptr<rocksdb::CompactionFilter> MakeKeptKeys(std::span<const RowRange> ranges);

// The database has been opened with that filter and does not compact by itself; nothing is in
// memory. When this returns OK the other rows are gone, for good. After an error some may be.
Status RemoveOtherKeys(rocksdb::DB& db, rocksdb::ColumnFamilyHandle* rows, const std::string& path,
                       std::span<const RowRange> ranges);

}  // namespace rowhouse
