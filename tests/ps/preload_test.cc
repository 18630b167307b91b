#include "ps/shard/preload.h"

#include "sharding/plans/access_counts.h"
#include "tests/testing/shard_rooms.h"

namespace rowhouse {
namespace {

class PreloadTest : public ShardRooms {
 protected:
  // A cache of 16 of 64 rows; row r was looked up r times.
  PreloadTest() {
    AccessCounter counter("t", 64);
    for (uint64_t row = 1; row < 64; ++row) counter.Add(row, row);
    AccessCounts counts;
    counts.tables.push_back(counter.Finish());
    Open({.node = {.cache_ratio = 0.25, .cache_warmup_ratio = 0.5},
          .access_counts = std::make_shared<const AccessCounts>(counts)});
    preload_ =
        std::make_unique<Preload>(*state_, Preload::Rooms{.tables = *tables_, .reader = *reader_});
  }
  bool IsCached(uint64_t row) { return slice().cache->Find(RowId{row}) != RowCache::kNone; }

  std::unique_ptr<Preload> preload_;
};

TEST_F(PreloadTest, TheHottestRowsFillTheirShareOfTheSlots) {
  preload_->Start();
  uint64_t cached = 0;
  for (uint64_t row = 0; row < 64; ++row) cached += IsCached(row) ? 1 : 0;
  EXPECT_EQ(cached, 8u);
  EXPECT_TRUE(IsCached(63));
  EXPECT_FALSE(IsCached(10));
}

TEST_F(PreloadTest, StoredRowsAreRead) {
  tables_->NoteStored(TableId{0}, RowId{63}, 0);
  preload_->Start();
  EXPECT_FALSE(IsCached(63));
  ReadRows read = std::move(Take<ReadRows>().at(0));
  EXPECT_EQ(read.reads.at(0).rows, std::vector<RowId>{RowId{63}});
  reader_->OnRowsRead({.ticket = read.ticket, .reads = std::move(read.reads)});
  EXPECT_TRUE(IsCached(63));
}

TEST_F(PreloadTest, NothingThatWasReadIsTakenOnceAStepWasApplied) {
  tables_->NoteStored(TableId{0}, RowId{63}, 0);
  preload_->Start();
  ReadRows read = std::move(Take<ReadRows>().at(0));
  preload_->Stop();
  reader_->OnRowsRead({.ticket = read.ticket, .reads = std::move(read.reads)});
  EXPECT_FALSE(IsCached(63)) << "it may have changed since";
}

}  // namespace
}  // namespace rowhouse
