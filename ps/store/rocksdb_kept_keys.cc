#include "ps/store/rocksdb_kept_keys.h"

#include <rocksdb/convenience.h>

#include <algorithm>
#include <vector>

#include "ps/store/rocksdb_database.h"
#include "ps/store/rocksdb_row_files.h"

namespace rowhouse {
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
  // The last key that there can be is no row's: no table has so many rows.
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
