#include "ps/store/row_store.h"

namespace rowhouse {

StoreRegistry& RowStores() {
  static StoreRegistry registry("row store");
  return registry;
}

double RowStoreCounters::read_amplification() const {
  if (bytes_read == 0) return 0.0;
  return static_cast<double>(file_bytes_read) / static_cast<double>(bytes_read);
}

double RowStoreCounters::write_amplification() const {
  if (bytes_written == 0) return 0.0;
  return static_cast<double>(bytes_flushed + bytes_compacted) / static_cast<double>(bytes_written);
}

Status RowStore::ScanRows(TableId table, RowId first, RowId end, const Visitor& visit) {
  return Scan([&](TableId of, RowId row, uint16_t first_column,
                  std::span<const std::byte> record) -> Status {
    if (of != table || row < first || row >= end) return OkStatus();
    return visit(of, row, first_column, record);
  });
}

Status WrongRecordSize(const StoreSlice& slice, RowId row, size_t found_bytes,
                       std::string_view where) {
  return CorruptionError("{}: table {} row {} column {}: a record of {} bytes where {} are due",
                         where, Raw(slice.table), Raw(row), slice.first_column, found_bytes,
                         slice.record_bytes);
}

namespace {

Status HasNoFiles() {
  return UsageError(
      "rows of this store are in memory and cannot be moved; keep them with "
      "--store=rocksdb");
}

}  // namespace

Result<std::unique_ptr<RowCursor>> RowStore::Cursor(const RowRange& /*range*/) const {
  return HasNoFiles();
}

Result<std::unique_ptr<RowFileWriter>> RowStore::NewRowFile(const std::string& /*path*/) const {
  return HasNoFiles();
}

Status RowStore::Ingest(std::span<const RowFile> /*files*/) { return HasNoFiles(); }

Result<std::string> RowStore::Checkpoint(const std::string& directory) {
  return UsageError(
      "no checkpoint in {}: rows of this store do not outlive the run; keep them with "
      "--store=rocksdb, or leave --save_every out",
      directory);
}

}  // namespace rowhouse
