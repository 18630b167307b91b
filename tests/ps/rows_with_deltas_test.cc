// Rows of delta files are put into a store that cannot keep up, and their reading is seen.
#include "ps/store/rows_with_deltas.h"

#include <thread>

#include "common/durable_file.h"
#include "ps/store/store_environment.h"
#include "tests/testing/busy_flush_threads.h"
#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

constexpr StoreSlice kDeltaSlice{.table = TableId{0}, .first_column = 0, .record_bytes = 64};
// Several times what the memtables may hold, and more than are sorted at once.
constexpr uint64_t kDeltaRows = 70'000;

class RowsWithDeltasTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_OK(MakeDirectoryDurably(DeltaDirectory(dir_.path())));
    auto delta = DeltaWriter::Open(DeltaPath(dir_.path(), 7));
    ASSERT_OK(delta);
    StoreWrite write{.slice = kDeltaSlice, .rows = {}, .records = {}};
    for (uint64_t row = kDeltaRows; row-- > 0;) write.rows.push_back(RowId{row});
    write.records.resize(kDeltaRows * kDeltaSlice.record_bytes, std::byte('d'));
    ASSERT_OK(delta.value()->Add(write));
    const auto file = delta.value()->Finish();
    ASSERT_OK(file);
    deltas_ = {{.steps = 7, .file = file.value()}};
    auto store = RowStores().Make(
        "rocksdb",
        {.path = dir_ / "rows",
         .environment = std::make_shared<StoreEnvironment>(StoreEnvironmentOptions{
             .block_cache_bytes = 1 << 20, .memtable_bytes = 1 << 20, .stall_limit_ms = 1})});
    ASSERT_OK(store);
    store_ = std::move(store).value();
  }
  Status Put() {
    const Status put = PutDeltas(dir_.path(), deltas_, *store_, progress_);
    has_ended_ = true;
    return put;
  }
  void WaitForStalls(uint64_t stalls) {
    while (store_->counters().stalls < stalls && !has_ended_) std::this_thread::yield();
  }

  TempDir dir_;
  std::vector<SavedDelta> deltas_;
  std::unique_ptr<RowStore> store_;
  OpeningProgress progress_;
  std::atomic<bool> has_ended_ = false;
};

TEST_F(RowsWithDeltasTest, AStoreThatStallsIsGivenTimeToTakeThem) {
  BusyFlushThreads busy;
  std::jthread disk([&] {
    WaitForStalls(3);
    busy.Release();
  });
  ASSERT_OK(Put());
  uint64_t rows = 0;
  ASSERT_OK(store_->Scan([&](TableId, RowId row, uint16_t, std::span<const std::byte> record) {
    EXPECT_EQ(Raw(row), rows++);
    EXPECT_EQ(record[0], std::byte('d'));
    return OkStatus();
  }));
  EXPECT_EQ(rows, kDeltaRows);
  EXPECT_EQ(progress_.bytes_done(), progress_.bytes_total());
}

TEST_F(RowsWithDeltasTest, WhoStopsTheOpeningEndsTheWaitToo) {
  BusyFlushThreads busy;
  std::jthread stopping([&] {
    WaitForStalls(1);
    progress_.Stop();
  });
  EXPECT_EQ(Put().code(), StatusCode::kUnavailable);
}

TEST_F(RowsWithDeltasTest, AFileThatIsReadAndSortedIsProgress) {
  const DirectoryState state{.is_clean = true, .step = 7, .stamp = "", .deltas = deltas_};
  ASSERT_OK(store_->Sync());
  const auto open = [&] {
    return OpenRowsOf(dir_.path(), state, "rocksdb", {.read_only = true}, &progress_).status();
  };
  store_.reset();
  ASSERT_OK(open());
  EXPECT_GE(progress_.bytes_done(), deltas_[0].file.bytes);
  EXPECT_EQ(progress_.bytes_done(), progress_.bytes_total());
  progress_.Stop();
  EXPECT_EQ(open().code(), StatusCode::kUnavailable);
}

TEST_F(RowsWithDeltasTest, WhoChecksTheFilesIsToldOfEachByte) {
  uint64_t read = 0, pieces = 0;
  ASSERT_OK(CheckDeltas(dir_.path(), deltas_, [&](uint64_t bytes) {
    read += bytes;
    ++pieces;
    return OkStatus();
  }));
  EXPECT_EQ(read, deltas_[0].file.bytes);
  EXPECT_GT(pieces, 1u);
  const Status ended = CheckDeltas(dir_.path(), deltas_, [](uint64_t) {
    return MakeStatus(StatusCode::kUnavailable, "enough");
  });
  EXPECT_EQ(ended.message(), "enough");
}

}  // namespace
}  // namespace rowhouse
