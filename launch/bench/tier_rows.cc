#include "launch/bench/tier_rows.h"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "common/random.h"
#include "common/scatter.h"
#include "launch/bench/stop_signal.h"
#include "sharding/rows/record.h"

namespace rowhouse {
namespace {

namespace fs = std::filesystem;

constexpr const char* kKeptAs = "tier_rows";

}  // namespace

uint64_t BytesOfFiles(const std::string& directory) {
  uint64_t bytes = 0;
  std::error_code gone;  // Files come and go meanwhile.
  for (const auto& entry : fs::directory_iterator(directory, gone)) {
    std::error_code error;
    const uint64_t size = entry.file_size(error);
    if (!error) bytes += size;
  }
  return bytes;
}

Result<std::shared_ptr<TierRows>> TierRows::Of(const BenchOptions& options) {
  if (options.kept != nullptr && options.kept->contains(kKeptAs)) {
    return std::static_pointer_cast<TierRows>(options.kept->at(kKeptAs));
  }
  ASSIGN_OR_RETURN(auto directory, MakeTemporaryRows());
  std::shared_ptr<TierRows> rows(new TierRows(std::move(directory)));
  RETURN_IF_ERROR(rows->Fill());
  if (options.kept != nullptr) options.kept->emplace(kKeptAs, rows);
  return rows;
}

Status TierRows::Fill() {
  const std::string path = directory_->path() + "/filled";
  ASSIGN_OR_RETURN(const auto store, RowStores().Make("rocksdb", {.path = path}));
  const Scatter scatter(kRows, /*key=*/11);
  SplitMix64 bits(5);
  std::vector<RowId> rows(kBatchIds);
  std::vector<std::byte> records(kBatchIds * kRecordBytes);
  for (uint64_t first = 0; first < kRows; first += kBatchIds) {
    RETURN_IF_ERROR(StopSignal::Check());
    for (uint64_t i = 0; i < kBatchIds; ++i) rows[i] = RowId{scatter(first + i)};
    std::sort(rows.begin(), rows.end());
    for (size_t i = 0; i < kBatchIds; ++i) {
      std::byte* record = records.data() + i * kRecordBytes;
      for (uint32_t c = 0; c < kDim; ++c) {  // Mantissas of trained floats: noise.
        const float weight = static_cast<float>(bits.Next() >> 40) * 0x1p-24f - 0.5f;
        std::memcpy(record + c * sizeof(float), &weight, sizeof weight);
      }
      const RecordTrailer trailer{.lsn = 1, .last_step = 0, .frequency = 1};
      std::memcpy(record + kDim * sizeof(float), &trailer, sizeof trailer);
    }
    RETURN_IF_ERROR(store->Put(kSlice, rows, records));
    const uint64_t written = (first + kBatchIds) * kRecordBytes;
    if (written < kRows * kRecordBytes / 10) continue;
    peak_ = std::max(peak_, static_cast<double>(BytesOfFiles(path)) / static_cast<double>(written));
  }
  return store->Sync();
}

Result<std::unique_ptr<TierRows::Copy>> TierRows::MakeCopy() {
  auto copy = std::make_unique<Copy>(fmt::format("{}/copy-{}", directory_->path(), copies_++));
  std::error_code error;
  fs::create_directory(copy->path(), error);
  for (const auto& entry : fs::directory_iterator(directory_->path() + "/filled", error)) {
    if (error) break;
    const std::string name = entry.path().filename();
    if (name == "LOCK") continue;
    const fs::path to = fs::path(copy->path()) / name;
    if (entry.path().extension() == ".sst") {
      fs::create_hard_link(entry.path(), to, error);
    } else {
      fs::copy_file(entry.path(), to, error);
    }
    if (error) break;
  }
  if (error) return IoError("cannot copy rows to {}: {}", copy->path(), error.message());
  return copy;
}

}  // namespace rowhouse
