#include "worker/client/message_part.h"

#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

RoutedPiece Rows(uint32_t shard, size_t begin, size_t end, uint32_t columns) {
  return {.shard = ShardId{shard}, .begin = begin, .end = end, .columns = columns};
}

TEST(PartDivider, PartsAreFilledUpToTheLimitAcrossPieces) {
  PartDivider divider(2, {.rows = 4, .bytes = 1 << 20});
  divider.AddRows(0, Rows(1, 0, 3, 2));
  divider.AddRows(1, Rows(1, 5, 10, 2));
  const std::vector<MessagePart> parts = divider.Take(/*to_every_shard=*/false);
  ASSERT_EQ(parts.size(), 2u);
  for (uint32_t k = 0; k < 2; ++k) {
    EXPECT_EQ(parts[k].shard, 1u);
    EXPECT_EQ(parts[k].number, k);
    EXPECT_EQ(parts[k].count, 2u);
  }
  ASSERT_EQ(parts[0].rows.size(), 2u);
  EXPECT_EQ(parts[0].rows[1].batch, 1u);
  EXPECT_EQ(parts[0].rows[1].rows(), 1u);
  ASSERT_EQ(parts[1].rows.size(), 1u);
  EXPECT_EQ(parts[1].rows[0].begin, 6u);
  EXPECT_EQ(parts[1].rows[0].end, 10u);
}

TEST(PartDivider, BytesAreLimitedAndARowLargerThanTheLimitGoesAlone) {
  PartDivider divider(1, {.rows = 100, .bytes = 2 * (8 + 4 * 4)});
  divider.AddRows(0, Rows(0, 0, 5, 4));
  EXPECT_EQ(divider.Take(false).size(), 3u);
  divider.AddRows(0, Rows(0, 0, 2, 1000));
  EXPECT_EQ(divider.Take(false).size(), 2u);
}

TEST(PartDivider, AShardWithoutRowsGetsAnEmptyPartIfAllAreToGetOne) {
  PartDivider divider(3, {});
  divider.AddRows(0, Rows(1, 0, 1, 1));
  const std::vector<MessagePart> parts = divider.Take(/*to_every_shard=*/true);
  ASSERT_EQ(parts.size(), 3u);
  EXPECT_TRUE(parts[0].rows.empty());
  EXPECT_EQ(parts[1].rows.size(), 1u);
  EXPECT_TRUE(parts[2].rows.empty());
}

TEST(PartDivider, BagsAreDividedAlikeWhateverRowsAreThere) {
  RoutedBags bags{.columns = 2, .lookups = {}, .offsets = {0, 3, 6, 6, 12}};
  const PartLimits limits{.rows = 6, .bytes = 1 << 20};
  const auto pieces_of = [&](PartDivider divider) {
    std::vector<std::pair<uint32_t, uint32_t>> pieces;
    divider.AddBags(0, bags);
    for (const MessagePart& part : divider.Take(false)) {
      for (const BagPiece& piece : part.bags) pieces.emplace_back(piece.begin, piece.end);
    }
    return pieces;
  };
  PartDivider with_rows(1, limits);
  with_rows.AddRows(0, Rows(0, 0, 5, 1));
  const std::vector<std::pair<uint32_t, uint32_t>> want = {{0, 3}, {3, 4}};
  EXPECT_EQ(pieces_of(PartDivider(1, limits)), want);
  EXPECT_EQ(pieces_of(with_rows), want);
}

}  // namespace
}  // namespace rowhouse
