// Which rows were written, kept beside them: a run that goes on needs no scan where the file is
// whole.
#include <filesystem>

#include "common/durable_file.h"
#include "tests/testing/shard_with_store.h"

namespace rowhouse {
namespace {

// Rows in files, and how often all of them were read.
class ScanCountingStore final : public RowStore {
 public:
  ScanCountingStore(const std::string& path, int* scans)
      : store_(RowStores().Make("rocksdb", {.path = path}).value()), scans_(scans) {}
  Status Get(const StoreSlice& slice, std::span<const RowId> rows, std::span<std::byte> out,
             std::vector<size_t>* missing) override {
    return store_->Get(slice, rows, out, missing);
  }
  Status Put(const StoreSlice& slice, std::span<const RowId> rows,
             std::span<const std::byte> records) override {
    return store_->Put(slice, rows, records);
  }
  Status Sync() override { return store_->Sync(); }
  Status Settle() override { return store_->Settle(); }
  Status Scan(const Visitor& visit) override {
    ++*scans_;
    return store_->Scan(visit);
  }
  std::string stamp() const override { return store_->stamp(); }

 private:
  const std::unique_ptr<RowStore> store_;
  int* const scans_;
};

class KeptWrittenRowsTest : public ShardWithStore {
 protected:
  // Rows 0 to 9 pulled and 3, 5 and 7 of them changed by a step, saved, and everything closed.
  void TrainAndSave(uint64_t cache_bytes = 1 << 20) {
    OpenRows(0, cache_bytes);
    const uint64_t pull = Pull(0, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9});
    CarryOutAll();
    first_ = Pulled(pull);
    Push(0, {3, 5, 7});
    const uint64_t flush = Flush(1);
    CarryOutAll();
    ASSERT_EQ(answers_.at(flush).header.type, MessageType::kFlushReply);
    digest_ = Digest();
    Close();
  }
  void OpenRows(uint64_t first_step, uint64_t cache_bytes = 1 << 20) {
    Open({.first_step = first_step, .cache_bytes = cache_bytes, .keeps_written_rows = true},
         std::make_unique<ScanCountingStore>(dir_ / "rows", &scans_), dir_.path());
  }
  void Close() {
    ASSERT_TRUE(waiting_.empty());
    shard_.reset();
    store_.reset();
  }
  // As a run that goes on does; how often that scanned the rows.
  int ScansOfLoad(uint64_t cache_bytes = 1 << 20) {
    OpenRows(1, cache_bytes);
    scans_ = 0;
    EXPECT_OK(store_->TellStored(shard_.get(), &progress_));
    const int scans = scans_;
    EXPECT_EQ(progress_.bytes_done(), progress_.bytes_total());
    EXPECT_EQ(Digest(), digest_);
    return scans;
  }
  std::string Digest() {
    const auto scan = std::get<StoreScanned>(store_->Execute(ScanStore{1000}));
    EXPECT_OK(scan.status);
    return fmt::format("{} rows {:x} {:x}", scan.rows, scan.digest_high, scan.digest_low);
  }
  // Only rows that were written are looked up, and all have the values they were left with.
  void ExpectTheRowsThatWereSaved() {
    const uint64_t never = Pull(1, {0, 1, 2, 4, 6, 8, 9}, /*eval=*/true);
    EXPECT_TRUE(waiting_.empty());
    EXPECT_EQ(Pulled(never), (std::vector<float>{first_[0], first_[1], first_[2], first_[4],
                                                 first_[6], first_[8], first_[9]}));
    const uint64_t changed = Pull(1, {3, 5, 7}, /*eval=*/true);
    EXPECT_TRUE(IsNext<ReadRows>());
    CarryOutAll();
    EXPECT_EQ(Pulled(changed),
              (std::vector<float>{first_[3] - 0.5f, first_[5] - 0.5f, first_[7] - 0.5f}));
  }

  TempDir dir_;
  const std::string file_ = dir_ / "written_rows";
  int scans_ = 0;
  OpeningProgress progress_;
  std::string digest_;
};

TEST_F(KeptWrittenRowsTest, GoingOnNeedsNoScan) {
  ASSERT_NO_FATAL_FAILURE(TrainAndSave());
  EXPECT_EQ(ScansOfLoad(), 0);
  ExpectTheRowsThatWereSaved();
  // Nor does going on once more, from more rows.
  const uint64_t pull = Pull(1, {3, 8});
  CarryOutAll();
  Push(1, {3, 8});
  Flush(2);
  CarryOutAll();
  const float changed = Pulled(pull)[1] - 0.5f;
  digest_ = Digest();
  Close();
  EXPECT_EQ(ScansOfLoad(), 0);
  const uint64_t again = Pull(1, {8});
  CarryOutAll();
  EXPECT_EQ(Pulled(again), std::vector<float>{changed});
}

// Of a table of which a bit a row fits the largest of these caches alone.
class KeptForAnotherCache : public KeptWrittenRowsTest,
                            public testing::WithParamInterface<uint64_t> {};

constexpr uint64_t kSmallCache = 64 << 10, kOtherCache = 80 << 10, kLargeCache = 3 << 20;

TEST_P(KeptForAnotherCache, GoingOnNeedsNoScan) {
  rows_ = 1 << 20;
  ASSERT_NO_FATAL_FAILURE(TrainAndSave(GetParam()));
  for (const uint64_t cache_bytes : {kSmallCache, kOtherCache, kLargeCache}) {
    EXPECT_EQ(ScansOfLoad(cache_bytes), 0) << cache_bytes;
    ExpectTheRowsThatWereSaved();
    Close();
  }
}

INSTANTIATE_TEST_SUITE_P(Caches, KeptForAnotherCache, testing::Values(kSmallCache, kLargeCache));

TEST_F(KeptWrittenRowsTest, WhateverIsWrongWithTheFileMeansAScan) {
  ASSERT_NO_FATAL_FAILURE(TrainAndSave());
  const std::string whole = ReadFile(file_).value();
  std::string flipped = whole;
  flipped[whole.size() / 2] ^= 1;
  for (const std::string& text : {flipped, whole.substr(0, whole.size() - 1), std::string()}) {
    ASSERT_OK(WriteFileDurably(file_, text));
    EXPECT_EQ(ScansOfLoad(), 1);
    ExpectTheRowsThatWereSaved();
    Close();
  }
  std::filesystem::remove(file_);
  EXPECT_EQ(ScansOfLoad(), 1);
  ExpectTheRowsThatWereSaved();
  Close();
  ASSERT_OK(WriteFileDurably(file_, whole));
  EXPECT_EQ(ScansOfLoad(), 0);
}

TEST_F(KeptWrittenRowsTest, ARowWrittenSinceIsNotOverlooked) {
  ASSERT_NO_FATAL_FAILURE(TrainAndSave());
  OpenRows(1);
  StoreRead read{.slice = {.record_bytes = 20}, .rows = {RowId{5}}, .records = {}, .missing = {}};
  read.records.resize(20);
  ReadRows reading{.ticket = 1, .reads = {}};
  reading.reads.push_back(std::move(read));
  const auto row5 = std::get<RowsRead>(store_->Execute(std::move(reading)));
  ASSERT_OK(row5.status);
  WriteRows writing{.ticket = 2, .writes = {}};
  writing.writes.push_back(
      {.slice = row5.reads[0].slice, .rows = {RowId{9}}, .records = row5.reads[0].records});
  ASSERT_OK(std::get<RowsWritten>(store_->Execute(std::move(writing))).status);
  ASSERT_OK(std::get<StoreSynced>(store_->Execute(SyncStore{.ticket = 3, .steps = 1})).status);
  digest_ = Digest();
  Close();
  EXPECT_EQ(ScansOfLoad(), 1);
  const uint64_t pull = Pull(1, {9}, /*eval=*/true);
  CarryOutAll();
  EXPECT_EQ(Pulled(pull), std::vector<float>{first_[5] - 0.5f});
}

TEST_F(KeptWrittenRowsTest, ASaveThatCannotKeepThemIsASaveAllTheSame) {
  std::filesystem::create_directories(file_ + "/in the way");
  ASSERT_NO_FATAL_FAILURE(TrainAndSave());
  EXPECT_TRUE(std::filesystem::is_directory(file_));
  EXPECT_EQ(ScansOfLoad(), 1);
  ExpectTheRowsThatWereSaved();
}

}  // namespace
}  // namespace rowhouse
