#include "ps/shard/cache_moves.h"

#include "tests/testing/shard_rooms.h"

namespace rowhouse {
namespace {

// Two tables of 64 rows of 20 bytes, caches of 32 rows each.
class CacheMovesTest : public ShardRooms {
 protected:
  void OpenMoves(ShardOptions options) {
    options.cache_bytes = 2 * 32 * 20;
    options.node.cache_ways = 1;
    std::vector<TableSpec> tables(2);
    for (uint32_t t = 0; t < 2; ++t) {
      tables[t].id = TableId{t};
      tables[t].name = "t" + std::to_string(t);
      tables[t].rows = 64;
      tables[t].dim = 1;
      tables[t].optimizer = "sgd";
    }
    OpenTables(options, tables);
    sweeper_ =
        std::make_unique<Sweeper>(*state_, Sweeper::Rooms{.tables = *tables_, .writer = *writer_});
    moves_ = std::make_unique<CacheMoves>(*state_, CacheMoves::Rooms{.tables = *tables_,
                                                                     .writer = *writer_,
                                                                     .admission = *admission_,
                                                                     .sweeper = *sweeper_});
  }
  void ApplyStep() {
    ++state_->next_step;
    moves_->OnStepApplied();
  }
  uint64_t BytesOf(size_t table) { return (*tables_)[table].slices[0].cache_bytes; }

  std::unique_ptr<Sweeper> sweeper_;
  std::unique_ptr<CacheMoves> moves_;
};

TEST_F(CacheMovesTest, NothingMovesUnlessAskedForOrWhereAllRowsFit) {
  OpenMoves({});
  EXPECT_FALSE(moves_->is_on());
  OpenMoves({.node = {.cache_ratio = 0.5}, .cache_move_steps = 4});
  EXPECT_FALSE(moves_->is_on()) << "no cache may hold more";
  OpenMoves({.cache_move_steps = 4});
  EXPECT_TRUE(moves_->is_on());
  EXPECT_EQ(state_->counters.cache_bytes, 2 * 32 * 20u);
}

TEST_F(CacheMovesTest, AGrantIsCarriedOutAtTheNextStep) {
  OpenMoves({.cache_move_steps = 2});
  ApplyStep();
  EXPECT_TRUE(Take<AskCacheBudget>().empty());
  ApplyStep();
  const std::vector<AskCacheBudget> asked = Take<AskCacheBudget>();
  ASSERT_EQ(asked.size(), 1u);
  EXPECT_EQ(asked[0].demands.slices.size(), 2u);
  CacheGrant grant;
  grant.bytes = {16 * 20, 48 * 20};
  grant.is_settled = true;
  moves_->OnGranted({grant});
  EXPECT_EQ(BytesOf(0), 32 * 20u) << "not within a step";
  ApplyStep();
  EXPECT_EQ(BytesOf(0), 16 * 20u);
  EXPECT_EQ(BytesOf(1), 48 * 20u);
  EXPECT_EQ(state_->counters.cache_bytes_moved, 16 * 20u);
}

TEST_F(CacheMovesTest, DirtyRowsThatMustLeaveAreWritten) {
  OpenMoves({.cache_move_steps = 1});
  for (uint64_t row = 0; row < 32; ++row) Cache(RowId{row}, 1.0f, /*is_dirty=*/true);
  ApplyStep();
  CacheGrant grant;
  grant.bytes = {16 * 20, 48 * 20};
  grant.is_settled = true;
  moves_->OnGranted({grant});
  ApplyStep();
  EXPECT_EQ(state_->counters.rows_evicted, 16u);
  EXPECT_EQ(state_->counters.rows_written, 16u);
}

}  // namespace
}  // namespace rowhouse
