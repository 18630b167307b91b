// What the store "rocksdb" makes of files that fail, are torn, late or full: an error that says
// where, never other rows than were Put, and never less than the last Sync covered.
#include <algorithm>
#include <fstream>
#include <map>
#include <random>
#include <set>

#include "ps/store/row_store.h"
#include "ps/store/store_environment.h"
#include "tests/testing/faulty_files.h"
#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

using testing::HasSubstr;

constexpr StoreSlice kStoreFaultsSlice{.table = TableId{1}, .first_column = 0, .record_bytes = 128};
constexpr size_t kStoreFaultsRows = 300;

std::vector<RowId> StoreFaultsRows(size_t first, size_t count) {
  std::vector<RowId> rows;
  for (size_t i = 0; i < count; ++i) rows.push_back(RowId{first + i});
  return rows;
}

class StoreFaults : public testing::Test {
 protected:
  StoreFaults() : env_(rocksdb::NewCompositeEnv(files_)) { Open(); }
  ~StoreFaults() override {
    store_.reset();  // Before its files.
    environment_.reset();
  }

  void Open() {
    StoreEnvironmentOptions options{.block_cache_bytes = 1 << 20, .memtable_bytes = 256 << 10};
    options.files = env_.get();
    options.stall_limit_ms = 2000;
    environment_ = std::make_shared<StoreEnvironment>(options);
    auto store = RowStores().Make("rocksdb", {.path = dir_ / "rows", .environment = environment_});
    CHECK(store.ok()) << store.status().ToString();
    store_ = std::move(store).value();
  }

  // The machine loses power and comes up again.
  void Crash() {
    files_->PowerOff();
    store_.reset();
    files_->LoseUnsynced();
    files_->Heal();
    Open();
  }

  Status Put(char letter, size_t first = 0, size_t count = kStoreFaultsRows) {
    return store_->Put(
        kStoreFaultsSlice, StoreFaultsRows(first, count),
        std::vector<std::byte>(count * kStoreFaultsSlice.record_bytes, std::byte(letter)));
  }

  // The letter each row is filled with; '.': missing; '?': of several letters.
  std::string Letters() {
    std::vector<std::byte> out(kStoreFaultsRows * kStoreFaultsSlice.record_bytes, std::byte('.'));
    std::vector<size_t> missing;
    const Status got =
        store_->Get(kStoreFaultsSlice, StoreFaultsRows(0, kStoreFaultsRows), out, &missing);
    EXPECT_OK(got);
    std::string letters;
    for (size_t i = 0; i < kStoreFaultsRows; ++i) {
      const auto record = std::span(out).subspan(i * kStoreFaultsSlice.record_bytes,
                                                 kStoreFaultsSlice.record_bytes);
      const bool is_whole = std::count(record.begin(), record.end(), record[0]) ==
                            static_cast<std::ptrdiff_t>(record.size());
      letters += is_whole ? static_cast<char>(record[0]) : '?';
    }
    return letters;
  }

  TempDir dir_;
  std::shared_ptr<FaultyFiles> files_ = std::make_shared<FaultyFiles>();
  std::unique_ptr<rocksdb::Env> env_;
  std::shared_ptr<StoreEnvironment> environment_;
  std::unique_ptr<RowStore> store_;
};

TEST_F(StoreFaults, AReadThatFailsIsAnErrorAndTheNextOneMayGoWell) {
  ASSERT_OK(Put('a'));
  ASSERT_OK(store_->Sync());
  files_->Fail(FileFault::kRead, 0, 1'000'000);
  std::vector<std::byte> out(kStoreFaultsSlice.record_bytes);
  std::vector<size_t> missing;
  const Status got = store_->Get(kStoreFaultsSlice, StoreFaultsRows(7, 1), out, &missing);
  EXPECT_EQ(got.code(), StatusCode::kIoError) << got.ToString();
  EXPECT_THAT(got.message(), HasSubstr("row directory " + (dir_ / "rows") + ": table 1 row 7: "));
  EXPECT_TRUE(missing.empty());
  const Status scanned = store_->Scan([](TableId, RowId, uint16_t, auto) { return OkStatus(); });
  EXPECT_EQ(scanned.code(), StatusCode::kIoError);
  files_->Heal();
  EXPECT_EQ(Letters(), std::string(kStoreFaultsRows, 'a'));
}

class WriteFaults : public StoreFaults, public testing::WithParamInterface<FileFault> {};

// The fault comes at each file operation of a Sync in turn, until one Sync needs no more than that.
TEST_P(WriteFaults, WhateverFailsInASyncNothingIsTornAndOkMeansThere) {
  ASSERT_OK(Put('a'));
  ASSERT_OK(store_->Sync());
  char last = 'a';
  int failed = 0;
  for (int good = 0; good < 40; ++good) {
    const char next = last == 'z' ? 'a' : static_cast<char>(last + 1);
    ASSERT_OK(Put(next));
    files_->Fail(GetParam(), good, 1);
    const Status synced = store_->Sync();
    const bool was_hit = files_->has_failed();
    failed += synced.ok() ? 0 : 1;
    if (!synced.ok()) {
      EXPECT_EQ(synced.code(), GetParam() == FileFault::kNoSpace ? StatusCode::kResourceExhausted
                                                                 : StatusCode::kIoError)
          << synced.ToString();
      EXPECT_THAT(synced.message(), HasSubstr("row directory " + (dir_ / "rows")));
    }
    Crash();
    const std::string letters = Letters();
    if (synced.ok()) {
      ASSERT_EQ(letters, std::string(kStoreFaultsRows, next)) << good;
    } else {
      ASSERT_TRUE(letters == std::string(kStoreFaultsRows, last) ||
                  letters == std::string(kStoreFaultsRows, next))
          << good << ": " << letters;
    }
    last = letters[0];
    if (!was_hit) break;  // All of its operations have had their turn.
  }
  EXPECT_GT(failed, 0);
}

std::string FaultName(const testing::TestParamInfo<FileFault>& test) {
  switch (test.param) {
    case FileFault::kWrite:
      return "Write";
    case FileFault::kTornWrite:
      return "TornWrite";
    case FileFault::kSync:
      return "Sync";
    default:
      return "NoSpace";
  }
}

INSTANTIATE_TEST_SUITE_P(All, WriteFaults,
                         testing::Values(FileFault::kWrite, FileFault::kTornWrite, FileFault::kSync,
                                         FileFault::kNoSpace),
                         FaultName);

// RocksDB passes over zeros in its list of files. Each write of a checkpoint is lost in turn.
TEST_F(StoreFaults, ACheckpointWithoutWhatTheDiskLostIsRefused) {
  int refused = 0;
  for (int good = 0, is_hit = 1; is_hit != 0; ++good) {
    store_.reset();
    std::filesystem::remove_all(dir_ / "rows");
    std::filesystem::remove_all(dir_ / "copy");
    Open();
    ASSERT_OK(Put('a'));
    files_->Fail(FileFault::kLostWrite, good, 1);
    const Result<std::string> made = store_->Checkpoint(dir_ / "copy");
    is_hit = files_->has_failed() ? 1 : 0;
    files_->Heal();
    if (!made.ok()) {
      ++refused;
      EXPECT_EQ(made.status().code(), StatusCode::kCorruption) << made.status().ToString();
      EXPECT_THAT(made.status().message(), HasSubstr("row directory " + dir_.path()));
      continue;
    }
    auto copy = RowStores().Make("rocksdb", {.path = dir_ / "copy",
                                             .read_only = true,
                                             .expected_stamp = made.value(),
                                             .environment = environment_});
    ASSERT_OK(copy);
    size_t rows = 0;
    const Status scanned = copy.value()->Scan([&](TableId, RowId, uint16_t, auto) {
      ++rows;
      return OkStatus();
    });
    EXPECT_TRUE(!scanned.ok() || rows == kStoreFaultsRows) << rows << " rows, " << good;
  }
  EXPECT_GT(refused, 1);
}

// RocksDB would end the process, where its assertions are on.
TEST_F(StoreFaults, AFileOfRowsThatWasDamagedOnItsWayIsNotTakenOver) {
  const std::string path = dir_ / "moved";
  Result<std::unique_ptr<RowFileWriter>> file = store_->NewRowFile(path);
  ASSERT_OK(file);
  const std::vector<std::byte> record(kStoreFaultsSlice.record_bytes, std::byte('a'));
  for (const RowId row : StoreFaultsRows(0, kStoreFaultsRows)) {
    ASSERT_OK(file.value()->Add(kStoreFaultsSlice.table, row, 0, record));
  }
  const Result<RowFile> written = file.value()->Finish();
  ASSERT_OK(written);
  std::fstream bytes(path, std::ios::in | std::ios::out);
  for (uint64_t at = 0; at < written.value().bytes; at += 512) {
    const auto flip = [&] {
      const int byte = bytes.seekg(static_cast<std::streamoff>(at)).get();
      bytes.seekp(static_cast<std::streamoff>(at)).put(static_cast<char>(byte ^ 1)).flush();
    };
    flip();
    const Status taken = store_->Ingest({&written.value(), 1});
    EXPECT_EQ(taken.code(), StatusCode::kCorruption) << taken.ToString();
    EXPECT_THAT(taken.message(), HasSubstr(path));
    flip();
  }
  EXPECT_EQ(Letters(), std::string(kStoreFaultsRows, '.'));
  ASSERT_OK(store_->Ingest({&written.value(), 1}));
  EXPECT_EQ(Letters(), std::string(kStoreFaultsRows, 'a'));
}

TEST_F(StoreFaults, AfterAFullDiskTheSameSyncSucceedsAtOnce) {
  ASSERT_OK(Put('a'));
  files_->Fail(FileFault::kNoSpace, 0, 1'000'000);
  EXPECT_EQ(store_->Sync().code(), StatusCode::kResourceExhausted);
  EXPECT_EQ(store_->Sync().code(), StatusCode::kResourceExhausted);
  EXPECT_EQ(Put('b').code(), StatusCode::kResourceExhausted);
  EXPECT_EQ(Letters(), std::string(kStoreFaultsRows, 'a'));  // Readable all the while.
  files_->Heal();
  ASSERT_OK(store_->Sync());
  ASSERT_OK(Put('c'));
  ASSERT_OK(store_->Sync());
  Crash();
  EXPECT_EQ(Letters(), std::string(kStoreFaultsRows, 'c'));
}

TEST_F(StoreFaults, ASlowDiskIsWaitedForAndLosesNothing) {
  files_->SetSyncDelay(std::chrono::milliseconds(3));
  for (char letter = 'a'; letter <= 'z'; ++letter) ASSERT_OK(Put(letter));
  ASSERT_OK(store_->Sync());
  Crash();
  EXPECT_EQ(Letters(), std::string(kStoreFaultsRows, 'z'));
}

// Random operations and faults against what is known of each row: what a Sync covered, and what was
// Put since and may or may not have reached the disk when the power failed. Some take seconds,
// because RocksDB pauses for one after a flush that failed.
class RandomFaults : public StoreFaults, public testing::WithParamInterface<uint64_t> {};

TEST_P(RandomFaults, NeverGiveOtherRowsThanWerePut) {
  std::mt19937_64 random(GetParam());
  struct Known {
    char now = '.';
    std::set<char> after_crash = {'.'};
  };
  std::vector<Known> known(kStoreFaultsRows);
  for (int operation = 0; operation < 15; ++operation) {
    if (random() % 8 == 0) {
      constexpr std::array kFaults = {FileFault::kWrite, FileFault::kTornWrite, FileFault::kSync,
                                      FileFault::kNoSpace};
      files_->Fail(kFaults[random() % kFaults.size()], static_cast<int64_t>(random() % 12), 3);
    }
    Status status;
    if (random() % 5 == 0) {
      status = store_->Sync();
      if (status.ok()) {
        for (Known& row : known) row.after_crash = {row.now};
      }
    } else {
      const size_t first = random() % kStoreFaultsRows;
      const size_t count = 1 + random() % (kStoreFaultsRows - first);
      const char letter = static_cast<char>('a' + random() % 26);
      status = Put(letter, first, count);
      for (size_t i = first; i < first + count; ++i) {
        if (status.ok()) known[i].now = letter;
        known[i].after_crash.insert(known[i].now);
      }
    }
    if (status.code() == StatusCode::kResourceExhausted) {
      files_->Heal();  // Somebody makes room; the next operation has to notice by itself.
    } else if (!status.ok() || random() % 20 == 0) {
      ASSERT_TRUE(status.ok() || status.code() == StatusCode::kIoError) << status.ToString();
      Crash();
      const std::string letters = Letters();
      for (size_t i = 0; i < kStoreFaultsRows; ++i) {
        ASSERT_TRUE(known[i].after_crash.contains(letters[i])) << operation << ": row " << i;
        known[i] = {letters[i], {letters[i]}};
      }
    }
    const std::string letters = Letters();
    for (size_t i = 0; i < kStoreFaultsRows; ++i) ASSERT_EQ(letters[i], known[i].now) << operation;
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomFaults, testing::Range<uint64_t>(0, 8));

}  // namespace
}  // namespace rowhouse
