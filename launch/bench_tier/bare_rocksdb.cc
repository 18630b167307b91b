#include "launch/bench_tier/bare_rocksdb.h"

#include <rocksdb/db.h>
#include <rocksdb/write_batch.h>

#include <algorithm>
#include <cstring>

#include "ps/store/rocksdb_options.h"
#include "ps/store/store_key.h"

namespace rowhouse {
namespace {

constexpr size_t kMinKeys = 8, kSliceKeys = 256;  // of one MultiGet, as in the product

Status Failed(const rocksdb::Status& status, const char* what) {
  if (status.ok()) return OkStatus();
  return IoError("bare RocksDB: {}: {}", what, status.ToString());
}

rocksdb::WriteOptions WithoutLog() {
  rocksdb::WriteOptions options;
  options.disableWAL = true;
  return options;
}

// What an optimizer would do, as cheaply as can be.
void Change(std::span<float> weights) {
  for (float& weight : weights) weight -= 0.005f;
}

}  // namespace

Result<std::unique_ptr<BareRocksDb>> BareRocksDb::Open(const std::string& path,
                                                       const StoreEnvironmentOptions& options) {
  std::unique_ptr<BareRocksDb> bare(new BareRocksDb(options));
  const rocksdb::ColumnFamilyOptions family = RowFamilyOptions(bare->environment_, 0);
  rocksdb::DB* db = nullptr;
  RETURN_IF_ERROR(
      Failed(rocksdb::DB::Open(RowDatabaseOptions(bare->environment_, path), path,
                               {{"default", family}, {"rows", family}}, &bare->families_, &db),
             "open"));
  bare->db_.reset(db);
  return bare;
}

BareRocksDb::BareRocksDb(const StoreEnvironmentOptions& options) : environment_(options) {}

BareRocksDb::~BareRocksDb() {
  if (db_ == nullptr) return;
  for (auto* family : families_) (void)db_->DestroyColumnFamilyHandle(family);
  (void)db_->Close();
}

Status BareRocksDb::Read(const StoreSlice& slice, std::span<const RowId> rows) {
  const size_t floats = slice.record_bytes / sizeof(float);
  records_.resize(rows.size() * floats);
  const size_t slice_rows = environment_.reads().RowsOfCall(rows.size(), kMinKeys, kSliceKeys);
  const size_t slices = (rows.size() + slice_rows - 1) / slice_rows;
  std::vector<Status> results(slices);
  environment_.reads().Run(slices, [&](size_t, size_t s) {
    const size_t first = s * slice_rows, n = std::min(slice_rows, rows.size() - first);
    std::vector<StoreKey::Encoded> keys(n);
    std::vector<rocksdb::Slice> key_slices(n);
    std::vector<rocksdb::PinnableSlice> values(n);
    std::vector<rocksdb::Status> statuses(n);
    for (size_t k = 0; k < n; ++k) {
      keys[k] = StoreKey{slice.table, rows[first + k], slice.first_column}.Encode();
      key_slices[k] = rocksdb::Slice(keys[k].data(), StoreKey::kBytes);
    }
    db_->MultiGet({}, families_[1], n, key_slices.data(), values.data(), statuses.data(),
                  /*sorted_input=*/true);
    for (size_t k = 0; k < n; ++k) {
      if (!statuses[k].ok()) results[s] = Failed(statuses[k], "read");
      if (!results[s].ok()) return;
      std::memcpy(records_.data() + (first + k) * floats, values[k].data(), slice.record_bytes);
    }
  });
  for (const Status& result : results) RETURN_IF_ERROR(result);
  return OkStatus();
}

Status BareRocksDb::ChangeSorted(const StoreSlice& slice, std::span<const RowId> rows) {
  RETURN_IF_ERROR(Read(slice, rows));
  const size_t floats = slice.record_bytes / sizeof(float);
  rocksdb::WriteBatch batch;
  for (size_t i = 0; i < rows.size(); ++i) {
    float* record = records_.data() + i * floats;
    Change({record, floats - 4});  // All but the trailer.
    const StoreKey::Encoded key = StoreKey{slice.table, rows[i], slice.first_column}.Encode();
    RETURN_IF_ERROR(
        Failed(batch.Put(families_[1], rocksdb::Slice(key.data(), StoreKey::kBytes),
                         rocksdb::Slice(reinterpret_cast<const char*>(record), slice.record_bytes)),
               "put"));
  }
  return Failed(db_->Write(WithoutLog(), &batch), "write");
}

Status BareRocksDb::ChangeEach(const StoreSlice& slice, std::span<const RowId> rows) {
  std::string value;
  std::vector<float> record(slice.record_bytes / sizeof(float));
  for (const RowId row : rows) {
    const StoreKey::Encoded encoded = StoreKey{slice.table, row, slice.first_column}.Encode();
    const rocksdb::Slice key(encoded.data(), StoreKey::kBytes);
    RETURN_IF_ERROR(Failed(db_->Get({}, families_[1], key, &value), "read"));
    std::memcpy(record.data(), value.data(), slice.record_bytes);
    Change(std::span(record).first(record.size() - 4));
    std::memcpy(value.data(), record.data(), slice.record_bytes);
    RETURN_IF_ERROR(Failed(db_->Put(WithoutLog(), families_[1], key, value), "write"));
  }
  return OkStatus();
}

}  // namespace rowhouse
