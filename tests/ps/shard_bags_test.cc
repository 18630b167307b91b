// Bags that a shard pools, at the level of messages: numbers worked out by hand, and what a peer
// must not send.
#include <numeric>

#include "common/wire/codec.h"
#include "ps/shard/shard.h"
#include "sharding/plans/plan_maker.h"
#include "tests/testing/arriving.h"
#include "tests/testing/frame_of.h"
#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// A table of 10 rows of 2 columns; row r is (r + 1, -(r + 1)) after one push.
class ShardBags : public testing::Test {
 protected:
  ShardBags() {
    TableSpec table;
    table.name = "t";
    table.rows = 10;
    table.dim = 2;
    table.initialiser = "constant";
    const std::vector<TableSpec> tables = {table};
    shard_ = Shard::Make({.name = "shard 0"}, tables, MakeRowWisePlan(tables, 1),
                         InitialiserSources::Open(tables).value())
                 .value();
    std::vector<uint64_t> rows(10);
    std::iota(rows.begin(), rows.end(), uint64_t{0});
    std::vector<float> gradients;
    for (int r = 0; r < 10; ++r) {
      gradients.push_back(static_cast<float>(-r - 1));
      gradients.push_back(static_cast<float>(r + 1));
    }
    Frames payload;
    payload.push_back(FrameOf(rows));
    payload.push_back(FrameOf(gradients));
    payload.push_back(Frame());
    Send({.parts = 1}, PushRequest{.learning_rate = 1.0f, .samples = 1, .tables = {{0, 10}}},
         std::move(payload));
  }

  template <typename Request>
  void Send(Header header, const Request& request, Frames payload) {
    Feed(Arriving(EncodeMessage(header, request, std::move(payload))));
  }

  // Reads answer that nothing is stored.
  void Feed(ShardEvent event) {
    for (ShardAction& action : HandleAll(*shard_, std::move(event), 0)) {
      if (auto* send = std::get_if<SendFrames>(&action)) {
        answer_ = Unpack(std::move(send->frames)).value();
      } else if (auto* read = std::get_if<ReadRows>(&action)) {
        RowsRead done{.ticket = read->ticket, .status = {}, .reads = std::move(read->reads)};
        for (StoreRead& one : done.reads) {
          one.missing.resize(one.rows.size());
          std::iota(one.missing.begin(), one.missing.end(), size_t{0});
        }
        Feed(std::move(done));
      }
    }
  }

  void Pull(const TableBags& part, const std::vector<uint32_t>& ids,
            const std::vector<uint32_t>& lengths, const std::vector<float>& weights = {}) {
    Frames payload;
    payload.push_back(Frame());
    payload.push_back(Frame());
    payload.push_back(FrameOf(ids));
    payload.push_back(FrameOf(lengths));
    payload.push_back(FrameOf(weights));
    Send({.step = 1}, PullRequest{.eval = false, .tables = {}, .bags = {part}}, std::move(payload));
  }

  std::string Refusal() {
    EXPECT_EQ(answer_.header.type, MessageType::kError);
    return DecodeBody<ErrorReply>(answer_).value().message;
  }

  template <typename T>
  std::vector<T> Answered(size_t frame) {
    EXPECT_EQ(answer_.header.type, MessageType::kPullReply);
    CHECK_EQ(answer_.payload.size(), 3u);
    const std::span<const T> values = answer_.payload[frame].As<T>();
    return {values.begin(), values.end()};
  }

  std::unique_ptr<Shard> shard_;
  Message answer_;
};

TEST_F(ShardBags, SumsAreThoseOfTheRows) {
  Pull({.bags = 3, .lookups = 4}, {1, 2, 2, 9}, {3, 0, 1});
  EXPECT_THAT(Answered<float>(1), ElementsAre(8, -8, 0, 0, 10, -10));
  Pull({.bags = 1, .lookups = 2, .has_weights = true}, {0, 9}, {2}, {0.5f, 2.0f});
  EXPECT_THAT(Answered<float>(1), ElementsAre(20.5f, -20.5f));
  Pull({.bags = 1, .lookups = 2, .is_exact = true, .is_partial = true}, {0, 9}, {2});
  EXPECT_THAT(Answered<double>(1), ElementsAre(11.0, -11.0));
}

TEST_F(ShardBags, MaximaNameTheirWinners) {
  Pull({.bags = 2, .lookups = 3, .is_max = true}, {1, 3, 3}, {3, 0});
  EXPECT_THAT(Answered<float>(1), ElementsAre(4, -2, 0, 0));
  EXPECT_THAT(Answered<uint32_t>(2), ElementsAre(1, 0, kNoWinner, kNoWinner));
}

TEST_F(ShardBags, GradientsOfBagsReachTheirRows) {
  const TableBags part{.bags = 2, .lookups = 3};
  Pull(part, {1, 2, 2}, {2, 1});
  Frames payload;
  payload.push_back(Frame());
  payload.push_back(Frame());
  payload.push_back(Frame());
  payload.push_back(FrameOf(std::vector<float>{1, 2, 10, 20}));
  payload.push_back(Frame());
  Send({.step = 1, .parts = 1},
       PushRequest{.learning_rate = 1.0f, .samples = 1, .tables = {}, .bags = {part}},
       std::move(payload));
  ASSERT_EQ(shard_->next_step(), 2u);
  Frames ids;
  ids.push_back(FrameOf(std::vector<uint64_t>{1, 2, 3}));
  ids.push_back(FrameOf(std::vector<uint32_t>{1, 1, 1}));
  Send({.step = 2}, PullRequest{.eval = false, .tables = {{0, 3}}, .bags = {}}, std::move(ids));
  const std::span<const float> rows = answer_.payload[0].As<float>();
  EXPECT_THAT(std::vector<float>(rows.begin(), rows.end()),
              ElementsAre(2 - 1, -2 - 2, 3 - 11, -3 - 22, 4, -4));
}

// No worker of ours does; a shard must not fall over one that does.
TEST_F(ShardBags, RowsOfTheSameTableMayBePushedBeside) {
  const TableBags part{.bags = 1, .lookups = 1};
  Pull(part, {1}, {1});
  Frames payload;
  payload.push_back(FrameOf(std::vector<uint64_t>{1, 3}));
  payload.push_back(FrameOf(std::vector<float>{100, 200, 5, 6}));
  payload.push_back(Frame());
  payload.push_back(FrameOf(std::vector<float>{1, 2}));
  payload.push_back(Frame());
  Send({.step = 1, .parts = 1},
       PushRequest{.learning_rate = 1.0f, .samples = 1, .tables = {{0, 2}}, .bags = {part}},
       std::move(payload));
  ASSERT_EQ(shard_->next_step(), 2u);
  Frames ids;
  ids.push_back(FrameOf(std::vector<uint64_t>{1, 3}));
  ids.push_back(FrameOf(std::vector<uint32_t>{1, 1}));
  Send({.step = 2}, PullRequest{.eval = false, .tables = {{0, 2}}, .bags = {}}, std::move(ids));
  const std::span<const float> rows = answer_.payload[0].As<float>();
  EXPECT_THAT(std::vector<float>(rows.begin(), rows.end()),
              ElementsAre(2 - 101, -2 - 202, 4 - 5, -4 - 6));
}

TEST_F(ShardBags, NonsenseIsRefusedAndHarmsNothing) {
  Pull({.table = 1, .bags = 1, .lookups = 1}, {0}, {1});
  EXPECT_THAT(Refusal(), HasSubstr("no rows of table 1 lie here"));
  Pull({.bags = 1, .lookups = 1}, {10}, {1});
  EXPECT_THAT(Refusal(), HasSubstr("row 10 does not lie here"));
  Pull({.bags = 1, .lookups = 1}, {0}, {2});
  EXPECT_THAT(Refusal(), HasSubstr("bags of 2 lookups, the request says 1"));
  Pull({.bags = 2, .lookups = 1}, {0}, {1});
  EXPECT_THAT(Refusal(), HasSubstr("bytes of ids"));
  Pull({.bags = 1, .lookups = 4000000000u}, {0}, {1});
  EXPECT_THAT(Refusal(), HasSubstr("bytes of ids"));
  Pull({.bags = 1, .lookups = 1, .is_max = true, .is_partial = true}, {0}, {1});
  EXPECT_THAT(Refusal(), HasSubstr("maxima are neither partial"));

  const auto push = [&](const TableBags& part, const std::vector<float>& gradients,
                        const std::vector<uint32_t>& winners) {
    Frames payload;
    for (int i = 0; i < 3; ++i) payload.push_back(Frame());
    payload.push_back(FrameOf(gradients));
    payload.push_back(FrameOf(winners));
    Send({.step = 1, .parts = 1},
         PushRequest{.learning_rate = 1.0f, .samples = 1, .tables = {}, .bags = {part}},
         std::move(payload));
  };
  push({.bags = 1, .lookups = 1}, {1, 1}, {});
  EXPECT_THAT(Refusal(), HasSubstr("did not pull in step 1"));
  const TableBags part{.bags = 1, .lookups = 1, .is_max = true};
  Pull(part, {4}, {1});
  push(part, {1}, {0});
  EXPECT_THAT(Refusal(), HasSubstr("bytes of gradients"));
  push(part, {1, 1}, {0, 1});
  EXPECT_THAT(Refusal(), HasSubstr("the winner of a bag of 1 lookups is number 1"));
  push(part, {1, 1}, {0, kNoWinner});
  EXPECT_EQ(shard_->next_step(), 2u);
}

// A part of the push is checked against the bags as they were pulled; other ones of the same number
// afterwards would be read and written beyond its gradients.
TEST_F(ShardBags, BagsThatArePushedAreNotPulledAgainWithOtherLookups) {
  const TableBags part{.bags = 1, .lookups = 1};
  Pull(part, {4}, {1});
  const auto push = [&](uint32_t k, const std::vector<TableBags>& bags, size_t floats) {
    Frames payload;
    for (int i = 0; i < 3; ++i) payload.push_back(Frame());
    if (!bags.empty()) {
      payload.push_back(FrameOf(std::vector<float>(floats, 1.0f)));
      payload.push_back(Frame());
    }
    Send({.step = 1, .part = k, .parts = 2},
         PushRequest{.learning_rate = 1.0f, .samples = 1, .tables = {}, .bags = bags},
         std::move(payload));
  };
  push(0, {part}, 2);
  Pull({.bags = 1000, .lookups = 1000}, std::vector<uint32_t>(1000, 5),
       std::vector<uint32_t>(1000, 1));
  EXPECT_THAT(Refusal(), HasSubstr("pulls other bags of table 0 in step 1 than those it pushes"));
  Pull(part, {4}, {1});
  EXPECT_THAT(Answered<float>(1), ElementsAre(5, -5)) << "the same ones may be asked for again";
  Frames row;
  row.push_back(FrameOf(std::vector<uint64_t>{5}));
  row.push_back(FrameOf(std::vector<float>(2, 1.0f)));
  row.push_back(Frame());
  Send({.step = 1, .part = 1, .parts = 2},
       PushRequest{.learning_rate = 1.0f, .samples = 1, .tables = {{.rows = 1}}, .bags = {}},
       std::move(row));
  EXPECT_EQ(shard_->next_step(), 2u);
}

TEST_F(ShardBags, AnAnswerLargerThanAFrameIsRefusedBeforeMemoryIsTaken) {
  const uint32_t bags = static_cast<uint32_t>(kMaxFrameBytes / (2 * sizeof(float))) + 1;
  Pull({.bags = bags}, {}, std::vector<uint32_t>(bags, 0));
  EXPECT_THAT(Refusal(), HasSubstr("whose answer takes 67108872 bytes; it may take 67108864"));
}

}  // namespace
}  // namespace rowhouse
