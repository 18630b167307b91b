#include "ps/store/rocksdb_database.h"

#include <rocksdb/table_properties.h>

#include <algorithm>

#include "ps/store/rocksdb_options.h"
#include "ps/store/rocksdb_status.h"

namespace rowhouse {
namespace {

constexpr char kRowsFamily[] = "rows";

}  // namespace

Result<std::unique_ptr<RowDatabase>> RowDatabase::Open(
    const RowStoreOptions& given, const std::shared_ptr<RocksDbEvents>& events) {
  StoreEnvironment& environment = *given.environment;
  rocksdb::DBOptions options = RowDatabaseOptions(environment, given.path);
  options.listeners.push_back(events);
  options.create_if_missing = given.creates;
  rocksdb::ColumnFamilyOptions family =
      RowFamilyOptions(environment, environment.NextStoreNumber());
  family.disable_auto_compactions = !given.expected_stamp.empty();
  const std::vector<rocksdb::ColumnFamilyDescriptor> families = {
      {rocksdb::kDefaultColumnFamilyName, family}, {kRowsFamily, family}};
  std::vector<rocksdb::ColumnFamilyHandle*> handles;
  rocksdb::DB* db = nullptr;
  const rocksdb::Status opened =
      given.read_only ? rocksdb::DB::OpenForReadOnly(options, given.path, families, &handles, &db)
                      : rocksdb::DB::Open(options, given.path, families, &handles, &db);
  if (!opened.ok()) return TranslateOpen(opened, given.path);
  std::unique_ptr<RowDatabase> database(new RowDatabase(given.path));
  database->db_.reset(db);
  database->default_ = handles[0];
  database->rows_ = handles[1];
  return database;
}

RowDatabase::~RowDatabase() {
  for (auto* family : {rows_, default_}) (void)db_->DestroyColumnFamilyHandle(family);
  const rocksdb::Status closed = db_->Close();
  LOG_IF(WARNING, !closed.ok()) << Translate(closed, path_, "close").message();
}

std::vector<RowStoreLevel> RowDatabase::levels() const {
  rocksdb::ColumnFamilyMetaData data;
  db_->GetColumnFamilyMetaData(rows_, &data);
  std::vector<RowStoreLevel> levels;
  for (const rocksdb::LevelMetaData& level : data.levels) {
    if (level.files.empty()) continue;
    levels.push_back({.level = level.level, .files = level.files.size(), .bytes = level.size});
  }
  return levels;
}

Result<std::string> RowDatabase::compression() const {
  rocksdb::TablePropertiesCollection files;
  RETURN_IF_ERROR(Translate(db_->GetPropertiesOfAllTables(rows_, &files), path_, "properties"));
  const bool is_any = std::any_of(files.begin(), files.end(), [](const auto& file) {
    return file.second->compression_name == "ZSTD";
  });
  return std::string(is_any ? "zstd" : "none");
}

Status RowDatabase::Verify(const RowStore::NameOfTable& name_of) const {
  return VerifyRowFiles(files(), path_, name_of);
}

Status RowDatabase::CheckStamp(const std::string& expected) const {
  const std::string found = stamp();
  if (found != expected) {
    return CorruptionError(
        "row directory {}: these are not the rows that were saved there (their stamp is {}, and "
        "was "
        "{}): files were lost, or put there from another run or time",
        path_, found, expected);
  }
  // Opening replays a write-ahead log. Rowhouse writes none: these rows would be somebody else's.
  if (RowsInMemory() > 0) {
    return CorruptionError(
        "row directory {}: {} rows are in a log there, which is not this store's", path_,
        RowsInMemory());
  }
  return OkStatus();
}

uint64_t RowDatabase::Property(const std::string& name) const {
  uint64_t value = 0;
  (void)db_->GetIntProperty(rows_, name, &value);
  return value;
}

uint64_t RowDatabase::RowsInMemory() const {
  return Property(rocksdb::DB::Properties::kNumEntriesActiveMemTable) +
         Property(rocksdb::DB::Properties::kNumEntriesImmMemTables);
}

}  // namespace rowhouse
