#include "ps/store/rocksdb_files.h"

#include <algorithm>
#include <iterator>

#include "common/digest.h"
#include "ps/store/store_key.h"

namespace rowhouse {
namespace {

constexpr const char* kFunction = "xxh3_128";

class Generator final : public rocksdb::FileChecksumGenerator {
 public:
  void Update(const char* data, size_t size) override { digester_.Add({data, size}); }
  void Finalize() override {}
  std::string GetChecksum() const override { return digester_.hex(); }
  const char* Name() const override { return kFunction; }

 private:
  Digester digester_;
};

class Factory final : public rocksdb::FileChecksumGenFactory {
 public:
  // Null where RocksDB asks for another function's checksum.
  std::unique_ptr<rocksdb::FileChecksumGenerator> CreateFileChecksumGenerator(
      const rocksdb::FileChecksumGenContext& context) override {
    const std::string& asked = context.requested_checksum_func_name;
    if (!asked.empty() && asked != kFunction) return nullptr;
    return std::make_unique<Generator>();
  }
  const char* Name() const override { return "RowFileChecksums"; }
};

// "table user", "tables user to item".
std::string TablesIn(const rocksdb::SstFileMetaData& file, const RowStore::NameOfTable& name_of) {
  if (file.smallestkey.size() != StoreKey::kBytes || file.largestkey.size() != StoreKey::kBytes) {
    return "no known table";
  }
  const TableId first = StoreKey::Decode(file.smallestkey.data()).table;
  const TableId last = StoreKey::Decode(file.largestkey.data()).table;
  return first == last ? "table " + name_of(first)
                       : fmt::format("tables {} to {}", name_of(first), name_of(last));
}

}  // namespace

std::shared_ptr<rocksdb::FileChecksumGenFactory> RowFileChecksums() {
  static const auto factory = std::make_shared<Factory>();
  return factory;
}

const char* RowFileChecksumName() { return kFunction; }

RowFiles RowFilesOf(rocksdb::DB& db, rocksdb::ColumnFamilyHandle* family) {
  rocksdb::ColumnFamilyMetaData data;
  db.GetColumnFamilyMetaData(family, &data);
  RowFiles files;
  for (rocksdb::LevelMetaData& level : data.levels) {
    std::move(level.files.begin(), level.files.end(), std::back_inserter(files));
  }
  std::ranges::sort(files, {}, &rocksdb::SstFileMetaData::relative_filename);
  return files;
}

std::string StampOf(const RowFiles& files) {
  Digester digester;
  for (const rocksdb::SstFileMetaData& file : files) {
    digester.Add(fmt::format("{} {} {}\n", file.relative_filename, file.size, file.file_checksum));
  }
  return digester.hex();
}

Status VerifyRowFiles(const RowFiles& files, const std::string& directory,
                      const RowStore::NameOfTable& name_of) {
  std::string damaged;
  for (const rocksdb::SstFileMetaData& file : files) {
    const Status status =
        CheckFile(directory + "/" + file.relative_filename, file.size, file.file_checksum);
    if (status.ok()) continue;
    damaged += fmt::format("; {} (rows of {})", status.message(), TablesIn(file, name_of));
  }
  return damaged.empty() ? OkStatus() : CorruptionError("{}", damaged.substr(2));
}

}  // namespace rowhouse
