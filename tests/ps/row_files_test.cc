// Which rows the files of a store are, and whether their bytes are those that were written.
#include <rocksdb/db.h>

#include <filesystem>
#include <fstream>

#include "ps/store/rocksdb_options.h"
#include "ps/store/row_store.h"
#include "ps/store/store_environment.h"
#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

using testing::HasSubstr;

constexpr StoreSlice kRowFilesSlice{.table = TableId{1}, .first_column = 0, .record_bytes = 256};

Result<std::unique_ptr<RowStore>> TryOpenRowFiles(const std::string& path, bool read_only) {
  return RowStores().Make("rocksdb", {.path = path, .read_only = read_only});
}

std::unique_ptr<RowStore> OpenRowFiles(const std::string& path) {
  return TryOpenRowFiles(path, /*read_only=*/false).value();
}

// Puts `count` records that are filled with one letter.
Status PutLetterRowFiles(RowStore& store, char letter, size_t count) {
  std::vector<RowId> rows;
  for (uint64_t row = 0; row < count; ++row) rows.push_back(RowId{row});
  return store.Put(kRowFilesSlice, rows,
                   std::vector<std::byte>(count * kRowFilesSlice.record_bytes, std::byte(letter)));
}

std::vector<std::string> RowFilesIn(const std::string& path) {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(path)) {
    if (entry.path().extension() == ".sst") files.push_back(entry.path());
  }
  return files;
}

std::string Verify(RowStore& store) {
  return store.Verify([](TableId table) { return fmt::format("t{}", Raw(table)); }).message();
}

TEST(RowFiles, FilesOfAnotherStoreOfTheSameChangesAreRefused) {
  const TempDir dir;
  std::string stamps[2];
  for (int k = 0; k < 2; ++k) {
    const auto store = OpenRowFiles(dir / fmt::format("{}", k));
    ASSERT_OK(PutLetterRowFiles(*store, k == 0 ? 'a' : 'b', 100));
    ASSERT_OK(store->Settle());
    stamps[k] = store->stamp();
  }
  EXPECT_NE(stamps[0], stamps[1]);
  std::filesystem::rename(dir / "1", dir / "kept");
  std::filesystem::rename(dir / "0", dir / "1");
  for (const bool read_only : {true, false}) {
    const Status status = RowStores()
                              .Make("rocksdb", {.path = dir / "1",
                                                .read_only = read_only,
                                                .creates = false,
                                                .expected_stamp = stamps[1]})
                              .status();
    EXPECT_EQ(status.code(), StatusCode::kCorruption);
    EXPECT_THAT(status.message(), HasSubstr("these are not the rows that were saved there"));
  }
}

TEST(RowFiles, VerifyNamesTheDamagedFileAndItsTables) {
  const TempDir dir;
  {
    const auto store = OpenRowFiles(dir.path());
    ASSERT_OK(PutLetterRowFiles(*store, 'a', 1000));
    ASSERT_OK(store->Settle());
    EXPECT_EQ(Verify(*store), "");
  }
  const std::string file = RowFilesIn(dir.path()).at(0);
  std::fstream bytes(file, std::ios::in | std::ios::out | std::ios::binary);
  bytes.seekp(20);
  bytes.put('!');
  bytes.close();
  const auto store = TryOpenRowFiles(dir.path(), /*read_only=*/true);
  ASSERT_OK(store);
  EXPECT_THAT(Verify(*store.value()),
              testing::AllOf(HasSubstr(file + " is not the file that was saved: its digest is"),
                             HasSubstr("(rows of table t1)")));
}

// 64 files of 1000 records each: only those at an end of a range are written.
TEST(RowFiles, WhatIsNotKeptIsGoneAndOtherFilesAreLeftAsTheyAre) {
  const TempDir dir;
  const auto environment = std::make_shared<StoreEnvironment>(
      StoreEnvironmentOptions{.min_file_bytes = uint64_t{256} << 10});
  const auto open = [&](const std::string& stamp = "", const std::vector<RowRange>& ranges = {}) {
    return RowStores()
        .Make("rocksdb", {.path = dir.path(),
                          .expected_stamp = stamp,
                          .keeps_only = ranges,
                          .environment = environment})
        .value();
  };
  std::string stamp;
  constexpr uint64_t kRows = 64'000;
  const std::vector<RowRange> kept = {{kRowFilesSlice.table, RowId{10'500}, RowId{20'500}},
                                      {kRowFilesSlice.table, RowId{40'500}, RowId{63'000}}};
  const auto is_kept = [&](RowId row) {
    return std::ranges::any_of(kept,
                               [&](const RowRange& r) { return row >= r.first && row < r.end; });
  };
  {
    const auto store = open();
    ASSERT_OK(PutLetterRowFiles(*store, 'a', kRows));
    ASSERT_OK(store->Compact());
    std::vector<RowId> newer;  // in a level above, across all ranges
    for (uint64_t row = 0; row < kRows; row += 100) newer.push_back(RowId{row});
    ASSERT_OK(store->Put(
        kRowFilesSlice, newer,
        std::vector<std::byte>(newer.size() * kRowFilesSlice.record_bytes, std::byte('b'))));
    ASSERT_OK(store->Settle());
    ASSERT_GT(store->levels().back().files, 30u);
    stamp = store->stamp();
  }
  {
    const std::vector<std::string> before = RowFilesIn(dir.path());
    const auto store = open(stamp, kept);
    const std::vector<std::string> after = RowFilesIn(dir.path());
    const auto made = std::ranges::count_if(
        after, [&](const std::string& file) { return std::ranges::count(before, file) == 0; });
    EXPECT_LE(made, 12) << after.size();
    EXPECT_GT(std::ssize(after) - made, 15) << "of " << before.size();
    EXPECT_LT(store->counters().bytes_compacted, kRows * kRowFilesSlice.record_bytes / 4);
  }
  const auto store = open();
  uint64_t rows = 0;
  ASSERT_OK(store->Scan([&](TableId, RowId row, uint16_t, auto found) {
    EXPECT_TRUE(is_kept(row)) << Raw(row);
    EXPECT_EQ(found[0], std::byte(Raw(row) % 100 == 0 ? 'b' : 'a'));
    ++rows;
    return OkStatus();
  }));
  EXPECT_EQ(rows, 10'000u + 22'500u);
  std::vector<std::byte> record(kRowFilesSlice.record_bytes);
  for (const uint64_t row : {0, 19, 10'499, 10'500, 20'499, 20'500, 40'499, 62'999, 63'000}) {
    std::vector<size_t> missing;
    ASSERT_OK(store->Get(kRowFilesSlice, std::vector{RowId{row}}, record, &missing));
    EXPECT_EQ(missing.empty(), is_kept(RowId{row})) << row;
  }
}

}  // namespace
}  // namespace rowhouse
