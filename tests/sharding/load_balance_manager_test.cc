// LoadBalanceManager: every number of load_balance.json, and what must hold for any sizes.
// Where the file records what the originals do wrong, the test says how that follows from ours.
#include "sharding/tables/load_balance_manager.h"

#include "sharding/plans/strategy.h"
#include "sharding/tables/longest_processing_time.h"
#include "tests/testing/testing.h"
// After gtest's, which testing.h includes.
#include <rapidcheck/gtest.h>

#include <numeric>
#include <random>
#include <set>

namespace rowhouse {
namespace {

// Refused unless the segments are a partition of the tables.
Result<Plan> PlanOf(const LoadBalanceManager& manager, const std::vector<TableSpec>& tables) {
  std::vector<Slice> slices;
  for (uint32_t rank = 0; rank < manager.num_groups(); ++rank) {
    for (const LoadBalanceManager::Segment& segment : manager.segments(rank)) {
      slices.push_back(WholeTable(tables[segment.feature], ShardId{rank}));
      slices.back().row_begin = segment.row_begin;
      slices.back().row_end = segment.row_end;
    }
  }
  return Plan::Make(tables, manager.num_groups(), std::move(slices));
}

// A batch as one rank looks it up: row-major, one column for each of `features`.
struct TensorShard {
  std::vector<uint32_t> features;  // fair: all of them; whole tables: the rank's group
  // The rank's row of each id. An id of another rank is negative or >= NumEmbeddingsOnRank.
  std::vector<int64_t> local_ids;
  std::vector<uint8_t> is_on_this_rank;  // 0: another rank's, contributes nothing here
};

// The original's shard_tensor, by what the manager says of the rank. ids [samples x features],
// row-major.
TensorShard ShardTensor(const LoadBalanceManager& manager, std::span<const uint64_t> ids,
                        uint32_t rank) {
  const size_t features = manager.num_features();
  TensorShard shard;
  std::vector<int64_t> to_local;  // per column: local id - id
  if (manager.options().mode == LoadBalanceMode::kFair) {
    const auto begin = static_cast<int64_t>(manager.Range(rank).first);
    for (uint32_t feature = 0; feature < features; ++feature) {
      shard.features.push_back(feature);
      to_local.push_back(static_cast<int64_t>(manager.all_feat_offsets()[feature]) - begin);
    }
  } else {
    shard.features = manager.Group(rank);
    for (const uint64_t offset : manager.Offsets(rank)) {
      to_local.push_back(static_cast<int64_t>(offset));
    }
  }
  const auto rows_here = static_cast<int64_t>(manager.NumEmbeddingsOnRank(rank));
  for (size_t sample = 0; sample < ids.size() / features; ++sample) {
    for (size_t column = 0; column < shard.features.size(); ++column) {
      const uint64_t id = ids[sample * features + shard.features[column]];
      const int64_t local = static_cast<int64_t>(id) + to_local[column];
      shard.local_ids.push_back(local);
      shard.is_on_this_rank.push_back(local >= 0 && local < rows_here);
    }
  }
  return shard;
}

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;

using Sizes = std::vector<uint64_t>;
using Groups = std::vector<std::vector<uint32_t>>;
using Offsets = std::vector<std::vector<uint64_t>>;
using Cuts = std::map<uint32_t, std::vector<uint64_t>>;

LoadBalanceManager Made(LoadBalanceOptions options) {
  return LoadBalanceManager::Make(std::move(options)).value();
}

std::vector<TableSpec> Tables(const Sizes& sizes) {
  std::vector<TableSpec> tables;
  for (const uint64_t rows : sizes) {
    TableSpec table;
    table.id = TableId{static_cast<uint32_t>(tables.size())};
    table.name = "t" + std::to_string(tables.size());
    table.rows = rows;
    table.dim = 4 + static_cast<uint32_t>(tables.size());
    tables.push_back(table);
  }
  return tables;
}

Groups GroupsOfManager(const LoadBalanceManager& manager) {
  Groups groups;
  for (uint32_t rank = 0; rank < manager.num_groups(); ++rank) {
    groups.push_back(manager.Group(rank));
  }
  return groups;
}

Offsets OffsetsOf(const LoadBalanceManager& manager) {
  Offsets offsets;
  for (uint32_t rank = 0; rank < manager.num_groups(); ++rank) {
    offsets.push_back(manager.Offsets(rank));
  }
  return offsets;
}

std::vector<uint64_t> LoadBalanceManagerRowsOf(const LoadBalanceManager& manager) {
  std::vector<uint64_t> rows;
  for (uint32_t rank = 0; rank < manager.num_groups(); ++rank) {
    rows.push_back(manager.NumEmbeddingsOnRank(rank));
  }
  return rows;
}

std::set<std::string> Keys(const json& object) {
  std::set<std::string> keys;
  for (const auto& [key, value] : object.items()) keys.insert(key);
  return keys;
}

class LoadBalanceVectors : public testing::Test {
 protected:
  const json file_ = LoadVectors("load_balance.json");
};

// ---- The file -----------------------------------------------------------------------------------

// So that nothing is added to the file without a test that reads it.
TEST_F(LoadBalanceVectors, HoldNothingElse) {
  EXPECT_EQ(Keys(file_),
            (std::set<std::string>{"fair", "shard_tensor_fair", "shuffle", "notebook_shard_tensor",
                                   "greedy", "greedy_original_fuzz_20000", "block_dim"}));
  EXPECT_EQ(file_["fair"].size() + file_["shard_tensor_fair"].size(), 24u);
  EXPECT_EQ(file_["shuffle"].size(), 5u);
  EXPECT_EQ(file_["greedy"].size(), 11u);
  EXPECT_EQ(file_["block_dim"].size(), 97u);
}

TEST_F(LoadBalanceVectors, Fair) {
  for (const json& want : file_["fair"]) {
    SCOPED_TRACE(want["note"]);
    ASSERT_EQ(Keys(want), (std::set<std::string>{
                              "all_feat_offsets", "base_emb_dim", "cuts", "emb_dim",
                              "embeddings_per_feat", "groups", "note", "num_embeddings_per_rank",
                              "num_groups", "offsets", "original_rejects_fewer_features_than_ranks",
                              "qr_bucket_size", "ranges", "recorded_offsets_match_truth_per_group",
                              "remainder_rows", "segments_feature_lo_hi_localstart"}));
    const Sizes sizes = want["embeddings_per_feat"];
    const uint32_t ranks = want["num_groups"];
    const auto manager = Made(
        {.embeddings_per_feat = sizes, .num_groups = ranks, .base_emb_dim = want["base_emb_dim"]});
    EXPECT_EQ(manager.all_feat_offsets(), want["all_feat_offsets"].get<Sizes>());
    EXPECT_EQ(manager.remainder_rows(), want["remainder_rows"]);
    for (uint32_t rank = 0; rank < ranks; ++rank) {
      EXPECT_EQ(manager.NominalRows(rank), want["num_embeddings_per_rank"]);
      EXPECT_EQ(manager.EmbDim(rank), want["emb_dim"]);
      EXPECT_EQ(manager.QrBucketSize(rank), want["qr_bucket_size"]);
      EXPECT_EQ(json(manager.Range(rank)), want["ranges"][rank]);
      json segments = json::array();
      for (const auto& segment : manager.segments(rank)) {
        segments.push_back(
            {segment.feature, segment.row_begin, segment.row_end, segment.local_begin});
      }
      EXPECT_EQ(segments, want["segments_feature_lo_hi_localstart"][rank]);
    }
    // The original refuses more ranks than features; we do not.
    EXPECT_EQ(want["original_rejects_fewer_features_than_ranks"] == 1, sizes.size() < ranks);
  }
}

// Two defects of the original. A cut between two tables is recorded as one at row 0 of the second,
// which is then listed, with no row, behind the group before the cut. And where the last rank takes
// a remainder, offsets behind its first table may be wrong: the file flags that.
TEST_F(LoadBalanceVectors, FairViewsAreTheRecordedOnesWithoutTheirDefects) {
  size_t cuts_between_tables = 0, wrong_offsets = 0;
  for (const json& want : file_["fair"]) {
    SCOPED_TRACE(want["note"]);
    const uint32_t ranks = want["num_groups"];
    const auto manager =
        Made({.embeddings_per_feat = want["embeddings_per_feat"], .num_groups = ranks});
    Cuts cuts = manager.Cuts();
    Groups groups = GroupsOfManager(manager);
    Offsets offsets = OffsetsOf(manager);
    for (uint32_t rank = 0; rank < ranks; ++rank) {
      const bool is_right = want["recorded_offsets_match_truth_per_group"][rank] == 1;
      if (!is_right) {
        EXPECT_NE(offsets[rank], want["offsets"][rank].get<Sizes>());
        offsets[rank] = want["offsets"][rank].get<Sizes>();
        ++wrong_offsets;
      }
      if (rank + 1 == ranks) continue;
      const auto& next = manager.segments(rank + 1).front();
      if (next.row_begin != 0) continue;
      ++cuts_between_tables;
      cuts[next.feature].insert(cuts[next.feature].begin(), 0);
      groups[rank].push_back(next.feature);
      offsets[rank].push_back(manager.NumEmbeddingsOnRank(rank));
    }
    Cuts recorded;
    for (const auto& [feature, positions] : want["cuts"].items()) {
      recorded[static_cast<uint32_t>(std::stoul(feature))] = positions.get<Sizes>();
    }
    EXPECT_EQ(cuts, recorded);
    EXPECT_EQ(groups, want["groups"].get<Groups>());
    EXPECT_EQ(offsets, want["offsets"].get<Offsets>());
  }
  EXPECT_EQ(cuts_between_tables, 8u);
  EXPECT_EQ(wrong_offsets, 1u);
}

TEST_F(LoadBalanceVectors, ShardTensorFair) {
  for (const json& want : file_["shard_tensor_fair"]) {
    ASSERT_EQ(Keys(want), (std::set<std::string>{"ids", "local_ids", "num_groups", "on_this_rank",
                                                 "rank", "sizes"}));
    const auto manager =
        Made({.embeddings_per_feat = want["sizes"], .num_groups = want["num_groups"]});
    Sizes ids;
    std::vector<int64_t> local_ids;
    std::vector<uint8_t> on_this_rank;
    for (size_t sample = 0; sample < want["ids"].size(); ++sample) {
      for (size_t feature = 0; feature < want["sizes"].size(); ++feature) {
        ids.push_back(want["ids"][sample][feature]);
        local_ids.push_back(want["local_ids"][sample][feature]);
        on_this_rank.push_back(want["on_this_rank"][sample][feature]);
      }
    }
    const auto shard = ShardTensor(manager, ids, want["rank"]);
    EXPECT_EQ(shard.features.size(), want["sizes"].size());
    EXPECT_EQ(shard.local_ids, local_ids);
    EXPECT_EQ(shard.is_on_this_rank, on_this_rank);
  }
}

TEST_F(LoadBalanceVectors, Shuffle) {
  for (const json& want : file_["shuffle"]) {
    ASSERT_EQ(Keys(want),
              (std::set<std::string>{"base_emb_dim", "emb_dims", "embeddings_per_feat", "groups",
                                     "num_groups", "numpy_seed", "offsets", "permutation",
                                     "qr_bucket_sizes", "rows_per_group", "shuffle_call_number"}));
    const auto manager = Made({.embeddings_per_feat = want["embeddings_per_feat"],
                               .num_groups = want["num_groups"],
                               .base_emb_dim = want["base_emb_dim"],
                               .mode = LoadBalanceMode::kShuffle,
                               .shuffle_seed = want["numpy_seed"],
                               .shuffle_call_number = want["shuffle_call_number"]});
    EXPECT_EQ(GroupsOfManager(manager), want["groups"].get<Groups>());
    std::vector<uint32_t> permutation;
    for (uint32_t rank = 0; rank < manager.num_groups(); ++rank) {
      const auto group = manager.Group(rank);
      permutation.insert(permutation.end(), group.begin(), group.end());
      EXPECT_EQ(manager.EmbDim(rank), want["emb_dims"][rank]);
      EXPECT_EQ(manager.QrBucketSize(rank), want["qr_bucket_sizes"][rank]);
    }
    EXPECT_EQ(permutation, want["permutation"].get<std::vector<uint32_t>>());
    EXPECT_EQ(LoadBalanceManagerRowsOf(manager), want["rows_per_group"].get<Sizes>());
    EXPECT_EQ(OffsetsOf(manager), want["offsets"].get<Offsets>());
    EXPECT_EQ(manager.remainder_rows(), 0u);
    EXPECT_EQ(manager.Cuts(), Cuts());
  }
}

// Seed 111 is what the package of the original sets.
TEST_F(LoadBalanceVectors, TheNotebooksShards) {
  const json& want = file_["notebook_shard_tensor"];
  ASSERT_EQ(Keys(want), (std::set<std::string>{"ids", "local_ids_by_rank", "num_embeddings_on_rank",
                                               "num_groups", "sizes"}));
  const auto manager = Made({.embeddings_per_feat = want["sizes"],
                             .num_groups = want["num_groups"],
                             .mode = LoadBalanceMode::kShuffle});
  EXPECT_EQ(GroupsOfManager(manager), (Groups{{3, 0}, {1, 2}, {5, 6}, {7, 4}}));
  EXPECT_EQ(LoadBalanceManagerRowsOf(manager), want["num_embeddings_on_rank"].get<Sizes>());
  Sizes ids;
  for (const json& sample : want["ids"]) ids.insert(ids.end(), sample.begin(), sample.end());
  for (uint32_t rank = 0; rank < manager.num_groups(); ++rank) {
    std::vector<int64_t> local_ids;
    for (const json& sample : want["local_ids_by_rank"][rank]) {
      local_ids.insert(local_ids.end(), sample.begin(), sample.end());
    }
    const auto shard = ShardTensor(manager, ids, rank);
    EXPECT_EQ(shard.features, manager.Group(rank));
    EXPECT_EQ(shard.local_ids, local_ids);
    EXPECT_EQ(shard.is_on_this_rank, std::vector<uint8_t>(local_ids.size(), 1));
  }
}

// The original's greedy is another algorithm. Its groups are in the file for comparison: it may put
// a table into two groups, which the file flags, and is never better balanced than ours.
TEST_F(LoadBalanceVectors, Greedy) {
  size_t originals_duplicates = 0;
  for (const json& want : file_["greedy"]) {
    std::set<std::string> keys = Keys(want);
    const bool is_solved = keys.erase("optimal_max_load") == 1;
    ASSERT_EQ(keys, (std::set<std::string>{"lower_bound", "lpt_groups", "lpt_loads", "num_groups",
                                           "original_groups", "original_loads", "original_status",
                                           "sizes"}));
    const Sizes sizes = want["sizes"];
    const auto manager = Made({.embeddings_per_feat = sizes,
                               .num_groups = want["num_groups"],
                               .mode = LoadBalanceMode::kGreedy});
    const Sizes loads = LoadBalanceManagerRowsOf(manager);
    EXPECT_EQ(GroupsOfManager(manager), want["lpt_groups"].get<Groups>());
    EXPECT_EQ(loads, want["lpt_loads"].get<Sizes>());
    EXPECT_EQ(MaxLoadLowerBound(sizes, manager.num_groups()), want["lower_bound"]);
    EXPECT_EQ(is_solved, sizes.size() <= kMaxItemsToSolve);
    if (is_solved) {
      EXPECT_EQ(OptimalMaxLoad(sizes, manager.num_groups()), want["optimal_max_load"]);
    }
    const auto originals = want["original_groups"].get<Groups>();
    Sizes original_loads;
    std::vector<size_t> times(sizes.size(), 0);
    for (const auto& group : originals) {
      original_loads.push_back(0);
      for (const uint32_t feature : group) {
        original_loads.back() += sizes[feature];
        ++times[feature];
      }
    }
    EXPECT_EQ(original_loads, want["original_loads"].get<Sizes>());
    const bool is_partition = times == std::vector<size_t>(sizes.size(), 1);
    EXPECT_EQ(want["original_status"], is_partition ? "valid_partition" : "duplicate");
    originals_duplicates += !is_partition;
    EXPECT_LE(*std::max_element(loads.begin(), loads.end()),
              *std::max_element(original_loads.begin(), original_loads.end()));
  }
  EXPECT_EQ(originals_duplicates, 1u);
}

// Of 20,000 random inputs the original puts a table into two groups for 342; we never do.
TEST_F(LoadBalanceVectors, GreedyIsAPartitionOfAsManyInputs) {
  const json& originals = file_["greedy_original_fuzz_20000"];
  ASSERT_EQ(Keys(originals), (std::set<std::string>{"duplicate", "valid_partition"}));
  const int inputs = originals["valid_partition"].get<int>() + originals["duplicate"].get<int>();
  EXPECT_EQ(inputs, 20000);
  EXPECT_EQ(originals["duplicate"], 342);
  std::mt19937 random(1);
  for (int i = 0; i < inputs; ++i) {
    Sizes sizes(1 + random() % 10);
    for (uint64_t& rows : sizes) rows = 1 + random() % 30;
    const auto manager = Made({.embeddings_per_feat = sizes,
                               .num_groups = static_cast<uint32_t>(1 + random() % sizes.size()),
                               .mode = LoadBalanceMode::kGreedy});
    std::vector<uint32_t> dealt;
    for (const auto& group : GroupsOfManager(manager)) {
      dealt.insert(dealt.end(), group.begin(), group.end());
    }
    std::sort(dealt.begin(), dealt.end());
    std::vector<uint32_t> all(sizes.size());
    std::iota(all.begin(), all.end(), 0u);
    ASSERT_EQ(dealt, all);
  }
}

TEST_F(LoadBalanceVectors, BlockDims) {
  for (const json& want : file_["block_dim"]) {
    ASSERT_EQ(Keys(want), (std::set<std::string>{"base", "dim", "div"}));
    EXPECT_EQ(LoadBalanceManager::BlockDim(want["base"], want["div"]), want["dim"]) << want;
  }
}

// ---- By hand ------------------------------------------------------------------------------------

TEST(LoadBalanceManager, BlocksAreAtLeastTwoWide) {
  EXPECT_EQ(LoadBalanceManager::BlockDim(1, 1.0), 2u);
  EXPECT_EQ(LoadBalanceManager::BlockDim(4096, 1e300), 2u);
}

TEST(LoadBalanceManager, FairCutsAreProportionalToCapacities) {
  const auto manager =
      Made({.embeddings_per_feat = {30, 71}, .num_groups = 3, .capacities = {5, 1, 4}});
  // 101 rows of 10 parts: 50.5, 10.1 and 40.4, rounded down; the last rank has the one left over.
  EXPECT_EQ(LoadBalanceManagerRowsOf(manager), (Sizes{50, 10, 41}));
  EXPECT_EQ(manager.remainder_rows(), 1u);
  EXPECT_EQ(manager.Cuts(), (Cuts{{1, {20, 30}}}));
  EXPECT_EQ(GroupsOfManager(manager), (Groups{{0, 1}, {1}, {1}}));
  // 10 / 5, 10 / 1 and 10 / 4 of 128.
  EXPECT_EQ(manager.EmbDim(0), 64u);
  EXPECT_EQ(manager.EmbDim(1), 16u);
  EXPECT_EQ(manager.EmbDim(2), 64u);
  EXPECT_EQ(manager.QrBucketSize(0), 8u);
  EXPECT_EQ(manager.QrBucketSize(1), 4u);
  EXPECT_EQ(manager.QrBucketSize(2), 7u);
}

TEST(LoadBalanceManager, GreedyFillsRanksByTheirCapacities) {
  const auto manager = Made({.embeddings_per_feat = {6, 4, 3, 3},
                             .num_groups = 2,
                             .mode = LoadBalanceMode::kGreedy,
                             .capacities = {3, 1}});
  EXPECT_EQ(GroupsOfManager(manager), (Groups{{0, 1, 3}, {2}}));
}

TEST(LoadBalanceManager, RowsNearTheLimitAreCutExactly) {
  const uint64_t most = uint64_t{1} << 63;
  const auto manager = Made({.embeddings_per_feat = {most}, .num_groups = 2});
  EXPECT_EQ(manager.Cuts(), (Cuts{{0, {most / 2}}}));
  EXPECT_EQ(LoadBalanceManagerRowsOf(manager), (Sizes{most / 2, most / 2}));
  const Sizes ids = {most - 1};
  EXPECT_EQ(ShardTensor(manager, ids, 1).local_ids[0], static_cast<int64_t>(most / 2 - 1));
  EXPECT_EQ(ShardTensor(manager, ids, 1).is_on_this_rank[0], 1);
}

// Empty ranks have nothing: no width, no buckets, no part of a batch.
TEST(LoadBalanceManager, MoreRanksThanTablesLeaveSomeEmpty) {
  const Sizes sizes = {100, 2020, 3203};
  const Sizes ids = {99, 2019, 3202, 0, 1, 2};
  for (const LoadBalanceMode mode : {LoadBalanceMode::kShuffle, LoadBalanceMode::kGreedy}) {
    SCOPED_TRACE(LoadBalanceModeName(mode));
    const auto manager = Made({.embeddings_per_feat = sizes, .num_groups = 5, .mode = mode});
    std::multiset<uint32_t> dealt;
    size_t empty = 0;
    for (uint32_t rank = 0; rank < 5; ++rank) {
      const auto group = manager.Group(rank);
      const auto shard = ShardTensor(manager, ids, rank);
      EXPECT_LE(group.size(), 1u) << "a table is alone while ranks are free";
      EXPECT_EQ(shard.features, group);
      EXPECT_EQ(manager.Offsets(rank).size(), group.size());
      EXPECT_EQ(shard.local_ids.size(), 2 * group.size());
      dealt.insert(group.begin(), group.end());
      if (!group.empty()) {
        EXPECT_EQ(manager.NumEmbeddingsOnRank(rank), sizes[group[0]]);
        EXPECT_GE(manager.EmbDim(rank), 2u);
        EXPECT_GE(manager.QrBucketSize(rank), 10u);
        continue;
      }
      ++empty;
      EXPECT_EQ(manager.NumEmbeddingsOnRank(rank), 0u);
      EXPECT_EQ(manager.EmbDim(rank), 0u);
      EXPECT_EQ(manager.QrBucketSize(rank), 0u);
    }
    EXPECT_EQ(dealt, (std::multiset<uint32_t>{0, 1, 2}));
    EXPECT_EQ(empty, 2u);
    EXPECT_OK(PlanOf(manager, Tables(sizes)));
  }
}

// Each has floor(3 / 4) = 0 rows, and the last the remainder.
TEST(LoadBalanceManager, MoreFairRanksThanRowsLeaveSomeEmpty) {
  const auto manager = Made({.embeddings_per_feat = {2, 1}, .num_groups = 4});
  EXPECT_EQ(LoadBalanceManagerRowsOf(manager), (Sizes{0, 0, 0, 3}));
  EXPECT_EQ(manager.remainder_rows(), 3u);
  EXPECT_EQ(GroupsOfManager(manager), (Groups{{}, {}, {}, {0, 1}}));
  EXPECT_EQ(manager.Range(1), (std::pair<uint64_t, uint64_t>{0, 0}));
  EXPECT_EQ(manager.Range(3), (std::pair<uint64_t, uint64_t>{0, 3}));
  EXPECT_EQ(manager.EmbDim(0), 0u);
  EXPECT_EQ(manager.EmbDim(3), 32u);
  EXPECT_EQ(manager.QrBucketSize(3), 1u);
  EXPECT_EQ(ShardTensor(manager, Sizes{1, 0}, 0).is_on_this_rank, (std::vector<uint8_t>{0, 0}));
  EXPECT_EQ(ShardTensor(manager, Sizes{1, 0}, 3).local_ids, (std::vector<int64_t>{1, 2}));
  EXPECT_OK(PlanOf(manager, Tables({2, 1})));
}

TEST(LoadBalanceManager, PartsTooSmallForARowLeaveTheirRankEmpty) {
  EXPECT_EQ(LoadBalanceManagerRowsOf(
                Made({.embeddings_per_feat = {9, 9}, .num_groups = 2, .capacities = {1, 99}})),
            (Sizes{0, 18}));
  EXPECT_EQ(GroupsOfManager(Made({.embeddings_per_feat = {9, 9},
                                  .num_groups = 2,
                                  .mode = LoadBalanceMode::kGreedy,
                                  .capacities = {1, 99}})),
            (Groups{{}, {0, 1}}));
}

// ---- Refusals -----------------------------------------------------------------------------------

TEST(LoadBalanceManager, RefusesWhatCannotBeDealt) {
  const auto refusal = [](LoadBalanceOptions options) {
    const Status status = LoadBalanceManager::Make(std::move(options)).status();
    EXPECT_EQ(status.code(), StatusCode::kUsage);
    return status.message();
  };
  const auto whole = LoadBalanceMode::kShuffle;
  EXPECT_THAT(refusal({}), HasSubstr("embeddings_per_feat is empty"));
  EXPECT_THAT(refusal({.embeddings_per_feat = {3, 0, 2}}), HasSubstr("table 1 of 3 has 0 rows"));
  EXPECT_THAT(refusal({.embeddings_per_feat = {1, uint64_t{1} << 63}}),
              HasSubstr("tables 0 to 1 have more than 2^63 rows"));
  EXPECT_THAT(refusal({.embeddings_per_feat = {3}, .num_groups = 0}), HasSubstr("num_groups=0"));
  EXPECT_THAT(refusal({.embeddings_per_feat = {3}, .num_groups = 1, .base_emb_dim = 0}),
              HasSubstr("base_emb_dim=0"));
  EXPECT_THAT(
      refusal(
          {.embeddings_per_feat = {9}, .num_groups = 1, .mode = whole, .shuffle_call_number = 0}),
      HasSubstr("shuffle_call_number=0"));
  EXPECT_THAT(refusal({.embeddings_per_feat = {9, 9}, .num_groups = 2, .capacities = {1}}),
              HasSubstr("1 capacity for num_groups=2"));
  EXPECT_THAT(refusal({.embeddings_per_feat = {9, 9}, .num_groups = 2, .capacities = {1, 0}}),
              HasSubstr("capacity of rank 1 is 0"));
  EXPECT_THAT(
      refusal(
          {.embeddings_per_feat = {9, 9}, .num_groups = 2, .mode = whole, .capacities = {1, 1}}),
      HasSubstr("shuffle assigns equally many"));
}

// ---- For any sizes ------------------------------------------------------------------------------

// A manager of any mode, with capacities or without.
LoadBalanceManager AnyManager() {
  LoadBalanceOptions options;
  // Resized, so that the first of RapidCheck's cases are from the whole range too.
  options.embeddings_per_feat = *rc::gen::resize(
      rc::kNominalSize, rc::gen::mapcat(rc::gen::inRange<size_t>(1, 7), [](size_t tables) {
        return rc::gen::container<Sizes>(tables, rc::gen::inRange<uint64_t>(1, 25));
      }));
  options.mode = *rc::gen::element(LoadBalanceMode::kFair, LoadBalanceMode::kShuffle,
                                   LoadBalanceMode::kGreedy);
  const Sizes& sizes = options.embeddings_per_feat;
  // Up to more ranks than rows.
  const uint64_t most = std::accumulate(sizes.begin(), sizes.end(), uint64_t{2});
  options.num_groups = static_cast<uint32_t>(
      *rc::gen::resize(rc::kNominalSize, rc::gen::inRange<uint64_t>(1, most + 1)));
  options.shuffle_seed = *rc::gen::arbitrary<uint32_t>();
  if (options.mode != LoadBalanceMode::kShuffle && *rc::gen::arbitrary<bool>()) {
    options.capacities = *rc::gen::container<std::vector<uint32_t>>(
        options.num_groups, rc::gen::inRange<uint32_t>(1, 9));
  }
  return Made(options);
}

// Every id of every table: sample s holds row s of each, modulo its rows.
Sizes EveryId(const Sizes& sizes) {
  Sizes ids;
  for (uint64_t sample = 0; sample < *std::max_element(sizes.begin(), sizes.end()); ++sample) {
    for (const uint64_t rows : sizes) ids.push_back(sample % rows);
  }
  return ids;
}

RC_GTEST_PROP(LoadBalanceManager, GroupsOffsetsAndCutsAreViewsOfItsPlan, ()) {
  const LoadBalanceManager manager = AnyManager();
  const Sizes& sizes = manager.options().embeddings_per_feat;
  const std::vector<TableSpec> tables = Tables(sizes);
  const Result<Plan> plan = PlanOf(manager, tables);
  RC_ASSERT(plan.ok());
  RC_ASSERT(plan.value().shards() == manager.num_groups());
  Cuts cuts;
  std::vector<uint64_t> rows(manager.num_groups(), 0);
  std::vector<std::set<uint32_t>> features(manager.num_groups());
  for (const TableSpec& table : tables) {
    for (const Slice& slice : plan.value().slices(table.id)) {
      if (slice.row_begin > 0) cuts[Raw(table.id)].push_back(slice.row_begin);
      rows[Raw(slice.shard)] += slice.rows();
      features[Raw(slice.shard)].insert(Raw(table.id));
    }
  }
  RC_ASSERT(cuts == manager.Cuts());
  RC_ASSERT(rows == LoadBalanceManagerRowsOf(manager));
  uint64_t global = 0;
  for (uint32_t rank = 0; rank < manager.num_groups(); ++rank) {
    const auto group = manager.Group(rank);
    RC_ASSERT(group.size() == features[rank].size());
    RC_ASSERT(std::set<uint32_t>(group.begin(), group.end()) == features[rank]);
    if (manager.options().mode != LoadBalanceMode::kFair) continue;
    RC_ASSERT(manager.Range(rank).first == global);
    global = manager.Range(rank).second;
  }
  if (manager.options().mode == LoadBalanceMode::kFair) {
    RC_ASSERT(global == manager.total_rows());
  }
}

RC_GTEST_PROP(LoadBalanceManager, EveryIdHasOneOwnerAndLocalIdsAreDense, ()) {
  const LoadBalanceManager manager = AnyManager();
  const Sizes& sizes = manager.options().embeddings_per_feat;
  const Sizes ids = EveryId(sizes);
  std::map<std::pair<uint32_t, uint64_t>, std::set<uint32_t>> owners;
  for (uint32_t rank = 0; rank < manager.num_groups(); ++rank) {
    const auto shard = ShardTensor(manager, ids, rank);
    const size_t columns = shard.features.size();
    RC_ASSERT(shard.local_ids.size() == ids.size() / sizes.size() * columns);
    std::map<int64_t, std::pair<uint32_t, uint64_t>> row_of;
    for (size_t i = 0; i < shard.local_ids.size(); ++i) {
      if (shard.is_on_this_rank[i] == 0) continue;
      const uint32_t feature = shard.features[i % columns];
      const uint64_t id = ids[i / columns * sizes.size() + feature];
      owners[{feature, id}].insert(rank);
      const auto [known, is_new] = row_of.insert({shard.local_ids[i], {feature, id}});
      RC_ASSERT(is_new || known->second == std::pair(feature, id));
    }
    RC_ASSERT(row_of.size() == manager.NumEmbeddingsOnRank(rank));
    if (row_of.empty()) continue;
    RC_ASSERT(row_of.begin()->first == 0);
    RC_ASSERT(row_of.rbegin()->first + 1 == static_cast<int64_t>(row_of.size()));
  }
  RC_ASSERT(owners.size() == manager.total_rows());
  for (const auto& [row, ranks] : owners) RC_ASSERT(ranks.size() == 1u);
}

RC_GTEST_PROP(LoadBalanceManager, PartialLookupsAddUpToTheUnshardedOne, ()) {
  const LoadBalanceManager manager = AnyManager();
  const Sizes& sizes = manager.options().embeddings_per_feat;
  const size_t dim = *rc::gen::inRange<size_t>(1, 4);
  std::vector<float> weights(manager.total_rows() * dim);
  std::iota(weights.begin(), weights.end(), 1.0f);
  const Sizes ids = EveryId(sizes);
  std::vector<float> sums(ids.size() * dim, 0.0f), unsharded;
  for (size_t i = 0; i < ids.size(); ++i) {
    const uint64_t row = manager.all_feat_offsets()[i % sizes.size()] + ids[i];
    for (size_t column = 0; column < dim; ++column)
      unsharded.push_back(weights[row * dim + column]);
  }
  for (uint32_t rank = 0; rank < manager.num_groups(); ++rank) {
    const auto shard = ShardTensor(manager, ids, rank);
    std::vector<float> rows;  // the rank's, by local row
    for (const auto& segment : manager.segments(rank)) {
      const float* const first =
          weights.data() + (manager.all_feat_offsets()[segment.feature] + segment.row_begin) * dim;
      rows.insert(rows.end(), first, first + segment.rows() * dim);
    }
    RC_ASSERT(rows.size() == manager.NumEmbeddingsOnRank(rank) * dim);
    const size_t columns = shard.features.size();
    for (size_t i = 0; i < shard.local_ids.size(); ++i) {
      if (shard.is_on_this_rank[i] == 0) continue;
      const size_t lookup = i / columns * sizes.size() + shard.features[i % columns];
      const auto local = static_cast<size_t>(shard.local_ids[i]);
      for (size_t column = 0; column < dim; ++column) {
        sums[lookup * dim + column] += rows[local * dim + column];
      }
    }
  }
  RC_ASSERT(sums == unsharded);
}

}  // namespace
}  // namespace rowhouse
