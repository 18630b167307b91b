#include "ps/shard/bags.h"

#include <cmath>

#include "tests/testing/frame_of.h"
#include "tests/testing/shard_rooms.h"

namespace rowhouse {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pointee;

// Two bags of a table of one column: rows {2, 7}, and {7}.
PulledBags TwoBags(bool is_max) {
  PulledBags bags;
  bags.part = {.list = 4, .bags = 2, .lookups = 3, .is_max = is_max};
  bags.rows = {RowId{2}, RowId{7}};
  bags.slots = {0, 1, 1};
  bags.offsets = {0, 2, 3};
  return bags;
}

class BagsTest : public ShardRooms {
 protected:
  BagsTest() { Open({}); }
};

TEST_F(BagsTest, SumsAreOfTheRowsOfEachBag) {
  const std::vector<PulledBags> bags = {TwoBags(false)};
  const std::vector<float> rows = {1.0f, 10.0f};
  const std::vector<RowsOfBags> where = {{.rows = rows, .slots = bags[0].slots}};
  const PooledFrames pooled = PoolPulledBags(bags, where, *tables_);
  EXPECT_THAT(pooled.sums.As<float>(), ElementsAre(11.0f, 10.0f));
  EXPECT_EQ(pooled.winners.size(), 0u);
}

TEST_F(BagsTest, MaximaNameTheLookupOfTheirBagThatWon) {
  const std::vector<PulledBags> bags = {TwoBags(true)};
  // In records of three floats, the second first.
  const std::vector<float> records = {10.0f, -1.0f, -1.0f, 1.0f, -1.0f, -1.0f};
  const std::vector<uint32_t> slots = {1, 0, 0};
  const std::vector<RowsOfBags> where = {
      {.rows = {std::as_bytes(std::span(records)), kFloatBits, 3 * sizeof(float)}, .slots = slots}};
  const PooledFrames pooled = PoolPulledBags(bags, where, *tables_);
  EXPECT_THAT(pooled.sums.As<float>(), ElementsAre(10.0f, 10.0f));
  EXPECT_THAT(pooled.winners.As<uint32_t>(), ElementsAre(1u, 0u));
}

TEST_F(BagsTest, GradientsOfBagsBecomeThoseOfRows) {
  const PulledBags bags = TwoBags(false);
  const std::map<BagKey, PulledBags> pulled = {{KeyOf(bags.part), bags}};
  const std::vector<TableBags> parts = {bags.part};
  const Frame gradients = FrameOf(std::vector<float>{0.5f, 0.25f}), winners;
  const auto by_table = GradientsOfBags(
      {{.parts = parts, .gradients = gradients, .winners = winners}}, pulled, *tables_);
  ASSERT_EQ(by_table.size(), 1u);
  EXPECT_THAT(by_table.at(0).rows, ElementsAre(RowId{2}, RowId{7}));
  std::vector<float> sums;
  EXPECT_THAT(by_table.at(0).Sum(0, 2, /*dim=*/1, &sums),
              ElementsAre(Pointee(0.5f), Pointee(0.75f)));
  EXPECT_THAT(by_table.at(0).Sum(1, 2, /*dim=*/1, &sums), ElementsAre(Pointee(0.75f)));
  EXPECT_THAT(sums, ElementsAre(0.75f)) << "the first row's is that of its bag";
}

// As a sum that begins at zero.
TEST_F(BagsTest, TheGradientOfASingleLookupIsNeverMinusZero) {
  const PulledBags bags = TwoBags(false);
  const std::vector<TableBags> parts = {bags.part};
  const Frame gradients = FrameOf(std::vector<float>{-0.0f, 0.0f}), winners;
  const auto by_table =
      GradientsOfBags({{.parts = parts, .gradients = gradients, .winners = winners}},
                      {{KeyOf(bags.part), bags}}, *tables_);
  std::vector<float> sums;
  EXPECT_FALSE(std::signbit(*by_table.at(0).Sum(0, 1, /*dim=*/1, &sums)[0]));
}

TEST_F(BagsTest, BagsOfTwoListsGiveWhatOneListGives) {
  const PulledBags all = TwoBags(false);
  PulledBags first = all, second = all;
  first.part = {.list = 4, .bags = 1, .lookups = 2};
  first.slots = {0, 1};
  first.offsets = {0, 2};
  second.part = {.list = 4, .bag_begin = 1, .bags = 1, .lookups = 1};
  second.rows = {RowId{7}};
  second.slots = {0};
  second.offsets = {0, 1};
  const auto gradients_of = [&](const std::vector<PulledBags>& lists) {
    std::map<BagKey, PulledBags> pulled;
    std::vector<TableBags> parts;
    for (const PulledBags& list : lists) {
      pulled.emplace(KeyOf(list.part), list);
      parts.push_back(list.part);
    }
    const Frame gradients = FrameOf(std::vector<float>{0.5f, 0.25f}), winners;
    return GradientsOfBags({{.parts = parts, .gradients = gradients, .winners = winners}}, pulled,
                           *tables_)
        .at(0);
  };
  const RowGradients of_one = gradients_of({all}), of_two = gradients_of({first, second});
  EXPECT_EQ(of_one.rows, of_two.rows);
  EXPECT_EQ(of_one.offsets, of_two.offsets);
  EXPECT_EQ(of_one.bags, of_two.bags);
  EXPECT_EQ(of_one.of_bags, of_two.of_bags);
}

TEST_F(BagsTest, OnlyBagsThatWerePulledMayBePushed) {
  const PulledBags bags = TwoBags(true);
  const std::map<BagKey, PulledBags> pulled = {{KeyOf(bags.part), bags}};
  const std::vector<TableBags> parts = {bags.part};
  const Frame gradients = FrameOf(std::vector<float>{0.5f, 0.25f});
  const auto check = [&](const std::map<BagKey, PulledBags>& known, const Frame& winners) {
    return CheckPushedBags({.parts = parts, .gradients = gradients, .winners = winners}, known,
                           *tables_, "shard 0", 0, 0);
  };
  const Frame good = FrameOf(std::vector<uint32_t>{1, 0});
  EXPECT_OK(check(pulled, good));
  EXPECT_THAT(check({}, good).message(), HasSubstr("did not pull"));
  EXPECT_THAT(check(pulled, FrameOf(std::vector<uint32_t>{2, 0})).message(),
              HasSubstr("the winner of a bag of 2 lookups is number 2"));
  EXPECT_THAT(check(pulled, FrameOf(std::vector<uint32_t>{1})).message(),
              HasSubstr("bytes of gradients"));
}

}  // namespace
}  // namespace rowhouse
