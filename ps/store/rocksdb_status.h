// What RocksDB's errors mean to an operator, and whether somebody else has a database open.
//
// Threads: pure functions, but for the file that CheckNotInUse looks at.
#pragma once

#include <rocksdb/status.h>

#include <string>
#include <string_view>

#include "common/status.h"

namespace rowhouse {

// The Status of an operation `what` on the database in `path`: kResourceExhausted for a full disk,
// kCorruption for damage, else kIoError.
Status Translate(const rocksdb::Status& status, const std::string& path, std::string_view what);

// Of opening it: kUsage for what the operator can mend.
Status TranslateOpen(const rocksdb::Status& status, const std::string& path);

// RocksDB takes no lock for reading, and would see files vanish: kUsage if another process has the
// database open for writing. This only queries the lock, so that several may read. (Closing the
// file would drop a lock of this process, which must not have the rows open.)
Status CheckNotInUse(const std::string& path);

}  // namespace rowhouse
