// LoadBalanceManager by hand, and what must hold for any sizes. load_balance_vectors_test.cc has
// the numbers of the original.
#include "sharding/tables/load_balance_manager.h"

#include "sharding/plans/strategy.h"
#include "tests/sharding/load_balance_views.h"
#include "tests/testing/testing.h"
// After gtest's, which testing.h includes.
#include <rapidcheck/gtest.h>

#include <numeric>

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

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;

using Sizes = std::vector<uint64_t>;
using Groups = std::vector<std::vector<uint32_t>>;
using Offsets = std::vector<std::vector<uint64_t>>;
using Cuts = std::map<uint32_t, std::vector<uint64_t>>;

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
