#include "ps/shard/local_tables.h"

#include <limits>

#include "tests/testing/shard_rooms.h"

namespace rowhouse {
namespace {

TableSpec TableOf(uint32_t id, uint64_t rows, uint32_t dim) {
  TableSpec table;
  table.id = TableId{id};
  table.name = "t" + std::to_string(id);
  table.rows = rows;
  table.dim = dim;
  table.optimizer = "sgd";
  return table;
}

// Shard 1 of two owns the second half of each table.
Result<LocalTables> SecondHalves(const std::vector<TableSpec>& tables) {
  const ShardOptions options{.id = ShardId{1}};
  return LocalTables::Make(options, tables, MakeRowWisePlan(tables, 2),
                           InitialiserSources::Open(tables).value());
}

TEST(LocalTables, ARowIsFoundInItsSliceOrNotAtAll) {
  LocalTables tables = SecondHalves({TableOf(0, 10, 2)}).value();
  LocalTable& table = tables[0];
  EXPECT_EQ(table.Find(RowId{4}), nullptr);
  EXPECT_EQ(table.Find(RowId{5}), &table.slices[0]);
  EXPECT_TRUE(table.Owns(RowId{9}));
  EXPECT_FALSE(table.Owns(RowId{4}));
  EXPECT_FALSE(table.Owns(RowId{10})) << "the table has no such row";
  EXPECT_FALSE(table.Owns(RowId{std::numeric_limits<uint64_t>::max()}));
}

TEST(LocalTables, APeerMayAskForAnyTable) {
  LocalTables tables = SecondHalves({TableOf(0, 10, 2), TableOf(1, 8, 4)}).value();
  EXPECT_EQ(tables.Find(1, 0), &tables[1]);
  EXPECT_EQ(tables.Find(1, 16), nullptr);
  EXPECT_EQ(tables.Find(2, 0), nullptr);
  EXPECT_EQ(tables.Find(std::numeric_limits<uint32_t>::max(), 0), nullptr);
}

TEST(LocalTables, SlicesAreNumberedInTheOrderOfTheTables) {
  LocalTables tables = SecondHalves({TableOf(0, 10, 2), TableOf(1, 8, 4)}).value();
  ASSERT_EQ(tables.slices().size(), 2u);
  for (uint32_t number = 0; number < 2; ++number) {
    EXPECT_EQ(tables.slices()[number]->number, number);
    EXPECT_EQ(&tables.TableOf(*tables.slices()[number]), &tables[number]);
  }
}

TEST(LocalTables, CachesBeginWithTheSharesOfThePlan) {
  const std::vector<TableSpec> specs = {TableOf(0, 1000, 1), TableOf(1, 1000, 1)};
  const ShardOptions options{.node = {.cache_ways = 1}, .cache_bytes = 200 * 20};
  const auto slots = [&](const Plan& plan) {
    const LocalTables tables =
        LocalTables::Make(options, specs, plan, InitialiserSources::Open(specs).value()).value();
    return std::pair<uint64_t, uint64_t>(tables[0].slices[0].cache->capacity_rows(),
                                         tables[1].slices[0].cache->capacity_rows());
  };
  const Plan plan = MakeRowWisePlan(specs, 1);
  EXPECT_EQ(slots(plan), (std::pair<uint64_t, uint64_t>(100, 100)));
  EXPECT_EQ(slots(plan.WithCacheShares(specs, {0.9, 0.1}).value()),
            (std::pair<uint64_t, uint64_t>(180, 20)));
  EXPECT_EQ(slots(plan.WithCacheShares(specs, {0.25, std::nullopt}).value()),
            (std::pair<uint64_t, uint64_t>(50, 150)));
}

TEST(LocalTables, OnlyRowsThatAreStoredMayBeStored) {
  LocalTables tables = SecondHalves({TableOf(0, 10, 2)}).value();
  const LocalSlice& slice = tables[0].slices[0];
  EXPECT_FALSE(slice.MayBeStored(7));
  tables.NoteStored(TableId{0}, RowId{7}, 0);
  EXPECT_TRUE(slice.MayBeStored(7));
  tables.NoteStored(TableId{0}, RowId{1}, 0);  // Of another shard: ignored.
  tables.NoteStored(TableId{3}, RowId{7}, 0);
}

TEST(LocalTables, FindAheadGivesEveryRowInItsOrder) {
  LocalTables tables = SecondHalves({TableOf(0, 400, 1)}).value();
  LocalTable& table = tables[0];
  RowCache& cache = *table.slices[0].cache;
  std::vector<RowId> rows;
  for (uint64_t row = 200; row < 300; ++row) {
    rows.push_back(RowId{row});
    CacheVictim victim;
    if (row % 3 == 0) {
      ASSERT_NE(cache.Claim(RowId{row}, 0, &victim), RowCache::kNone);
    }
  }
  size_t at = 0;
  FindAhead ahead(table, rows, /*claims=*/false);
  for (auto found = ahead.Next(); !found.empty(); found = ahead.Next()) {
    EXPECT_EQ(found.size(), std::min(FindAhead::kAtOnce, rows.size() - at));
    for (const FoundRow& row : found) {
      EXPECT_EQ(row.slice, &table.slices[0]);
      EXPECT_EQ(row.slot, cache.Find(rows[at]));
      if (row.slot == RowCache::kNone) {
        EXPECT_EQ(row.position, Raw(rows[at]));
      }
      ++at;
    }
  }
  EXPECT_EQ(at, rows.size());
}

TEST(LocalTables, MissingRowsOfAReadGetTheirInitialValues) {
  LocalTables tables = SecondHalves({TableOf(0, 10, 2)}).value();
  LocalTable& table = tables[0];
  StoreRead all = ReadOf(table.slices[0]);
  all.rows = {RowId{5}, RowId{6}};
  MarkAllMissing(all);
  ASSERT_OK(table.InitialiseMissing(all));
  StoreRead second = all;
  second.missing = {1};
  std::ranges::fill(second.records, std::byte{0});
  ASSERT_OK(table.InitialiseMissing(second));
  const size_t bytes = all.slice.record_bytes;
  EXPECT_TRUE(std::equal(second.records.begin() + bytes, second.records.end(),
                         all.records.begin() + bytes));
  EXPECT_TRUE(std::all_of(second.records.begin(), second.records.begin() + bytes,
                          [](std::byte byte) { return byte == std::byte{0}; }))
      << "it was stored";
}

TEST(LocalTables, UnknownFamiliesAreRefusedByName) {
  TableSpec table = TableOf(0, 10, 2);
  table.initialiser = "none_such";
  const ShardOptions options;
  EXPECT_EQ(LocalTables::Make(options, {table}, MakeRowWisePlan({table}, 1), {}).status().code(),
            StatusCode::kUsage);
  table = TableOf(0, 10, 2);
  EXPECT_EQ(LocalTables::Make({.node = {.cache_policy = "none_such"}}, {table},
                              MakeRowWisePlan({table}, 1), {})
                .status()
                .code(),
            StatusCode::kUsage);
}

}  // namespace
}  // namespace rowhouse
