// `rowhouse plan --embeddings_per_feat=...` through the binary: what load_balance.json holds, under
// the same keys. What the originals got wrong is not printed; which of it the file records, and how
// it follows from what is right, is in tests/sharding/load_balance_manager_test.cc.
#include <fmt/ranges.h>

#include <set>

#include "tests/testing/process.h"

namespace rowhouse {
namespace {

using nlohmann::json;

class LoadBalancePlan : public testing::Test {
 protected:
  // `flags` after those every case has.
  static json Printed(const json& sizes, const json& groups, const std::string& mode,
                      const std::vector<std::string>& flags = {}) {
    Command command{.arguments = {ROWHOUSE_BINARY, "plan",
                                  fmt::format("--embeddings_per_feat={}",
                                              fmt::join(sizes.get<std::vector<uint64_t>>(), ",")),
                                  "--num_groups=" + groups.dump(), "--lbm=" + mode, "--json"}};
    command.arguments.insert(command.arguments.end(), flags.begin(), flags.end());
    const ProcessResult result = RunCommand(command);
    EXPECT_EQ(result.exit_code, 0) << result.Describe();
    return json::parse(result.out, nullptr, false);
  }

  static void ExpectSame(const json& printed, const json& want,
                         const std::set<std::string>& but_for = {}) {
    for (const auto& [key, value] : want.items()) {
      if (but_for.count(key) == 1) continue;
      EXPECT_EQ(printed.value(key, json()), value) << key;
    }
  }

  const json file_ = LoadVectors("load_balance.json");
};

// Cuts, groups and offsets as they are recorded but for tables without rows behind a cut at row 0,
// and offsets flagged as wrong.
json WithoutDefects(json want) {
  want.erase("note");
  want.erase("original_rejects_fewer_features_than_ranks");
  const json is_right = want["recorded_offsets_match_truth_per_group"];
  want.erase("recorded_offsets_match_truth_per_group");
  for (size_t rank = 0; rank < want["groups"].size(); ++rank) {
    const json& segments = want["segments_feature_lo_hi_localstart"][rank];
    json& offsets = want["offsets"][rank];
    while (want["groups"][rank].size() > segments.size()) {
      want["groups"][rank].erase(segments.size());
      offsets.erase(segments.size());
    }
    if (is_right[rank] == 1) continue;
    for (size_t i = 0; i < segments.size(); ++i) offsets[i] = segments[i][3];
  }
  json cuts = json::object();
  for (const auto& [feature, rows] : want["cuts"].items()) {
    for (const json& row : rows) {
      if (row != 0) cuts[feature].push_back(row);
    }
  }
  want["cuts"] = cuts;
  return want;
}

TEST_F(LoadBalancePlan, FairPrintsWhatTheVectorsHold) {
  for (const json& want : file_["fair"]) {
    SCOPED_TRACE(want["note"]);
    const json printed = Printed(want["embeddings_per_feat"], want["num_groups"], "fair",
                                 {"--base_emb_dim=" + want["base_emb_dim"].dump()});
    ExpectSame(printed, WithoutDefects(want));
    EXPECT_EQ(printed["emb_dims"], json(std::vector<json>(want["num_groups"], want["emb_dim"])));
  }
}

TEST_F(LoadBalancePlan, ShufflePrintsWhatTheVectorsHold) {
  for (const json& want : file_["shuffle"]) {
    ExpectSame(Printed(want["embeddings_per_feat"], want["num_groups"], "shuffle",
                       {"--base-emb-dim", want["base_emb_dim"].dump(), "--lbm_seed",
                        want["numpy_seed"].dump(),
                        "--lbm_shuffle_call=" + want["shuffle_call_number"].dump()}),
               want);
  }
  const json& notebook = file_["notebook_shard_tensor"];
  const json printed = Printed(notebook["sizes"], notebook["num_groups"], "shuffle");
  EXPECT_EQ(printed["groups"], json({{3, 0}, {1, 2}, {5, 6}, {7, 4}}));
  ExpectSame(printed, notebook, {"ids", "local_ids_by_rank"});
}

TEST_F(LoadBalancePlan, GreedyPrintsWhatTheVectorsHold) {
  for (const json& want : file_["greedy"]) {
    const json printed = Printed(want["sizes"], want["num_groups"], "greedy");
    ExpectSame(printed, want, {"original_groups", "original_loads", "original_status"});
    EXPECT_EQ(printed["groups"], want["lpt_groups"]);
    EXPECT_EQ(printed["rows_per_group"], want["lpt_loads"]);
    EXPECT_EQ(printed.contains("optimal_max_load"), want.contains("optimal_max_load"));
  }
}

TEST_F(LoadBalancePlan, CapacitiesWeighRanksThatThenHaveNoCommonWidth) {
  const json printed = Printed({30, 71}, 3, "fair", {"--lbm_capacities=5,1,4"});
  EXPECT_EQ(printed["ranges"], json({{0, 50}, {50, 60}, {60, 101}}));
  EXPECT_EQ(printed["emb_dims"], json({64, 16, 64}));
  EXPECT_FALSE(printed.contains("emb_dim"));
  EXPECT_FALSE(printed.contains("num_embeddings_per_rank"));
  EXPECT_EQ(Printed({6, 4, 3, 3}, 2, "greedy", {"--lbm_capacities=3,1"})["groups"],
            json({{0, 1, 3}, {2}}));
}

TEST_F(LoadBalancePlan, OfMoreRanksThanTablesSomeAreEmpty) {
  for (const std::string mode : {"shuffle", "greedy"}) {
    const json printed = Printed({100, 2020, 3203}, 4, mode, {"--base_emb_dim=128"});
    ASSERT_EQ(printed["groups"].size(), 4u);
    EXPECT_EQ(printed["groups"][3], json::array()) << mode;
    EXPECT_EQ(printed["emb_dims"][3], 0);
    EXPECT_EQ(printed["qr_bucket_sizes"][3], 0);
    EXPECT_EQ(printed["num_embeddings_on_rank"][3], 0);
  }
}

TEST_F(LoadBalancePlan, WithoutJsonItIsATable) {
  const ProcessResult result =
      RunCommand({.arguments = {ROWHOUSE_BINARY, "plan", "--embeddings_per_feat=100,2020,3203"}});
  EXPECT_EQ(result.exit_code, 0) << result.Describe();
  EXPECT_EQ(result.out,
            "LoadBalanceManager, fair: 5,323 rows of 3 tables on 4 ranks; the fullest has 1.0017 "
            "of its share\n\n"
            "rank   rows  of share  emb_dim  qr buckets  holds table[rows)@first local row\n"
            "   0  1,330    0.9994       32          37  0@0 1[0:1230)@100\n"
            "   1  1,330    0.9994       32          37  1[1230:2020)@0 2[0:540)@790\n"
            "   2  1,330    0.9994       32          37  2[540:1870)@0\n"
            "   3  1,333    1.0017       32          37  2[1870:3203)@0\n");
}

}  // namespace
}  // namespace rowhouse
