#include "sharding/plans/router.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

constexpr uint64_t kRows = 10;
constexpr uint32_t kDim = 32;
constexpr TableId kTable{0};

TableSpec RouterTable() {
  TableSpec table;
  table.id = kTable;
  table.name = "t";
  table.rows = kRows;
  table.dim = kDim;
  return table;
}

Slice SliceAt(uint64_t row_begin, uint64_t row_end, uint32_t column_begin, uint32_t column_end,
              uint32_t shard) {
  return {.table = kTable,
          .row_begin = row_begin,
          .row_end = row_end,
          .column_begin = column_begin,
          .column_end = column_end,
          .shard = ShardId{shard}};
}

// Rows 0 .. 5 whole on shard 1; of the others, shard 0 has the first 16 columns, shard 2 the rest.
Plan ThreeShards(TablePlacement placement) {
  placement.table = kTable;
  return Plan::Make({RouterTable()}, 3,
                    {SliceAt(0, 6, 0, kDim, 1), SliceAt(6, kRows, 0, 16, 0),
                     SliceAt(6, kRows, 16, kDim, 2)},
                    {placement})
      .value();
}

RoutedRows Route(const Plan& plan, const std::vector<RowId>& rows) {
  RoutedRows routed;
  Router(plan).RouteRows(kTable, rows, &routed);
  return routed;
}

TEST(Router, RowsInOrderAreRangesOfTheBatch) {
  const std::vector<RowId> rows = {RowId{1}, RowId{5}, RowId{6}, RowId{7}, RowId{9}};
  const RoutedRows routed = Route(ThreeShards({}), rows);
  EXPECT_TRUE(routed.rows.empty());
  const std::vector<RoutedPiece> want = {
      {.shard = ShardId{1}, .begin = 0, .end = 2, .first_column = 0, .columns = kDim},
      {.shard = ShardId{0}, .begin = 2, .end = 5, .first_column = 0, .columns = 16},
      {.shard = ShardId{2}, .begin = 2, .end = 5, .first_column = 16, .columns = 16}};
  EXPECT_EQ(routed.pieces, want);
}

TEST(Router, ABandWithoutRowsHasNoPiece) {
  const RoutedRows routed = Route(ThreeShards({}), {RowId{8}});
  ASSERT_EQ(routed.pieces.size(), 2u);
  EXPECT_EQ(routed.pieces[0].shard, ShardId{0});
  EXPECT_TRUE(Route(ThreeShards({}), {}).pieces.empty());
}

// Where the plan says that a row's columns are: by position, then slice.
std::map<std::pair<uint64_t, uint32_t>, uint32_t> OwnersOf(const Plan& plan) {
  std::map<std::pair<uint64_t, uint32_t>, uint32_t> owners;  // (row, first column) -> shard
  for (const Slice& slice : plan.slices(kTable)) {
    for (uint64_t position = slice.row_begin; position < slice.row_end; ++position) {
      owners[{Raw(plan.order(kTable).RowAt(position)), slice.column_begin}] = Raw(slice.shard);
    }
  }
  return owners;
}

TEST(Router, ScatteredRowsGoToTheirOwnersInOrderAndThoseOnWorkersToNobody) {
  const Plan plan =
      ThreeShards({.order = RowOrder::Scattered(kRows, 77), .worker_rows = {RowId{2}, RowId{9}}});
  std::vector<RowId> rows;
  for (uint64_t row = 0; row < kRows; ++row) rows.push_back(RowId{row});
  const RoutedRows routed = Route(plan, rows);
  EXPECT_EQ(routed.rows.size(), kRows - 2);
  auto owners = OwnersOf(plan);
  for (const RoutedPiece& piece : routed.pieces) {
    for (size_t place = piece.begin; place < piece.end; ++place) {
      const uint64_t row = Raw(rows[routed.RowAt(place)]);
      EXPECT_NE(row, 2u);
      EXPECT_NE(row, 9u);
      const auto owner = owners.find({row, piece.first_column});
      ASSERT_NE(owner, owners.end()) << "row " << row << " is routed twice";
      EXPECT_EQ(owner->second, Raw(piece.shard));
      owners.erase(owner);
      if (place > piece.begin) {
        EXPECT_GT(row, Raw(rows[routed.RowAt(place - 1)])) << "rows ascend within a band";
      }
    }
  }
  for (const auto& [at, shard] : owners) EXPECT_TRUE(at.first == 2 || at.first == 9);
}

TEST(Router, ATableOnTheWorkersHasNoPieces) {
  Slice all = SliceAt(0, kRows, 0, kDim, 0);
  all.shard = kOnWorkers;
  const Plan plan = Plan::Make({RouterTable()}, 1, {all}).value();
  EXPECT_TRUE(Route(plan, {RowId{3}}).pieces.empty());
}

TEST(Router, BagsOfSplitRowsGoLookupByLookup) {
  const Plan plan = ThreeShards({.pools_on_shards = true});
  const std::vector<uint32_t> offsets = {0, 3, 3, 5};
  const std::vector<uint64_t> rows = {7, 1, 6, 0, 1};
  const std::vector<RoutedBags> routed = Router(plan).RouteBags(kTable, offsets, rows);
  ASSERT_EQ(routed.size(), 3u);
  EXPECT_EQ(routed[0].shard, ShardId{1});
  EXPECT_FALSE(routed[0].is_whole);
  EXPECT_EQ(routed[0].lookups, (std::vector<uint32_t>{1, 3, 4}));
  EXPECT_EQ(routed[0].offsets, (std::vector<uint32_t>{0, 1, 1, 3}));
  for (const size_t r : {size_t{1}, size_t{2}}) {
    EXPECT_EQ(routed[r].columns, 16u);
    EXPECT_EQ(routed[r].lookups, (std::vector<uint32_t>{0, 2}));
    EXPECT_EQ(routed[r].offsets, (std::vector<uint32_t>{0, 2, 2, 2}));
  }
  EXPECT_EQ(routed[1].shard, ShardId{0});
  EXPECT_EQ(routed[2].shard, ShardId{2});
}

TEST(Router, WholeBagsGoToEachSliceOfTheColumns) {
  const Plan plan =
      Plan::Make({RouterTable()}, 2, {SliceAt(0, kRows, 0, 16, 1), SliceAt(0, kRows, 16, kDim, 0)},
                 {{.table = kTable, .pools_on_shards = true}})
          .value();
  const std::vector<uint32_t> offsets = {0, 2};
  const std::vector<RoutedBags> routed =
      Router(plan).RouteBags(kTable, offsets, std::vector<uint64_t>{9, 0});
  ASSERT_EQ(routed.size(), 2u);
  EXPECT_EQ(routed[0].shard, ShardId{1});
  EXPECT_EQ(routed[1].first_column, 16u);
  for (const RoutedBags& bags : routed) {
    EXPECT_TRUE(bags.is_whole);
    EXPECT_EQ(bags.offsets, offsets);
    EXPECT_EQ(bags.PlaceOf(1), 1u);
  }
}

}  // namespace
}  // namespace rowhouse
