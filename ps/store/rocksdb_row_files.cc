#include "ps/store/rocksdb_row_files.h"

#include <rocksdb/sst_file_writer.h>

#include <cstring>

#include "common/digest.h"
#include "ps/store/rocksdb_database.h"

namespace rowhouse {
namespace {

rocksdb::ReadOptions OptionsOfScan() {
  rocksdb::ReadOptions options;
  options.verify_checksums = true;
  options.fill_cache = false;  // A scan reads everything once; the rows of pulls should stay.
  // For each open file: many shards may be scanned at once, each with a dozen files.
  options.readahead_size = size_t{256} << 10;
  return options;
}

class Writer final : public RowFileWriter {
 public:
  Writer(const rocksdb::Options& options, std::string path)
      : path_(std::move(path)), file_(rocksdb::EnvOptions(options), options) {}

  Status Open() { return Translate(file_.Open(path_), path_, "make"); }

  Status Add(TableId table, RowId row, uint16_t first_column,
             std::span<const std::byte> record) override {
    const StoreKey::Encoded key = StoreKey{table, row, first_column}.Encode();
    const rocksdb::Slice value(reinterpret_cast<const char*>(record.data()), record.size());
    return Translate(file_.Put(SliceOf(key), value), path_, "write");
  }

  uint64_t bytes() const override { return const_cast<rocksdb::SstFileWriter&>(file_).FileSize(); }

  Result<RowFile> Finish() override {
    rocksdb::ExternalSstFileInfo made;
    RETURN_IF_ERROR(Translate(file_.Finish(&made), path_, "write"));
    return RowFile{.path = path_, .bytes = made.file_size, .checksum = made.file_checksum};
  }

 private:
  const std::string path_;
  rocksdb::SstFileWriter file_;
};

}  // namespace

KeyRange KeysOf(const RowRange& range) {
  return {.begin = StoreKey{range.table, range.first, 0}.Encode(),
          .end = StoreKey{range.table, range.end, 0}.Encode()};
}

RocksDbCursor::RocksDbCursor(rocksdb::DB& db, rocksdb::ColumnFamilyHandle* rows, std::string path,
                             const std::optional<KeyRange>& range)
    : path_(std::move(path)), range_(range) {
  rocksdb::ReadOptions options = OptionsOfScan();
  if (range_) {
    end_ = SliceOf(range_->end);
    options.iterate_upper_bound = &end_;
  }
  at_.reset(db.NewIterator(options, rows));
  if (range_) {
    at_->Seek(SliceOf(range_->begin));
  } else {
    at_->SeekToFirst();
  }
  Read();
}

void RocksDbCursor::Next() {
  at_->Next();
  Read();
}

void RocksDbCursor::Read() {
  is_valid_ = at_->Valid();
  if (!is_valid_) {
    status_ = Translate(at_->status(), path_, "scan");
    return;
  }
  if (at_->key().size() != StoreKey::kBytes) {
    is_valid_ = false;
    status_ = CorruptionError("row directory {}: a key of {} bytes where {} are due", path_,
                              at_->key().size(), StoreKey::kBytes);
    return;
  }
  key_ = StoreKey::Decode(at_->key().data());
  // A value may have any address; records are read as floats.
  record_.resize(at_->value().size());
  std::memcpy(record_.data(), at_->value().data(), record_.size());
}

uint64_t BytesOfRange(rocksdb::DB& db, rocksdb::ColumnFamilyHandle* rows, const RowRange& range) {
  const KeyRange keys = KeysOf(range);
  const rocksdb::Range of(SliceOf(keys.begin), SliceOf(keys.end));
  uint64_t bytes = 0;
  (void)db.GetApproximateSizes({}, rows, &of, 1, &bytes);  // 0 if it is not known.
  return bytes;
}

Result<std::unique_ptr<RowFileWriter>> MakeRowFileWriter(const rocksdb::Options& options,
                                                         const std::string& path) {
  auto writer = std::make_unique<Writer>(options, path);
  RETURN_IF_ERROR(writer->Open());
  return std::unique_ptr<RowFileWriter>(std::move(writer));
}

Status IngestRowFiles(rocksdb::DB& db, rocksdb::ColumnFamilyHandle* rows, const std::string& path,
                      std::span<const RowFile> files) {
  if (files.empty()) return OkStatus();
  rocksdb::IngestExternalFileArg arg;
  arg.column_family = rows;
  arg.options.move_files = true;
  // The bytes of a file stay those of its checksum.
  arg.options.write_global_seqno = false;
  // RocksDB reads the last key before it compares checksums, and aborts if its block is damaged. So
  // they are compared here, and not again there.
  arg.options.verify_file_checksum = false;
  for (const RowFile& file : files) {
    RETURN_IF_ERROR(CheckFile(file.path, file.bytes, file.checksum));
    arg.external_files.push_back(file.path);
    arg.files_checksums.push_back(file.checksum);
    arg.files_checksum_func_names.push_back(RowFileChecksumName());
  }
  return Translate(db.IngestExternalFiles({arg}), path, "take over files of rows");
}

}  // namespace rowhouse
