// What only the store "rocksdb" can do wrong: crash, stall, run out of disk, meet strange bytes.
#include <rocksdb/db.h>
#include <rocksdb/env.h>
#include <rocksdb/write_buffer_manager.h>

#include <algorithm>
#include <csignal>
#include <fstream>
#include <numeric>
#include <thread>
#include <tuple>

#include "ps/store/rocksdb_options.h"
#include "ps/store/row_store.h"
#include "ps/store/store_environment.h"
#include "tests/testing/busy_flush_threads.h"
#include "tests/testing/locked_file.h"
#include "tests/testing/small_disk.h"
#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

using testing::HasSubstr;
using testing::MatchesRegex;

constexpr StoreSlice kRocksdbStoreSlice{
    .table = TableId{1}, .first_column = 0, .record_bytes = 256};

StoreEnvironmentOptions Small() {
  return {.block_cache_bytes = 1 << 20, .memtable_bytes = 256 << 10};
}

Result<std::unique_ptr<RowStore>> TryOpen(const std::string& path, bool read_only = false,
                                          const StoreEnvironmentOptions& options = Small()) {
  return RowStores().Make("rocksdb", {.path = path,
                                      .read_only = read_only,
                                      .environment = std::make_shared<StoreEnvironment>(options)});
}

std::unique_ptr<RowStore> Open(const std::string& path,
                               const StoreEnvironmentOptions& options = Small()) {
  auto store = TryOpen(path, false, options);
  CHECK(store.ok()) << store.status().ToString();
  return std::move(store).value();
}

std::vector<RowId> RowsFrom(uint64_t first, size_t count) {
  std::vector<RowId> rows;
  for (size_t i = 0; i < count; ++i) rows.push_back(RowId{first + i});
  return rows;
}

// Puts `count` records that are filled with one letter.
Status PutLetter(RowStore& store, char letter, size_t count, uint64_t first_row = 0) {
  return store.Put(
      kRocksdbStoreSlice, RowsFrom(first_row, count),
      std::vector<std::byte>(count * kRocksdbStoreSlice.record_bytes, std::byte(letter)));
}

// ---- Opening --------------------------------------------------------------------------------

TEST(RocksDbStore, NeedsADirectory) {
  EXPECT_EQ(TryOpen("").status().ToString(), "usage: the store \"rocksdb\" needs a directory");
}

TEST(RocksDbStore, AFileInTheWayIsTheOperatorsToMend) {
  TempDir dir;
  std::ofstream(dir / "rows") << "not a directory";
  const Status status = TryOpen(dir / "rows").status();
  EXPECT_EQ(status.ToString(),
            "usage: row directory: " + (dir / "rows") + " is a file where a directory is due");
}

TEST(RocksDbStore, AMissingDirectoryCannotBeOpenedForReading) {
  TempDir dir;
  const Status status = TryOpen(dir / "rows", /*read_only=*/true).status();
  EXPECT_EQ(status.code(), StatusCode::kNotFound);
  EXPECT_THAT(status.message(), HasSubstr("no rows in " + (dir / "rows")));
  EXPECT_FALSE(std::filesystem::exists(dir / "rows"));  // Looking leaves no trace.
}

TEST(RocksDbStore, MissingPermissionIsTheOperatorsToMend) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root to become somebody who may not";
  TempDir dir;  // Only its owner may enter.
  ASSERT_EQ(seteuid(65534), 0);
  const Status status = TryOpen(dir / "rows").status();
  ASSERT_EQ(seteuid(0), 0);
  EXPECT_EQ(status.code(), StatusCode::kUsage);
  EXPECT_THAT(status.message(), HasSubstr(dir / "rows: Permission denied"));
}

TEST(RocksDbStore, FilesOfSomebodyElseAreTheOperatorsToMend) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root to become somebody who may not";
  TempDir dir;
  Open(dir / "rows").reset();
  ASSERT_EQ(chmod(dir.path().c_str(), 0755), 0);
  ASSERT_EQ(seteuid(65534), 0);
  const Status status = TryOpen(dir / "rows").status();
  ASSERT_EQ(seteuid(0), 0);
  EXPECT_EQ(status.code(), StatusCode::kUsage) << status.ToString();
  EXPECT_THAT(status.message(), HasSubstr("Permission denied"));
}

TEST(RocksDbStore, ADatabaseOfSomebodyElseIsNotTouched) {
  TempDir dir;
  {
    rocksdb::DB* db = nullptr;
    rocksdb::Options options;
    options.create_if_missing = true;
    ASSERT_TRUE(rocksdb::DB::Open(options, dir / "rows", &db).ok());
    std::unique_ptr<rocksdb::DB> owned(db);
    rocksdb::ColumnFamilyHandle* family = nullptr;
    ASSERT_TRUE(db->CreateColumnFamily({}, "songs", &family).ok());
    ASSERT_TRUE(db->DestroyColumnFamilyHandle(family).ok());
  }
  const Status status = TryOpen(dir / "rows").status();
  EXPECT_EQ(status.code(), StatusCode::kUsage);
  EXPECT_THAT(status.message(), HasSubstr("holds a RocksDB database that is not ours"));
  EXPECT_THAT(status.message(), HasSubstr("songs"));
}

TEST(RocksDbStore, ALockHeldByAnotherProcessIsToldAsSuch) {
  TempDir dir;
  Open(dir / "rows").reset();
  const LockedByAnotherProcess lock(dir / "rows/LOCK");
  const Status status = TryOpen(dir / "rows").status();
  const Status reading = TryOpen(dir / "rows", /*read_only=*/true).status();
  EXPECT_EQ(status.code(), StatusCode::kUsage);
  EXPECT_THAT(status.message(), HasSubstr("row directory " + (dir / "rows") +
                                          " is in use by another process (its LOCK is held); "));
  EXPECT_EQ(reading.ToString(), status.ToString());  // Files would vanish under a reader.
}

// ---- Bytes that are not what was written ------------------------------------------------------

std::string OnlyFile(const std::string& directory, const std::string& extension) {
  std::string found;
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    if (entry.path().extension() != extension) continue;
    CHECK(found.empty()) << "two " << extension << " files";
    found = entry.path();
  }
  CHECK(!found.empty()) << "no " << extension << " file";
  return found;
}

TEST(RocksDbStore, AFlippedByteOfARowIsCorruptionThatNamesTheRow) {
  TempDir dir;
  {
    auto store = Open(dir / "rows");
    ASSERT_OK(PutLetter(*store, 'a', 8));
    ASSERT_OK(store->Sync());
  }
  {
    std::fstream file(OnlyFile(dir / "rows", ".sst"), std::ios::in | std::ios::out);
    file.seekp(100);  // In the first record of the first block.
    file.put('b');
  }
  auto store = Open(dir / "rows");
  std::vector<std::byte> out(kRocksdbStoreSlice.record_bytes);
  std::vector<size_t> missing;
  const Status got = store->Get(kRocksdbStoreSlice, RowsFrom(5, 1), out, &missing);
  EXPECT_EQ(got.code(), StatusCode::kCorruption);
  EXPECT_THAT(got.message(),
              HasSubstr("row directory " + (dir / "rows") + ": table 1 row 5: Corruption"));
  const auto ignore = [](TableId, RowId, uint16_t, auto) { return OkStatus(); };
  EXPECT_EQ(store->Scan(ignore).code(), StatusCode::kCorruption);
}

TEST(RocksDbStore, ATornManifestIsCorruption) {
  TempDir dir;
  Open(dir / "rows").reset();
  std::string manifest;
  std::getline(std::ifstream(dir / "rows/CURRENT"), manifest);
  std::filesystem::resize_file(dir / ("rows/" + manifest), 20);
  const Status status = TryOpen(dir / "rows").status();
  EXPECT_EQ(status.code(), StatusCode::kCorruption) << status.ToString();
  EXPECT_THAT(status.message(), HasSubstr("row directory " + (dir / "rows") + ": open: "));
}

TEST(RocksDbStore, AKeyOfAnotherLengthIsCorruption) {
  TempDir dir;
  Open(dir / "rows").reset();
  {
    rocksdb::DB* db = nullptr;
    std::vector<rocksdb::ColumnFamilyHandle*> handles;
    ASSERT_TRUE(
        rocksdb::DB::Open({}, dir / "rows", {{"default", {}}, {"rows", {}}}, &handles, &db).ok());
    std::unique_ptr<rocksdb::DB> owned(db);
    ASSERT_TRUE(db->Put({}, handles[1], "short", "value").ok());
    for (auto* handle : handles) ASSERT_TRUE(db->DestroyColumnFamilyHandle(handle).ok());
  }
  auto store = Open(dir / "rows");
  const Status status = store->Scan([](TableId, RowId, uint16_t, auto) { return OkStatus(); });
  EXPECT_EQ(status.code(), StatusCode::kCorruption);
  EXPECT_THAT(status.message(), HasSubstr("a key of 5 bytes where 14 are due"));
}

// ---- What it does with its files ------------------------------------------------------------

TEST(RocksDbStore, CountsBytesOfRowsAndOfFiles) {
  TempDir dir;
  auto store = Open(dir / "rows");
  constexpr size_t kRows = 400, kRowBytes = kRows * 256;
  ASSERT_OK(PutLetter(*store, 'a', kRows));
  EXPECT_EQ(store->counters().bytes_written, kRowBytes);
  ASSERT_OK(store->Sync());
  EXPECT_GE(store->counters().bytes_flushed, kRowBytes);
  EXPECT_LT(store->counters().bytes_flushed, kRowBytes * 5 / 4);
  std::vector<std::byte> out(2 * kRocksdbStoreSlice.record_bytes);
  std::vector<size_t> missing;
  // Two rows of one block, and one that is not there.
  ASSERT_OK(store->Get(kRocksdbStoreSlice, std::vector{RowId{3}, RowId{4}}, out, &missing));
  EXPECT_EQ(store->counters().bytes_read, 512u);
  EXPECT_GE(store->counters().file_bytes_read, 3000u);
  EXPECT_LT(store->counters().file_bytes_read, 20'000u);
  EXPECT_LE(store->counters().file_reads, 3u);
  ASSERT_OK(store->Compact());
  EXPECT_GE(store->counters().bytes_compacted, kRowBytes);
  EXPECT_GE(store->counters().write_amplification(), 2.0);
  EXPECT_LT(store->counters().write_amplification(), 2.5);
}

TEST(RocksDbStore, AReadInProgressElsewhereDoesNotStandInTheWayOfAnother) {
  TempDir dir;
  {
    auto store = Open(dir / "rows");
    ASSERT_OK(PutLetter(*store, 'a', 8));
    ASSERT_OK(store->Sync());
  }
  auto first = TryOpen(dir / "rows", /*read_only=*/true);
  auto second = TryOpen(dir / "rows", /*read_only=*/true);
  ASSERT_OK(first);
  ASSERT_OK(second);
}

// The same rows whichever way they are read and kept; a Get larger and one smaller than all
// reading threads take at once.
TEST(RocksDbStore, DirectReadsThreadsAndCompressionChangeNoByte) {
  for (const auto& [direct, threads, compression] :
       {std::tuple{true, 0, "none"}, {false, 3, "zstd"}, {true, 5, "zstd"}}) {
    TempDir dir;
    StoreEnvironmentOptions options = Small();
    options.direct_reads = direct;
    options.read_threads = threads;
    options.compression = compression;
    auto store = Open(dir / "rows", options);
    constexpr uint64_t kRows = 5000;
    for (uint64_t row = 0; row < kRows; row += 500) {
      ASSERT_OK(PutLetter(*store, static_cast<char>('a' + row / 500), 500, row));
    }
    ASSERT_OK(store->Compact());
    EXPECT_EQ(store->compression().value(), compression);
    for (const uint64_t step : {uint64_t{1}, uint64_t{97}}) {
      std::vector<RowId> rows;
      for (uint64_t row = 0; row < kRows + 200; row += step) rows.push_back(RowId{row});
      std::vector<std::byte> out(rows.size() * kRocksdbStoreSlice.record_bytes, std::byte('.'));
      std::vector<size_t> missing;
      ASSERT_OK(store->Get(kRocksdbStoreSlice, rows, out, &missing));
      std::vector<size_t> beyond;
      for (size_t k = 0; k < rows.size(); ++k) {
        const bool is_there = Raw(rows[k]) < kRows;
        if (!is_there) beyond.push_back(k);
        const auto letter = std::byte(is_there ? 'a' + Raw(rows[k]) / 500 : '.');
        const auto record = std::span(out).subspan(k * kRocksdbStoreSlice.record_bytes,
                                                   kRocksdbStoreSlice.record_bytes);
        ASSERT_EQ(std::count(record.begin(), record.end(), letter), kRocksdbStoreSlice.record_bytes)
            << k;
      }
      EXPECT_EQ(missing, beyond);
    }
  }
}

// ---- Crash ----------------------------------------------------------------------------------

constexpr size_t kBatchRows = 100;

// Overwrites the same rows with A, B, C ... Z, syncs after `synced` and dies without closing.
void WriteAndDie(const std::string& path, const StoreEnvironmentOptions& options, char synced) {
  auto store = Open(path, options);
  for (char letter = 'A'; letter <= 'Z'; ++letter) {
    CHECK(PutLetter(*store, letter, kBatchRows).ok());
    if (letter == synced) CHECK(store->Sync().ok());
  }
  raise(SIGKILL);
}

// The letter all rows have; '.' if all are missing; '?' if they differ.
char OnlyLetter(const std::string& path) {
  auto store = Open(path);
  std::vector<std::byte> out(kBatchRows * kRocksdbStoreSlice.record_bytes, std::byte('.'));
  std::vector<size_t> missing;
  const Status got = store->Get(kRocksdbStoreSlice, RowsFrom(0, kBatchRows), out, &missing);
  CHECK(got.ok()) << got.ToString();
  const bool same = std::count(out.begin(), out.end(), out[0]) == std::ssize(out);
  return same ? static_cast<char>(out[0]) : '?';
}

// RocksDB's threads do not survive a fork, so the process that dies runs its test anew
// ("threadsafe" death tests) and learns the directory of the first one from the environment.
class RocksDbStoreDeathTest : public testing::Test {
 protected:
  RocksDbStoreDeathTest() {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    if (getenv(kDirectory) != nullptr) return;
    dir_ = std::make_unique<TempDir>();
    setenv(kDirectory, dir_->path().c_str(), 1);
  }
  ~RocksDbStoreDeathTest() override {
    if (dir_ != nullptr) unsetenv(kDirectory);
  }
  std::string path() const { return std::string(getenv(kDirectory)) + "/rows"; }

 private:
  static constexpr char kDirectory[] = "ROWHOUSE_TEST_CRASH_DIRECTORY";
  std::unique_ptr<TempDir> dir_;
};

TEST_F(RocksDbStoreDeathTest, AfterAKillWhatWasSyncedIsThere) {
  StoreEnvironmentOptions options = Small();
  options.memtable_bytes = 16 << 20;  // So large that nothing is flushed but by Sync.
  EXPECT_EXIT(WriteAndDie(path(), options, 'M'), testing::KilledBySignal(SIGKILL), "");
  EXPECT_EQ(OnlyLetter(path()), 'M');
}

TEST_F(RocksDbStoreDeathTest, AfterAKillWithoutSyncNoPutIsTorn) {
  // Memtables so small that RocksDB flushes every few Puts, at moments of its own.
  EXPECT_EXIT(WriteAndDie(path(), Small(), '-'), testing::KilledBySignal(SIGKILL), "");
  const char found = OnlyLetter(path());
  EXPECT_TRUE(found == '.' || (found >= 'A' && found <= 'Z')) << found;
}

// ---- Stall ----------------------------------------------------------------------------------

// Puts until one fails; there is far more than the memtables may hold.
Status PutUntilItFails(RowStore& store) {
  for (uint64_t batch = 0; batch < 100; ++batch) {
    const Status status = PutLetter(store, 'a', 100, batch * 100);
    if (!status.ok()) return status;
  }
  return OkStatus();
}

TEST(RocksDbStore, AStallThatLastsIsAnErrorThatSaysSoAndTheSamePutWorksAfterwards) {
  TempDir dir;
  StoreEnvironmentOptions options = Small();
  options.stall_limit_ms = 20;
  auto store = Open(dir / "rows", options);
  {
    BusyFlushThreads busy;
    const Status stalled = PutUntilItFails(*store);
    EXPECT_EQ(stalled.code(), StatusCode::kResourceExhausted);
    EXPECT_THAT(stalled.message(),
                HasSubstr("row directory " + (dir / "rows") + ": put: writes have stalled for "));
    EXPECT_EQ(store->counters().stalls, 1u);
    EXPECT_GE(store->counters().stall_ms, 20u);
  }
  ASSERT_OK(store->Sync());
  EXPECT_OK(PutLetter(*store, 'b', 100));
}

TEST(RocksDbStore, AStallThatEndsIsWaitedForAndCounted) {
  TempDir dir;
  auto store = Open(dir / "rows");  // 30 s: far more than this test may take.
  BusyFlushThreads busy;
  std::thread disk([&] {
    while (store->counters().stalls == 0) std::this_thread::yield();
    busy.Release();
  });
  EXPECT_OK(PutUntilItFails(*store));
  disk.join();
  EXPECT_GE(store->counters().stalls, 1u);
}

// ---- A full disk ----------------------------------------------------------------------------

// Takes a second, because RocksDB pauses for one after a flush that failed.
TEST(RocksDbStore, AFullDiskIsToldWithThePath) {
  TempDir dir;
  SmallDisk disk(dir / "disk");
  if (!disk.mounted()) GTEST_SKIP() << "needs to mount a tmpfs: " << strerror(errno);
  StoreEnvironmentOptions options = Small();
  options.memtable_bytes = size_t{32} << 20;  // All of it fits in memory; the disk is what fails.
  auto store = Open(dir / "disk/rows", options);
  for (uint64_t batch = 0; batch < 40; ++batch) {
    ASSERT_OK(PutLetter(*store, 'a', 400, batch * 400));
  }
  const Status status = store->Sync();
  EXPECT_EQ(status.code(), StatusCode::kResourceExhausted) << status.ToString();
  EXPECT_THAT(status.message(),
              HasSubstr("row directory " + (dir / "disk/rows") + ": sync: the disk is full"));
  // Nothing is accepted that could not be kept, and to try costs nothing.
  const Status put = PutLetter(*store, 'b', 1);
  EXPECT_EQ(put.code(), StatusCode::kResourceExhausted);
  EXPECT_THAT(put.message(), HasSubstr("kB of rows wait in memory to be written"));
  EXPECT_EQ(store->Sync().code(), StatusCode::kResourceExhausted);
  EXPECT_GE(store->counters().disk_full, 1u);
  // What was Put is still there.
  std::vector<std::byte> out(kRocksdbStoreSlice.record_bytes);
  std::vector<size_t> missing;
  ASSERT_OK(store->Get(kRocksdbStoreSlice, RowsFrom(15'999, 1), out, &missing));
  EXPECT_EQ(out[7], std::byte('a'));

  // The first Put that finds room is taken, without waiting for RocksDB to look by itself.
  disk.Grow();
  ASSERT_OK(PutLetter(*store, 'b', 1));
  ASSERT_OK(store->Get(kRocksdbStoreSlice, RowsFrom(0, 1), out, &missing));
  EXPECT_EQ(out[7], std::byte('b'));
  ASSERT_OK(store->Sync());
  ASSERT_OK(store->Get(kRocksdbStoreSlice, RowsFrom(0, 1), out, &missing));
  EXPECT_EQ(out[7], std::byte('b'));
  store.reset();
  store = Open(dir / "disk/rows", options);
  ASSERT_OK(store->Get(kRocksdbStoreSlice, RowsFrom(0, 1), out, &missing));
  EXPECT_EQ(out[7], std::byte('b'));
  ASSERT_OK(store->Get(kRocksdbStoreSlice, RowsFrom(15'999, 1), out, &missing));
  EXPECT_EQ(out[7], std::byte('a'));
  EXPECT_TRUE(missing.empty());
}

// The disk fills up again and again, at any moment of flush and compaction, and somebody makes room
// each time: every Put is tried until it is taken, and none is lost.
TEST(RocksDbStore, ADiskThatIsFullNowAndThenLosesNothing) {
  TempDir dir;
  SmallDisk disk(dir / "disk");
  if (!disk.mounted()) GTEST_SKIP() << "needs to mount a tmpfs: " << strerror(errno);
  disk.Resize("16m");
  StoreEnvironmentOptions options = Small();
  options.memtable_bytes = 600 << 10;
  options.stall_limit_ms = 200;
  auto store = Open(dir / "disk/rows", options);
  const std::string ballast = dir / "disk/ballast";
  constexpr size_t kRows = 200;
  size_t refused = 0;
  for (uint64_t batch = 0; batch < 100; ++batch) {
    if (batch % 40 == 15) std::ofstream(ballast) << std::string(size_t{24} << 20, 'x');
    for (;;) {
      const Status put =
          PutLetter(*store, static_cast<char>('a' + batch % 26), kRows, (batch % 40) * kRows);
      if (put.ok()) break;
      ASSERT_EQ(put.code(), StatusCode::kResourceExhausted) << put.ToString();
      ++refused;
      std::filesystem::remove(ballast);
    }
  }
  std::filesystem::remove(ballast);
  Status synced = store->Sync();
  for (int tries = 0; synced.code() == StatusCode::kResourceExhausted && tries < 50; ++tries) {
    synced = store->Sync();  // A busy machine may take longer than the stall limit.
  }
  ASSERT_OK(synced);
  EXPECT_GT(refused, 0u);
  store.reset();
  store = Open(dir / "disk/rows", options);
  std::vector<std::byte> out(kRows * kRocksdbStoreSlice.record_bytes);
  std::vector<size_t> missing;
  for (uint64_t place = 0; place < 40; ++place) {
    const uint64_t last = place < 20 ? place + 80 : place + 40;  // batch that wrote it
    ASSERT_OK(store->Get(kRocksdbStoreSlice, RowsFrom(place * kRows, kRows), out, &missing));
    ASSERT_TRUE(missing.empty());
    const auto letter = std::byte('a' + last % 26);
    EXPECT_EQ(std::count(out.begin(), out.end(), letter), std::ssize(out)) << place;
  }
}

// ---- The environment ------------------------------------------------------------------------

TEST(StoreEnvironment, IsSharedByTheStoresOfAProcess) {
  TempDir dir;
  auto environment = std::make_shared<StoreEnvironment>(Small());
  auto a = RowStores().Make("rocksdb", {.path = dir / "a", .environment = environment}).value();
  auto b = RowStores().Make("rocksdb", {.path = dir / "b", .environment = environment}).value();
  const size_t empty = environment->write_buffers()->memory_usage();
  ASSERT_OK(PutLetter(*a, 'a', 100));
  const size_t one = environment->write_buffers()->memory_usage();
  EXPECT_GT(one, empty);
  ASSERT_OK(PutLetter(*b, 'b', 100));
  EXPECT_GT(environment->write_buffers()->memory_usage(), one);

  ASSERT_OK(a->Sync());
  std::vector<std::byte> out(kRocksdbStoreSlice.record_bytes);
  std::vector<size_t> missing;
  ASSERT_OK(a->Get(kRocksdbStoreSlice, RowsFrom(5, 1), out, &missing));
  EXPECT_GT(environment->block_cache_used_bytes(), 0u);
}

TEST(StoreEnvironment, CompactionThreadsAreSharedOut) {
  const auto of_store = [](int threads, size_t stores) {
    const StoreEnvironment environment({.stores = stores, .compaction_threads = threads});
    return RowDatabaseOptions(environment, "rows").max_background_compactions;
  };
  EXPECT_EQ(of_store(8, 1), 8);
  EXPECT_EQ(of_store(8, 3), 2);
  EXPECT_EQ(of_store(2, 64), 1);
  const int half = static_cast<int>(std::thread::hardware_concurrency()) / 2;
  EXPECT_EQ(of_store(0, 1), std::max(2, half));
}

TEST(StoreEnvironment, OptionsOutOfRangeAreNamed) {
  StoreEnvironmentOptions options;
  EXPECT_OK(options.Validate());
  options.memtable_bytes = 1000;
  EXPECT_EQ(options.Validate().ToString(), "usage: memtable_bytes=1000 must be at least 262144");
  options = {.compression = "lz4"};
  EXPECT_EQ(options.Validate().ToString(), "usage: compression=\"lz4\" must be none or zstd");
  options = {.read_threads = -1};
  EXPECT_EQ(options.Validate().ToString(), "usage: read_threads=-1 must be 1 to 256");
  options = {.flush_threads = 0};
  EXPECT_EQ(options.Validate().ToString(), "usage: flush_threads=0 must be 1 to 256");
  options = {.stall_limit_ms = -1};
  EXPECT_EQ(options.Validate().ToString(), "usage: stall_limit_ms=-1 must not be negative");
}

}  // namespace
}  // namespace rowhouse
