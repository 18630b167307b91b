#include "ps/store/rocksdb_database.h"

#include <fcntl.h>
#include <rocksdb/convenience.h>
#include <rocksdb/table_properties.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

#include "ps/store/opening.h"
#include "ps/store/rocksdb_options.h"
#include "ps/store/rocksdb_row_files.h"

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

namespace {

// What the ranges leave of all keys.
std::vector<KeyRange> KeysBetween(std::span<const RowRange> ranges) {
  std::vector<KeyRange> between;
  StoreKey::Encoded begin = StoreKey{}.Encode();
  const auto add_until = [&](const StoreKey::Encoded& end) {
    if (begin != end) between.push_back({.begin = begin, .end = end});
  };
  for (const RowRange& range : ranges) {
    const KeyRange keys = KeysOf(range);
    add_until(keys.begin);
    begin = keys.end;
  }
  // The last key that there can be is no row's: no table has that many rows.
  add_until(StoreKey{TableId{UINT32_MAX}, RowId{UINT64_MAX}, UINT16_MAX}.Encode());
  return between;
}

class KeptKeys final : public rocksdb::CompactionFilter {
 public:
  explicit KeptKeys(std::vector<KeyRange> others) : others_(std::move(others)) {}
  const char* Name() const override { return "KeptKeys"; }
  // A key that is skipped leaves no mark, so that an older record of it would be seen again; but
  // RemoveOtherKeys comes to all files that have it.
  Decision FilterV2(int /*level*/, const rocksdb::Slice& key, ValueType /*type*/,
                    const rocksdb::Slice& /*value*/, std::string* /*new_value*/,
                    std::string* skip_until) const override {
    const auto other = std::ranges::partition_point(
        others_, [&](const KeyRange& keys) { return SliceOf(keys.end).compare(key) <= 0; });
    if (other == others_.end() || SliceOf(other->begin).compare(key) > 0) return Decision::kKeep;
    *skip_until = SliceOf(other->end).ToString();
    return Decision::kRemoveAndSkipUntil;
  }

 private:
  const std::vector<KeyRange> others_;
};

bool HasKeysOf(const rocksdb::SstFileMetaData& file, const KeyRange& keys) {
  return SliceOf(keys.end).compare(file.smallestkey) > 0 &&
         SliceOf(keys.begin).compare(file.largestkey) <= 0;
}

}  // namespace

std::unique_ptr<rocksdb::CompactionFilter> MakeKeptKeys(std::span<const RowRange> ranges) {
  return std::make_unique<KeptKeys>(KeysBetween(ranges));
}

Status RemoveOtherKeys(rocksdb::DB& db, rocksdb::ColumnFamilyHandle* rows, const std::string& path,
                       std::span<const RowRange> ranges) {
  std::vector<KeyRange> others = KeysBetween(ranges);
  std::vector<rocksdb::Slice> ends;
  std::vector<rocksdb::RangePtr> whole;
  ends.reserve(2 * others.size());  // Pointers stay.
  for (const KeyRange& keys : others) {
    ends.insert(ends.end(), {SliceOf(keys.begin), SliceOf(keys.end)});
    whole.emplace_back(&ends.end()[-2], &ends.end()[-1]);
  }
  RETURN_IF_ERROR(Translate(rocksdb::DeleteFilesInRanges(&db, rows, whole.data(), whole.size(),
                                                         /*include_end=*/false),
                            path, "delete files of other rows"));
  // Where no other row is left, as between two tables, a file may lie on both sides.
  std::erase_if(others, [&](const KeyRange& keys) {
    const RocksDbCursor left(db, rows, path, keys);
    return left.status().ok() && !left.IsValid();
  });
  rocksdb::ColumnFamilyMetaData data;
  db.GetColumnFamilyMetaData(rows, &data);
  rocksdb::CompactionOptions options;
  options.compression = rocksdb::kDisableCompressionOption;  // That is: as the family has it.
  for (const rocksdb::LevelMetaData& level : data.levels) {
    for (const rocksdb::SstFileMetaData& file : level.files) {
      const auto is_in_file = [&](const KeyRange& keys) { return HasKeysOf(file, keys); };
      if (std::ranges::none_of(others, is_in_file)) continue;
      RETURN_IF_ERROR(
          Translate(db.CompactFiles(options, rows, {file.relative_filename}, level.level), path,
                    "rewrite a file with other rows"));
    }
  }
  return OkStatus();
}

}  // namespace rowhouse
