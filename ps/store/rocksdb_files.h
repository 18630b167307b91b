// The checksums of a store's files: XXH3-128, which RocksDB computes while it writes a file, keeps
// in its own MANIFEST, and gives with the list of files.
//
// Threads: as RocksDB calls them: any.
#pragma once

#include <rocksdb/db.h>
#include <rocksdb/file_checksum.h>
#include <rocksdb/metadata.h>

#include <memory>
#include <string>
#include <vector>

#include "common/status.h"
#include "ps/store/row_store.h"

namespace rowhouse {

std::shared_ptr<rocksdb::FileChecksumGenFactory> RowFileChecksums();
// RocksDB's name for them.
const char* RowFileChecksumName();

using RowFiles = std::vector<rocksdb::SstFileMetaData>;

// By name.
RowFiles RowFilesOf(rocksdb::DB& db, rocksdb::ColumnFamilyHandle* family);

// RowStore::stamp of these files.
std::string StampOf(const RowFiles& files);

// Reads the files in `directory`. kCorruption that names all damaged ones, and
// the tables whose rows they hold.
Status VerifyRowFiles(const RowFiles& files, const std::string& directory,
                      const RowStore::NameOfTable& name_of);

}  // namespace rowhouse
