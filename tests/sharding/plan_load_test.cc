// What a plan gives each shard, against counting row by row.
#include "sharding/plans/plan_load.h"

#include <cmath>
#include <numeric>

#include "sharding/plans/plan_maker.h"
#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

TableSpec PlanLoadTable(uint32_t id, uint64_t rows, uint32_t dim) {
  TableSpec table;
  table.id = TableId{id};
  table.name = fmt::format("t{}", id);
  table.rows = rows;
  table.dim = dim;
  return table;
}

EmbeddingTables PlanLoadModel() {
  EmbeddingTables model;
  model.physical = {PlanLoadTable(0, 300, 40), PlanLoadTable(1, 17, 8), PlanLoadTable(2, 5, 4)};
  model.on_workers = {false, false, true};
  model.strategies.resize(3);
  model.pool_on.resize(3);
  return model;
}

uint64_t AccessesOf(const TableSpec& table, uint64_t row) {
  return 1 + 1000 / (1 + (row * 7 + Raw(table.id)) % table.rows);
}

AccessCounts Counted(const std::vector<TableSpec>& tables) {
  AccessCounts counts;
  for (const TableSpec& table : tables) {
    AccessCounter counter(table.name, table.rows);
    for (uint64_t row = 0; row < table.rows; ++row) counter.Add(row, AccessesOf(table, row));
    counts.tables.push_back(counter.Finish());
  }
  return counts;
}

TEST(PlanLoad, IsWhatEachShardHoldsAndIsAskedFor) {
  const EmbeddingTables model = PlanLoadModel();
  const AccessCounts accesses = Counted(model.physical);
  for (const std::string& strategy : ShardingStrategies().Names()) {
    SCOPED_TRACE(strategy);
    const Plan plan =
        MakePlan(model, {.shards = 3, .strategy = strategy, .options = {}, .accesses = &accesses})
            .value();
    std::vector<ShardLoad> shards(3);
    ShardLoad workers;
    for (const TableSpec& table : model.physical) {
      const auto& single = plan.worker_rows(table.id);
      for (uint64_t row = 0; row < table.rows; ++row) {
        const bool is_single = std::ranges::binary_search(single, RowId{row});
        const uint64_t position = plan.order(table.id).PositionOf(RowId{row});
        for (const Slice& slice : plan.slices(table.id)) {
          if (position < slice.row_begin || position >= slice.row_end) continue;
          const bool is_there = is_single || slice.shard == kOnWorkers;
          ShardLoad& load = is_there ? workers : shards[Raw(slice.shard)];
          load.rows += 1;
          load.bytes += (is_single ? table.dim : slice.columns()) * 4 + 16;
          load.accesses += static_cast<double>(AccessesOf(table, row));
          if (is_single) break;
        }
      }
    }
    const PlanLoad load = LoadOf(model.physical, plan, &accesses);
    ASSERT_EQ(load.shards.size(), 3u);
    for (size_t s = 0; s < 3; ++s) {
      EXPECT_DOUBLE_EQ(load.shards[s].rows, shards[s].rows);
      EXPECT_DOUBLE_EQ(load.shards[s].bytes, shards[s].bytes);
      EXPECT_NEAR(load.shards[s].accesses, shards[s].accesses, 1e-6);
    }
    EXPECT_DOUBLE_EQ(load.workers.rows, workers.rows);
    EXPECT_DOUBLE_EQ(load.workers.bytes, workers.bytes);
    EXPECT_NEAR(load.workers.accesses, workers.accesses, 1e-6);
    EXPECT_EQ(LoadOf(model.physical, plan, nullptr).shards[0].accesses, 0.0);
  }
}

// More rows than counters and ranges: totals hold, the rest is spread.
TEST(PlanLoad, SpreadsWhatIsKnownByRangeOnly) {
  const std::vector<TableSpec> tables = {PlanLoadTable(0, 1 << 20, 4)};
  AccessCounter counter("t0", 1 << 20);
  for (uint64_t row = 0; row < (1 << 18); ++row) counter.Add(row, 4);
  const AccessCounts accesses{.tables = {counter.Finish()}};
  const PlanLoad cut = LoadOf(tables, MakeRowWisePlan(tables, 8), &accesses);
  EXPECT_NEAR(cut.shards[0].accesses, 1 << 19, 1.0);
  EXPECT_NEAR(cut.shards[1].accesses, 1 << 19, 1.0);
  EXPECT_EQ(cut.shards[2].accesses, 0.0);
}

TEST(PlanLoad, MaxOverMean) {
  EXPECT_DOUBLE_EQ(MaxOverMean({1, 2, 3}), 1.5);
  EXPECT_DOUBLE_EQ(MaxOverMean({0, 0}), 1.0);
}

TEST(RowsTouched, AreCountedExactlyWhileTheSketchHoldsThemAll) {
  AccessCounter counter("t", 1 << 30);
  for (uint64_t row = 0; row < 1000; ++row) counter.Add(row * 99991 % 700 << 20);
  EXPECT_EQ(counter.rows_touched(), 700u);
}

TEST(RowsTouched, AreEstimatedBeyond) {
  for (const double touched : {2e5, 1e6}) {
    AccessCounter counter("t", uint64_t{1} << 40);
    for (uint64_t row = 0; static_cast<double>(row) < touched; ++row) counter.Add(row << 10);
    EXPECT_NEAR(static_cast<double>(counter.rows_touched()), touched, 0.05 * touched);
  }
  AccessCounter all("t", 200'000);
  for (uint64_t row = 0; row < 200'000; ++row) all.Add(row);
  EXPECT_LE(all.rows_touched(), 200'000u);
}

}  // namespace
}  // namespace rowhouse
