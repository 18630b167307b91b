#include "ps/store/rocksdb_database.h"

#include <fcntl.h>
#include <rocksdb/table_properties.h>
#include <unistd.h>

#include <algorithm>

#include "ps/store/in_use.h"
#include "ps/store/rocksdb_kept_keys.h"
#include "ps/store/rocksdb_options.h"

namespace rowhouse {
namespace {

// RocksDB reports the errno of a system call only as text.
bool Mentions(const rocksdb::Status& status, std::string_view text) {
  return status.ToString().find(text) != std::string::npos;
}

Status InUse(const std::string& path) {
  return UsageError(
      "row directory {} {} (its LOCK is held); wait until that has ended, or give another "
      "--row_dir",
      path, kInUseByAnother);
}

}  // namespace

Status Translate(const rocksdb::Status& status, const std::string& path, std::string_view what) {
  if (status.ok()) return OkStatus();
  if (status.IsNoSpace()) {
    // From here on RocksDB refuses writes; see MakeRoom. Earlier Puts stay in memory until then.
    return MakeStatus(StatusCode::kResourceExhausted, "row directory {}: {}: the disk is full: {}",
                      path, what, status.ToString());
  }
  const StatusCode code = status.IsCorruption() ? StatusCode::kCorruption : StatusCode::kIoError;
  return MakeStatus(code, "row directory {}: {}: {}{}", path, what, status.ToString(),
                    Mentions(status, "File too large")
                        ? ", by the limit of the shell (ulimit -f) or of the file system"
                        : "");
}

Status CheckNotInUse(const std::string& path) {
  const int fd = ::open((path + "/LOCK").c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return OkStatus();  // Never locked, or opening will report the error.
  struct flock lock = {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  const bool is_held = fcntl(fd, F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
  ::close(fd);
  return is_held ? InUse(path) : OkStatus();
}

Status TranslateOpen(const rocksdb::Status& status, const std::string& path) {
  if (status.IsIOError() && Mentions(status, "LOCK: Resource temporarily unavailable")) {
    return InUse(path);
  }
  if (status.IsIOError() && Mentions(status, "lock hold by current process")) {
    return UsageError("row directory {} is in use by this process already (its LOCK is held): {}",
                      path, status.ToString());
  }
  if (status.IsInvalidArgument()) {
    return UsageError("row directory {} holds a RocksDB database that is not ours: {}", path,
                      status.ToString());
  }
  const Status translated = Translate(status, path, "open");
  if (Mentions(status, "Permission denied") || Mentions(status, "Read-only file system")) {
    return UsageError("{}", translated.message());
  }
  return translated;
}

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
  auto kept = given.keeps_only.empty() ? nullptr : MakeKeptKeys(given.keeps_only);
  family.compaction_filter = kept.get();
  const std::vector<rocksdb::ColumnFamilyDescriptor> families = {
      {rocksdb::kDefaultColumnFamilyName, family}, {kRowsFamily, family}};
  std::vector<rocksdb::ColumnFamilyHandle*> handles;
  rocksdb::DB* db = nullptr;
  const rocksdb::Status opened =
      given.read_only ? rocksdb::DB::OpenForReadOnly(options, given.path, families, &handles, &db)
                      : rocksdb::DB::Open(options, given.path, families, &handles, &db);
  if (!opened.ok()) return TranslateOpen(opened, given.path);
  std::unique_ptr<RowDatabase> database(new RowDatabase(given.path));
  database->kept_ = std::move(kept);
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

Status RowDatabase::KeepOnly(std::span<const RowRange> ranges) const {
  return RemoveOtherKeys(*db_, rows_, path_, ranges);
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
