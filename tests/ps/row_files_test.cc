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

}  // namespace
}  // namespace rowhouse
