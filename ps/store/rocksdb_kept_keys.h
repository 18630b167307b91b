// Keeps some ranges of rows of a database and removes all other rows, writing little: files without
// kept rows are deleted; files that have both kinds are rewritten, each alone in its level. That is
// about one file a level at each end of a range. (DB::DeleteRange leaves marks, which compactions
// carry down through all levels, rewriting most of what lies below.)
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

// A filter with which compactions drop all keys outside the ranges. Ranges ascend and do not
// overlap. The filter must outlive the database.
std::unique_ptr<rocksdb::CompactionFilter> MakeKeptKeys(std::span<const RowRange> ranges);

// Requires a database that was opened with that filter, does not compact by itself and has nothing
// in its memtables. When this returns OK the other rows are gone for good; after an error some are.
Status RemoveOtherKeys(rocksdb::DB& db, rocksdb::ColumnFamilyHandle* rows, const std::string& path,
                       std::span<const RowRange> ranges);

}  // namespace rowhouse
