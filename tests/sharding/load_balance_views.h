// What a LoadBalanceManager gives each rank, in the shapes of the original's views. For tests.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "sharding/tables/load_balance_manager.h"

namespace rowhouse {

// A batch as one rank looks it up: row-major, one column for each of `features`.
struct TensorShard {
  std::vector<uint32_t> features;  // fair: all of them; whole tables: the rank's group
  // The rank's row of each id. An id of another rank is negative or >= NumEmbeddingsOnRank.
  std::vector<int64_t> local_ids;
  std::vector<uint8_t> is_on_this_rank;  // 0: another rank's, contributes nothing here
};

// The original's shard_tensor, by what the manager says of the rank. ids [samples x features],
// row-major.
inline TensorShard ShardTensor(const LoadBalanceManager& manager, std::span<const uint64_t> ids,
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

inline LoadBalanceManager Made(LoadBalanceOptions options) {
  return LoadBalanceManager::Make(std::move(options)).value();
}

inline std::vector<std::vector<uint32_t>> GroupsOfManager(const LoadBalanceManager& manager) {
  std::vector<std::vector<uint32_t>> groups;
  for (uint32_t rank = 0; rank < manager.num_groups(); ++rank) {
    groups.push_back(manager.Group(rank));
  }
  return groups;
}

inline std::vector<uint64_t> LoadBalanceManagerRowsOf(const LoadBalanceManager& manager) {
  std::vector<uint64_t> rows;
  for (uint32_t rank = 0; rank < manager.num_groups(); ++rank) {
    rows.push_back(manager.NumEmbeddingsOnRank(rank));
  }
  return rows;
}

}  // namespace rowhouse
