// Rows that were lost, or put back from another time.
#include <filesystem>
#include <set>

#include "common/durable_file.h"
#include "ps/store/directory_state.h"
#include "tests/testing/shard_opening.h"

namespace rowhouse {
namespace {

// Saved after 5 steps, and again, with other values, after 6.
class LostRows : public ShardOpening {
 protected:
  void SetUp() override {
    Save(Job(1), 0, "rows", 5);
    std::filesystem::copy(rows_, dir_ / "after_5");
    auto store = Open(Loading(Job(1), Job(1), "rows", 5), 0, "rows");
    ASSERT_OK(store);
    StoreWrite write{.slice = {.record_bytes = static_cast<uint32_t>(kLayout.bytes())}};
    write.rows.push_back(RowId{3});
    write.records.resize(kLayout.bytes());
    WriteRows action{.ticket = 1, .writes = {}};
    action.writes.push_back(std::move(write));
    ASSERT_OK(std::get<RowsWritten>(store.value()->Execute(std::move(action))).status);
    ASSERT_OK(std::get<StoreSynced>(store.value()->Execute(SyncStore{2, 6})).status);
    store.value().reset();
    ASSERT_OK(Open(Loading(Job(1), Job(1), "rows", 6), 0, "rows")) << "nothing is lost yet";
  }

  std::string Manifest(const std::string& directory) {
    std::string name = ReadFile(directory + "/CURRENT").value();
    return directory + "/" + name.substr(0, name.find('\n'));
  }

  // --load must be refused and leave every file of rows where it is.
  void ExpectRefused(const std::string& words) {
    const std::set<std::string> before = RowFiles();
    const Status refused = Open(Loading(Job(1), Job(1), "rows", 6), 0, "rows").status();
    EXPECT_EQ(refused.exit_code(), 1) << refused.ToString();
    EXPECT_THAT(refused.message(), testing::HasSubstr(words));
    EXPECT_THAT(refused.message(), testing::HasSubstr("Put " + shard_ + " back as it was"));
    EXPECT_EQ(RowFiles(), before);
  }

  std::set<std::string> RowFiles() {
    std::set<std::string> files;
    std::error_code ignored;
    for (const auto& entry : std::filesystem::directory_iterator(rows_, ignored)) {
      if (entry.path().extension() == ".sst") files.insert(entry.path());
    }
    return files;
  }

  const std::string shard_ = ShardDirectory(dir_ / "rows", ShardId{0});
  const std::string rows_ = RowsDirectory(shard_);
};

TEST_F(LostRows, AnEmptyDirectory) {
  std::filesystem::remove_all(rows_);
  std::filesystem::create_directory(rows_);
  ExpectRefused("no rows in " + rows_);
}

TEST_F(LostRows, NoDirectory) {
  std::filesystem::remove_all(rows_);
  ExpectRefused("no rows in " + rows_);
  EXPECT_FALSE(std::filesystem::exists(rows_));
}

TEST_F(LostRows, NoCurrent) {
  std::filesystem::remove(rows_ + "/CURRENT");
  ExpectRefused("no rows in " + rows_);
}

TEST_F(LostRows, AnOlderManifestOfRocksDb) {
  const std::string older = Manifest(dir_ / "after_5");
  std::filesystem::remove(Manifest(rows_));
  std::filesystem::copy(older, rows_);
  std::filesystem::copy(dir_ / "after_5" + "/CURRENT", rows_,
                        std::filesystem::copy_options::overwrite_existing);
  ExpectRefused("these are not the rows that were saved there");
}

// Wherever it is cut: either all rows are there, or they are refused.
TEST_F(LostRows, AManifestOfRocksDbThatIsCut) {
  std::filesystem::copy(rows_, dir_ / "whole");
  const auto bytes = std::filesystem::file_size(Manifest(rows_));
  for (auto kept = bytes; kept > 0; kept -= std::min<uintmax_t>(kept, 23)) {
    std::filesystem::remove_all(rows_);
    std::filesystem::copy(dir_ / "whole", rows_);
    std::filesystem::resize_file(Manifest(rows_), kept);
    const std::set<std::string> before = RowFiles();
    auto opened = Open(Loading(Job(1), Job(1), "rows", 6), 0, "rows");
    if (opened.ok()) {
      uint64_t rows = 0;
      Digest(*opened.value(), &rows);
      EXPECT_EQ(rows, kRows) << kept << " of " << bytes;
    } else {
      EXPECT_EQ(opened.status().exit_code(), 1) << opened.status().ToString();
      EXPECT_EQ(RowFiles(), before) << kept << " of " << bytes;
    }
  }
}

TEST_F(LostRows, AllOfAnEarlierTime) {
  std::filesystem::remove_all(rows_);
  std::filesystem::copy(dir_ / "after_5", rows_);
  ExpectRefused("these are not the rows that were saved there");
}

TEST_F(LostRows, ThatAreRoutedAreRefusedToo) {
  std::filesystem::remove(rows_ + "/CURRENT");
  const Status refused = Open(Loading(Job(2), Job(1), "rows", 6), 0, "new").status();
  EXPECT_THAT(refused.message(), testing::HasSubstr("no rows in " + rows_));
}

TEST_F(LostRows, AStateOfAStoreWithoutStampsIsTaken) {
  ASSERT_OK(WriteState(shard_, {.is_clean = true, .step = 6}));
  EXPECT_OK(Open(Loading(Job(1), Job(1), "rows", 6), 0, "rows"));
}

}  // namespace
}  // namespace rowhouse
