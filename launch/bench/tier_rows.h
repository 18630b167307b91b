// TierRows: the table that the storage tier is measured on, as files: 5 million rows of 64 floats
// and no state, each written once in scattered order by the product's own store. Made once a run
// (half a minute); each bench works on a copy, which hard links make at once, because a table file
// never changes.
//
// In a directory under TMPDIR, removed at the end. Threads: one.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include "common/status.h"
#include "launch/bench/bench.h"
#include "launch/run/temporary_rows.h"
#include "ps/store/row_store.h"

namespace rowhouse {

class TierRows {
 public:
  static constexpr uint64_t kRows = 5'000'000;
  static constexpr uint32_t kDim = 64;
  static constexpr uint32_t kRecordBytes = kDim * sizeof(float) + 16;
  static constexpr uint64_t kCacheRows = kRows / 10;
  static constexpr uint64_t kCacheBytes = kCacheRows * kRecordBytes;
  static constexpr size_t kBatchIds = 20'000;
  static constexpr StoreSlice kSlice{
      .table = TableId{0}, .first_column = 0, .record_bytes = kRecordBytes};

  // That of `options.kept`, made now if it is not there yet. An error if a signal comes meanwhile.
  static Result<std::shared_ptr<TierRows>> Of(const BenchOptions& options);

  // A directory of its own with the rows, removed with the object.
  class Copy {
   public:
    explicit Copy(std::string path) : path_(std::move(path)) {}
    ~Copy() {
      std::error_code ignored;  // The whole directory goes in the end.
      std::filesystem::remove_all(path_, ignored);
    }
    Copy(const Copy&) = delete;
    Copy& operator=(const Copy&) = delete;
    const std::string& path() const { return path_; }

   private:
    const std::string path_;
  };
  Result<std::unique_ptr<Copy>> MakeCopy();

  // Most bytes of files for each byte of records written so far, looked at after every batch once
  // a tenth of the rows was there.
  double peak_while_filled() const { return peak_; }

 private:
  explicit TierRows(std::unique_ptr<TemporaryRows> directory) : directory_(std::move(directory)) {}
  Status Fill();

  const std::unique_ptr<TemporaryRows> directory_;
  double peak_ = 0.0;
  int copies_ = 0;
};

// Of all files in a directory, without those below.
uint64_t BytesOfFiles(const std::string& directory);

}  // namespace rowhouse
