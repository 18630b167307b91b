// LoadBalanceManager for the terminal, and the flags that ask for one.
#include <nlohmann/json.hpp>

#include "launch/plan/load_balance.h"
#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string Text(const LoadBalanceOptions& options) {
  return FiguresAsText(LoadBalanceFigures(LoadBalanceManager::Make(options).value()));
}

Result<std::optional<LoadBalanceManager>> ReadLoadBalanceReport(
    const std::vector<GivenFlag>& flags) {
  return ReadLoadBalanceFlags({.verb = "plan", .flags = flags});
}

TEST(LoadBalanceText, SaysHowGreedyAndShuffleCameAbout) {
  LoadBalanceOptions options{
      .embeddings_per_feat = {3, 3, 2, 2, 2}, .num_groups = 2, .mode = LoadBalanceMode::kGreedy};
  EXPECT_THAT(Text(options), HasSubstr("greedy: 12 rows of 5 tables on 2 ranks; the fullest has "
                                       "1.1667 of its share\nno assignment of whole tables has "
                                       "fewer than 6 rows on its fullest rank\n"));
  EXPECT_THAT(Text(options), HasSubstr("   0     7    1.1667      128           3  0@0 2@3 4@5\n"));
  options.capacities = {1, 5};
  EXPECT_THAT(Text(options), Not(HasSubstr("no assignment")));
  options.capacities = {};
  options.mode = LoadBalanceMode::kShuffle;
  options.shuffle_call_number = 3;
  EXPECT_THAT(Text(options), HasSubstr("shuffle 3 of seed 111\n"));
}

TEST(LoadBalanceText, SharesFollowCapacities) {
  const std::string text =
      Text({.embeddings_per_feat = {30, 71}, .num_groups = 3, .capacities = {5, 1, 4}});
  EXPECT_THAT(text, HasSubstr("the fullest has 1.0149 of its share"));
  EXPECT_THAT(text, HasSubstr("   1    10    0.9901       16           4  1[20:30)@0\n"));
}

TEST(LoadBalanceText, EmptyRanksHoldNothing) {
  const LoadBalanceOptions options{
      .embeddings_per_feat = {100, 9}, .num_groups = 3, .mode = LoadBalanceMode::kGreedy};
  EXPECT_THAT(Text(options), HasSubstr("   2     0    0.0000        0           0\n"));
  const auto json = LoadBalanceFigures(LoadBalanceManager::Make(options).value()).json;
  EXPECT_EQ(json["groups"].dump(), "[[0],[1],[]]");
  EXPECT_EQ(json["offsets"].dump(), "[[0],[0],[]]");
  EXPECT_EQ(json["emb_dims"].dump(), "[128,16,0]");
  EXPECT_EQ(json["qr_bucket_sizes"].dump(), "[10,3,0]");
  EXPECT_EQ(json["num_embeddings_on_rank"].dump(), "[100,9,0]");
  EXPECT_EQ(json["optimal_max_load"], 100);
}

TEST(LoadBalanceFlags, TheLastOfSeveralValuesCounts) {
  const auto manager = ReadLoadBalanceReport({{"embeddings_per_feat", "5,5"},
                                              {"num_groups", "2"},
                                              {"lbm", "greedy"},
                                              {"embeddings_per_feat", "9"},
                                              {"num_groups", "1"}});
  ASSERT_OK(manager);
  EXPECT_EQ(manager.value()->total_rows(), 9u);
  EXPECT_EQ(manager.value()->options().mode, LoadBalanceMode::kGreedy);
}

TEST(LoadBalanceFlags, NoneAskForNothing) {
  EXPECT_FALSE(ReadLoadBalanceReport({}).value().has_value());
}

TEST(LoadBalanceFlags, MistakesSayWhereTheyStand) {
  EXPECT_EQ(
      ReadLoadBalanceReport({{"embeddings_per_feat", "5,x", "my.flags:3"}}).status().message(),
      "--embeddings_per_feat=5,x (my.flags:3): item 2 of 2 is \"x\"; expected the rows of "
      "each table: whole numbers from 1 to 9223372036854775807");
  EXPECT_THAT(
      ReadLoadBalanceReport({{"embeddings_per_feat", "1,1", "my.flags:3"}, {"lbm_capacities", "1"}})
          .status()
          .message(),
      HasSubstr("plan --lbm=fair (my.flags:3): 1 capacity for num_groups=4"));
  EXPECT_THAT(ReadLoadBalanceReport({{"lbm_capacities", "1", "my.flags:4"}}).status().message(),
              HasSubstr("--lbm_capacities=1 (my.flags:4) is for LoadBalanceManager"));
}

}  // namespace
}  // namespace rowhouse
