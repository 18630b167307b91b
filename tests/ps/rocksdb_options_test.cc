// How stores are set up: sizes of files, their share of descriptors, filters.
#include "ps/store/rocksdb_options.h"

#include <rocksdb/env.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "common/host_limits.h"
#include "ps/store/row_store.h"
#include "ps/store/store_environment.h"
#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

constexpr StoreSlice kFilteredSlice{.table = TableId{1}, .first_column = 0, .record_bytes = 256};

TEST(RowFileSizes, StoresOfAnySizeHaveSomeHundredsOfFiles) {
  constexpr uint64_t kMiB = uint64_t{1} << 20;
  EXPECT_EQ(RowFileSizes::Of(0, 8 * kMiB).file_bytes, 8 * kMiB);
  EXPECT_EQ(RowFileSizes::Of(1024 * kMiB, 8 * kMiB).file_bytes, 8 * kMiB);
  for (const uint64_t bytes : {10'000'000'000, 24'000'000'000, 60'000'000'000}) {
    const RowFileSizes sizes = RowFileSizes::Of(bytes, 8 * kMiB);
    EXPECT_GE(sizes.file_bytes, 64 * kMiB);
    EXPECT_LE(bytes / sizes.file_bytes, 256u);
    EXPECT_LE(sizes.compaction_bytes, bytes / 16);
  }
  EXPECT_EQ(RowFileSizes::Of(UINT64_MAX, 8 * kMiB).file_bytes, 256 * kMiB);
}

// A store of which nothing was written since it was opened, as `ckpt compact` has it.
TEST(RocksDbOptions, CompactedFilesFitTheSizeOfTheStore) {
  TempDir dir;
  // Hundreds of files, each of which would be synced.
  const std::unique_ptr<rocksdb::Env> in_memory(rocksdb::NewMemEnv(rocksdb::Env::Default()));
  const StoreEnvironmentOptions options = {
      .memtable_bytes = 8 << 20, .min_file_bytes = 16 << 10, .files = in_memory.get()};
  const auto open = [&] {
    return RowStores()
        .Make("rocksdb",
              {.path = dir / "rows", .environment = std::make_shared<StoreEnvironment>(options)})
        .value();
  };
  std::vector<RowId> rows;
  for (uint64_t i = 0; i < 40'000; ++i) rows.push_back(RowId{i});
  std::vector<std::byte> records(rows.size() * kFilteredSlice.record_bytes);  // 10 MB
  ASSERT_OK(open()->Put(kFilteredSlice, rows, records));
  const auto store = open();
  ASSERT_OK(store->Compact());
  ASSERT_EQ(store->levels().size(), 1u);
  EXPECT_LE(store->levels()[0].files, 200u);  // of 64 kB
}

TEST(StoreEnvironment, StoresShareTheOpenFiles) {
  EXPECT_EQ(StoreEnvironment({.stores = 4, .max_open_files = 100}).open_files_of_store(), 25);
  EXPECT_EQ(StoreEnvironment({.stores = 100, .max_open_files = 100}).open_files_of_store(), 16);
  EXPECT_EQ(StoreEnvironment({}).open_files_of_store(), std::min(OpenFilesLimit() / 2, 1ul << 20));
}

// Reads of the files that a look-up of rows takes that are not there, among rows that are.
TEST(RocksDbOptions, WhereMissingRowsAreLookedUpFiltersSpareTheReads) {
  TempDir dir;
  uint64_t reads[2] = {};
  for (const bool is_told : {false, true}) {
    StoreEnvironmentOptions options = StoreEnvironmentOptions();
    options.looks_up_missing_rows = is_told;
    const auto made =
        RowStores().Make("rocksdb", {.path = dir / (is_told ? "told" : "untold"),
                                     .environment = std::make_shared<StoreEnvironment>(options)});
    ASSERT_OK(made);
    RowStore* const store = made.value().get();
    std::vector<RowId> there, missing;
    for (uint64_t i = 0; i < 20'000; ++i) (i % 2 == 0 ? there : missing).push_back(RowId{i});
    std::vector<std::byte> records(there.size() * kFilteredSlice.record_bytes);
    ASSERT_OK(store->Put(kFilteredSlice, there, records));
    ASSERT_OK(store->Compact());
    const uint64_t before = store->counters().file_reads;
    std::vector<size_t> absent;
    ASSERT_OK(store->Get(kFilteredSlice, missing, records, &absent));
    EXPECT_EQ(absent.size(), missing.size());
    reads[is_told ? 1 : 0] = store->counters().file_reads - before;
  }
  EXPECT_LT(reads[1] * 4, reads[0]) << reads[1];
}

}  // namespace
}  // namespace rowhouse
