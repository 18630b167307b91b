// The search for the least largest load: against every placement of small instances, against LPT
// on the shapes of published traces, and within limits.
#include "sharding/lab/planner/load_search.h"

#include "tests/sharding/planner/meta_shapes.h"
#include "tests/testing/testing.h"
// After gtest's, which testing.h includes.
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <ctime>
#include <numeric>

#include "sharding/tables/longest_processing_time.h"

namespace rowhouse {
namespace {

// Longest processing time first alone.
LoadPlacement LptPlacement(std::span<const LoadItem> items, const LoadLimits& limits) {
  return SearchPlacement(items, limits, {.max_moves = 0, .may_cut = false});
}

using Items = std::vector<LoadItem>;

Items WholeItems(const std::vector<uint64_t>& loads) {
  Items items;
  for (const uint64_t load : loads) items.push_back({.load = load});
  return items;
}

Items AnyItems(size_t most, uint64_t most_units) {
  Items items(*rc::gen::inRange<size_t>(1, most + 1));
  for (LoadItem& item : items) {
    item.load = *rc::gen::resize(rc::kNominalSize, rc::gen::inRange<uint64_t>(1, 1000));
    item.bytes = *rc::gen::inRange<uint64_t>(1, 50);
    item.piece_load = *rc::gen::inRange<uint64_t>(0, 5);
    item.units = *rc::gen::inRange<uint64_t>(1, most_units + 1);
  }
  return items;
}

// The least largest load over all placements of whole items that keep to the limits, by trying all;
// nothing if there is none.
std::optional<uint64_t> LeastByTryingAll(const Items& items, const LoadLimits& limits) {
  std::optional<uint64_t> least;
  std::vector<uint32_t> rank_of(items.size());
  while (true) {
    std::vector<uint64_t> load(limits.ranks), bytes(limits.ranks);
    for (size_t i = 0; i < items.size(); ++i) {
      load[rank_of[i]] += items[i].load + items[i].piece_load;
      bytes[rank_of[i] / limits.ranks_per_node] += items[i].bytes;
    }
    const bool fits = limits.node_bytes == 0 || std::ranges::max(bytes) <= limits.node_bytes;
    if (fits && (!least || std::ranges::max(load) < *least)) least = std::ranges::max(load);
    size_t digit = 0;
    while (digit < items.size() && ++rank_of[digit] == limits.ranks) rank_of[digit++] = 0;
    if (digit == items.size()) return least;
  }
}

// Every unit of every item has one rank; loads and limits are as the pieces say.
void ExpectIsPlacement(const Items& items, const LoadLimits& limits, const LoadPlacement& placed) {
  std::vector<uint64_t> next(items.size()), load(limits.ranks), bytes(limits.ranks);
  std::vector<uint64_t> whole(items.size());
  for (const LoadPiece& piece : placed.pieces) {
    const LoadItem& item = items[piece.item];
    EXPECT_EQ(piece.begin, next[piece.item]);
    EXPECT_LT(piece.begin, piece.end);
    EXPECT_LT(piece.rank, limits.ranks);
    next[piece.item] = piece.end;
    const auto part = [&](uint64_t total) {
      return total * piece.end / item.units - total * piece.begin / item.units;
    };
    load[piece.rank] += part(item.load) + item.piece_load;
    bytes[piece.rank / limits.ranks_per_node] += part(item.bytes);
  }
  for (size_t i = 0; i < items.size(); ++i) EXPECT_EQ(next[i], items[i].units) << "item " << i;
  EXPECT_EQ(placed.loads, load);
  if (limits.node_bytes > 0) {
    EXPECT_LE(std::ranges::max(bytes), limits.node_bytes);
  }
}

RC_GTEST_PROP(LoadSearch, OfWholeTablesIsNearTheBestOfAllAndNeverWorseThanLpt, ()) {
  const Items items = AnyItems(7, 1);
  const LoadLimits limits{.ranks = *rc::gen::inRange(1u, 4u)};
  const LoadPlacement placed = SearchPlacement(items, limits);
  ExpectIsPlacement(items, limits, placed);
  const uint64_t best = LeastByTryingAll(items, limits).value();
  const uint64_t lpt = LptPlacement(items, limits).largest();
  RC_ASSERT(placed.largest() >= best);
  RC_ASSERT(placed.largest() <= lpt);
  // Graham's bound holds for what begins with LPT: 4/3 - 1 / (3 ranks).
  RC_ASSERT(3 * limits.ranks * placed.largest() <= (4 * limits.ranks - 1) * best);
  RC_ASSERT(LargestLoadLowerBound(items, limits.ranks, true) <= best);
}

RC_GTEST_PROP(LoadSearch, CutsKeepEveryUnitAndNeverMakeItWorse, ()) {
  const Items items = AnyItems(12, 1000);
  const LoadLimits limits{.ranks = *rc::gen::inRange(1u, 9u),
                          .ranks_per_node = *rc::gen::inRange(1u, 3u)};
  const LoadPlacement cut = SearchPlacement(items, limits);
  ExpectIsPlacement(items, limits, cut);
  RC_ASSERT(cut.largest() <= SearchPlacement(items, limits, {.may_cut = false}).largest());
  RC_ASSERT(cut.pieces == SearchPlacement(items, limits).pieces);
}

RC_GTEST_PROP(LoadSearch, LimitsHoldAndWhatHasRoomInOnePieceIsPlaced, ()) {
  const Items items = AnyItems(6, 64);
  const LoadLimits limits{.ranks = *rc::gen::inRange(2u, 4u),
                          .node_bytes = *rc::gen::inRange<uint64_t>(60, 200)};
  const LoadPlacement placed = SearchPlacement(items, limits);
  if (!placed.refusal) {
    ExpectIsPlacement(items, limits, placed);
    return;
  }
  RC_ASSERT(placed.refusal->needs > placed.refusal->is_there);
  uint64_t bytes = 0;
  for (const LoadItem& item : items) bytes += item.bytes;
  // No node had room for what was left, so that the first one was nearly full.
  RC_ASSERT(bytes + 50 > limits.node_bytes);
}

TEST(LoadSearch, LptAloneIsLpt) {
  const std::vector<uint64_t> loads = {9, 8, 7, 6, 5, 4};
  const auto groups = LongestProcessingTime(loads, std::vector<uint32_t>(2, 1));
  for (const LoadPiece& piece : LptPlacement(WholeItems(loads), {.ranks = 2}).pieces) {
    EXPECT_EQ(std::ranges::count(groups[piece.rank], piece.item), 1);
  }
}

TEST(LoadSearch, SwapsWhereMovesDoNotHelp) {
  // LPT: 3 + 2 + 2 and 3 + 2; the best is 3 + 3 and 2 + 2 + 2, a swap away.
  const LoadPlacement placed =
      SearchPlacement(WholeItems({3, 3, 2, 2, 2}), {.ranks = 2}, {.may_cut = false});
  EXPECT_EQ(LptPlacement(WholeItems({3, 3, 2, 2, 2}), {.ranks = 2}).largest(), 7u);
  EXPECT_EQ(placed.largest(), 6u);
  // Graham's worst case for LPT: 2m - 1 sizes on m ranks; LPT gives 11, the best is 9.
  const LoadPlacement worst =
      SearchPlacement(WholeItems({5, 5, 4, 4, 3, 3, 3}), {.ranks = 3}, {.may_cut = false});
  EXPECT_EQ(LptPlacement(WholeItems({5, 5, 4, 4, 3, 3, 3}), {.ranks = 3}).largest(), 11u);
  EXPECT_LE(worst.largest(), 10u);
}

TEST(LoadSearch, OneHugeTableIsCutEvenly) {
  Items items = WholeItems({1000000, 10, 10});
  items[0].units = 1000;
  const LoadPlacement placed = SearchPlacement(items, {.ranks = 8});
  EXPECT_LE(placed.max_over_mean(), 1.011);
  EXPECT_LE(placed.pieces.size(), 8u + 2u + 1u);
}

TEST(LoadSearch, WherePiecesCostMoreThanTheMeanAnItemIsNeverMorePiecesThanRanks) {
  constexpr uint64_t kRows = uint64_t{1} << 40;  // one piece each would never end
  const Items items = {{.load = 1000, .piece_load = 5000, .units = kRows},
                       {.load = 0, .piece_load = 90'000, .units = kRows}};
  const LoadPlacement placement = SearchPlacement(items, {.ranks = 8});
  EXPECT_LE(placement.pieces.size(), 9u);
  EXPECT_EQ(placement.largest(), 90'000u);
}

TEST(LoadSearch, ATableThatFitsNowhereIsNamedWithWhatIsThere) {
  Items items = WholeItems({1, 1, 1});
  items[0].bytes = 10;
  items[1].bytes = 30;
  items[2].bytes = 10;
  const LoadLimits limits{.ranks = 2, .node_bytes = 25};
  const LoadPlacement refused = SearchPlacement(items, limits);
  ASSERT_TRUE(refused.refusal);
  EXPECT_EQ(refused.refusal->item, 1u);
  EXPECT_EQ(refused.refusal->needs, 30u);
  EXPECT_EQ(refused.refusal->is_there, 25u);
  items[1].units = 30;
  EXPECT_FALSE(SearchPlacement(items, limits).refusal) << "in two pieces it fits";
}

// Between two and three tables a rank, where LPT is worst.
TEST(LoadSearch, BeatsLptOnTablesOfLikeSize) {
  SplitMix64 random(1);
  Items items;
  for (int i = 0; i < 1000; ++i) items.push_back({.load = 1'000'000 + random.Next() % 1'000'000});
  const LoadLimits limits{.ranks = 400};
  const double lpt = LptPlacement(items, limits).max_over_mean();
  const LoadPlacement whole = SearchPlacement(items, limits, {.may_cut = false});
  for (LoadItem& item : items) item.units = 1000;
  const LoadPlacement cut = SearchPlacement(items, limits);
  fmt::print("LPT {:.4f}, moves and swaps {:.4f}, with cuts {:.4f} ({} pieces)\n", lpt,
             whole.max_over_mean(), cut.max_over_mean(), cut.pieces.size());
  EXPECT_LE(whole.max_over_mean(), lpt);
  EXPECT_LE(cut.max_over_mean(), 1.02);
}

// As if it were ns.
Items MetaItems(const MetaShape& shape, bool may_cut) {
  Items items;
  for (const MetaTable& table : shape.tables) {
    items.push_back({.load = static_cast<uint64_t>(table.distinct * 1000),
                     .piece_load = 1000,
                     .units = may_cut ? static_cast<uint64_t>(table.distinct) : 1});
  }
  return items;
}

TEST(LoadSearch, OnPublishedShapesWholeTablesReachTheBoundOrBeatLpt) {
  for (const MetaShape& shape : MetaShapes()) {
    const Items items = MetaItems(shape, false);
    for (const uint32_t ranks : {8u, 16u, 64u, 128u}) {
      const LoadPlacement placed = SearchPlacement(items, {.ranks = ranks});
      const LoadPlacement lpt = LptPlacement(items, {.ranks = ranks});
      const uint64_t bound = LargestLoadLowerBound(items, ranks, false);
      const double mean = static_cast<double>(std::accumulate(placed.loads.begin(),
                                                              placed.loads.end(), uint64_t{0})) /
                          ranks;
      fmt::print("{} tables, {} ranks: max/mean {:.4f}, LPT {:.4f}, lower bound {:.4f}\n",
                 items.size(), ranks, placed.max_over_mean(), lpt.max_over_mean(),
                 static_cast<double>(bound) / mean);
      EXPECT_LE(placed.largest(), lpt.largest());
      EXPECT_LE(static_cast<double>(placed.largest()),
                std::max(static_cast<double>(bound) * 1.001, 1.05 * mean));
    }
  }
}

TEST(LoadSearch, OnPublishedShapesCutTablesAreWithinOnePercentOfEven) {
  for (const MetaShape& shape : MetaShapes()) {
    for (const uint32_t ranks : {128u, 1024u}) {
      const Items items = MetaItems(shape, true);
      const LoadPlacement placed = SearchPlacement(items, {.ranks = ranks});
      ExpectIsPlacement(items, {.ranks = ranks}, placed);
      fmt::print("{} tables, {} ranks: max/mean {:.4f} with {} pieces\n", items.size(), ranks,
                 placed.max_over_mean(), placed.pieces.size());
      EXPECT_LE(placed.max_over_mean(), 1.02);
      EXPECT_LE(placed.pieces.size(), items.size() + 2 * ranks);
    }
  }
}

}  // namespace
}  // namespace rowhouse
