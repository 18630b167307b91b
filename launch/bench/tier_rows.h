// TierRows: the table of the storage tier's benches, as files: 5 million rows of 64 floats without
// state, each written once in scattered order by the store. Made once a run (half a minute); each
// bench works on a copy of hard links, as RocksDB never changes a table file.
//
// It lies in a directory under TMPDIR, which is removed at the end. Threads: one.
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

  // The one in `options.kept`, made now if there is none. kUnavailable if a signal comes meanwhile.
  static Result<std::shared_ptr<TierRows>> Of(const BenchOptions& options);

  // A directory with the rows, removed with the object.
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

  // The largest ratio of bytes of files to bytes of records while the rows were written, sampled
  // after each batch from a tenth of the rows on.
  double peak_while_filled() const { return peak_; }

 private:
  explicit TierRows(std::unique_ptr<TemporaryDirectory> directory)
      : directory_(std::move(directory)) {}
  Status Fill();

  const std::unique_ptr<TemporaryDirectory> directory_;
  double peak_ = 0.0;
  int copies_ = 0;
};

// Bytes of all files in a directory, without subdirectories.
uint64_t BytesOfFiles(const std::string& directory);

}  // namespace rowhouse
