// What only the store "rocksdb" can do wrong: crash, stall, run out of disk, meet strange bytes.
#include <fcntl.h>
#include <rocksdb/db.h>
#include <rocksdb/env.h>
#include <sys/mount.h>
#include <unistd.h>

#include <condition_variable>
#include <csignal>
#include <fstream>
#include <mutex>
#include <numeric>

#include "ps/row_store.h"
#include "ps/store_environment.h"
#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

using testing::HasSubstr;
using testing::MatchesRegex;

constexpr StoreSlice kSlice{.table = TableId{1}, .first_column = 0, .record_bytes = 256};

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
  return store.Put(kSlice, RowsFrom(first_row, count),
                   std::vector<std::byte>(count * kSlice.record_bytes, std::byte(letter)));
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
  // A lock of another open file description would be ours still: fcntl locks belong to processes.
  int ready[2], done[2];
  ASSERT_EQ(pipe(ready), 0);
  ASSERT_EQ(pipe(done), 0);
  const std::string lock_path = dir / "rows/LOCK";
  const pid_t child = fork();
  if (child == 0) {
    const int fd = open(lock_path.c_str(), O_RDWR);
    struct flock lock = {};
    lock.l_type = F_WRLCK;
    char byte = fcntl(fd, F_SETLK, &lock) == 0 ? 'y' : 'n';
    (void)!write(ready[1], &byte, 1);
    close(done[1]);
    (void)!read(done[0], &byte, 1);
    _exit(0);
  }
  char locked = '?';
  ASSERT_EQ(read(ready[0], &locked, 1), 1);
  const Status status = TryOpen(dir / "rows").status();
  close(done[1]);
  waitpid(child, nullptr, 0);
  for (const int fd : {ready[0], ready[1], done[0]}) close(fd);
  ASSERT_EQ(locked, 'y');
  EXPECT_EQ(status.code(), StatusCode::kUsage);
  EXPECT_THAT(status.message(), HasSubstr("row directory " + (dir / "rows") +
                                          " is in use by another process (its LOCK is held); "));
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
  std::vector<std::byte> out(kSlice.record_bytes);
  std::vector<size_t> missing;
  const Status got = store->Get(kSlice, RowsFrom(5, 1), out, &missing);
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
  std::vector<std::byte> out(kBatchRows * kSlice.record_bytes, std::byte('.'));
  std::vector<size_t> missing;
  const Status got = store->Get(kSlice, RowsFrom(0, kBatchRows), out, &missing);
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

// Keeps every flush thread of the process busy until released, as a slow disk would.
class BusyFlushThreads {
 public:
  BusyFlushThreads() {
    rocksdb::Env* env = rocksdb::Env::Default();
    threads_ = env->GetBackgroundThreads(rocksdb::Env::Priority::HIGH);
    for (int i = 0; i < threads_; ++i) {
      env->Schedule(&Hold, this, rocksdb::Env::Priority::HIGH);
    }
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return held_ == threads_; });
  }
  ~BusyFlushThreads() {
    Release();
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return held_ == 0; });
  }
  void Release() {
    std::lock_guard lock(mutex_);
    released_ = true;
    changed_.notify_all();
  }

 private:
  static void Hold(void* self_pointer) {
    auto* self = static_cast<BusyFlushThreads*>(self_pointer);
    std::unique_lock lock(self->mutex_);
    ++self->held_;
    self->changed_.notify_all();
    self->changed_.wait(lock, [self] { return self->released_; });
    --self->held_;
    self->changed_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  int threads_ = 0;
  int held_ = 0;
  bool released_ = false;
};

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

class SmallDisk {
 public:
  explicit SmallDisk(const std::string& path) : path_(path) {
    std::filesystem::create_directory(path);
    mounted_ = mount("none", path.c_str(), "tmpfs", 0, "size=2m") == 0;
  }
  ~SmallDisk() {
    if (mounted_) umount2(path_.c_str(), MNT_DETACH);
  }
  bool mounted() const { return mounted_; }

 private:
  const std::string path_;
  bool mounted_ = false;
};

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
  // Nothing is accepted that could not be kept.
  EXPECT_EQ(PutLetter(*store, 'b', 1).code(), StatusCode::kResourceExhausted);
}

// ---- The environment ------------------------------------------------------------------------

TEST(StoreEnvironment, IsSharedByTheStoresOfAProcess) {
  TempDir dir;
  auto environment = std::make_shared<StoreEnvironment>(Small());
  auto a = RowStores().Make("rocksdb", {.path = dir / "a", .environment = environment}).value();
  auto b = RowStores().Make("rocksdb", {.path = dir / "b", .environment = environment}).value();
  const size_t empty = environment->memtable_used_bytes();
  ASSERT_OK(PutLetter(*a, 'a', 100));
  const size_t one = environment->memtable_used_bytes();
  EXPECT_GT(one, empty);
  ASSERT_OK(PutLetter(*b, 'b', 100));
  EXPECT_GT(environment->memtable_used_bytes(), one);

  ASSERT_OK(a->Sync());
  std::vector<std::byte> out(kSlice.record_bytes);
  std::vector<size_t> missing;
  ASSERT_OK(a->Get(kSlice, RowsFrom(5, 1), out, &missing));
  EXPECT_GT(environment->block_cache_used_bytes(), 0u);
}

TEST(StoreEnvironment, OptionsOutOfRangeAreNamed) {
  StoreEnvironmentOptions options;
  EXPECT_OK(options.Validate());
  options.memtable_bytes = 1000;
  EXPECT_EQ(options.Validate().ToString(), "usage: memtable_bytes=1000 must be at least 262144");
  options = {.flush_threads = 0};
  EXPECT_EQ(options.Validate().ToString(), "usage: flush_threads=0 must be 1 to 256");
  options = {.stall_limit_ms = -1};
  EXPECT_EQ(options.Validate().ToString(), "usage: stall_limit_ms=-1 must not be negative");
}

}  // namespace
}  // namespace rowhouse
