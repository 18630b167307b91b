// A shard to be measured: the rows that are used fit its memory, and it has an empty store, in
// memory.
// Threads: one.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "common/status.h"
#include "ps/shard/shard.h"
#include "ps/shard/shard_store.h"
#include "sharding/plans/plan.h"
#include "sharding/tables/embedding_tables.h"
#include "worker/client/shard_address.h"

namespace rowhouse {

struct MeasuredShard {
  static constexpr uint64_t kJobId = 1;
  static constexpr uint64_t kIncarnation = 1;

  std::string name;
  std::unique_ptr<Shard> shard;
  std::unique_ptr<ShardStore> store;

  // Shard `id` of the plan. `cache_ratio`: of all rows; below 1 rows have no places of their own.
  static Result<MeasuredShard> Make(const std::vector<TableSpec>& tables, const Plan& plan,
                                    uint32_t id, uint32_t workers, double cache_ratio = 1);
  // As its client sees it.
  ShardAddress Address(const std::string& endpoint) const;
};

// Rows of all tables spread over the shards by row_wise. `pools`: shards pool all bags.
Result<Plan> MeasuredPlan(const EmbeddingTables& tables, uint32_t shards, bool pools);

}  // namespace rowhouse
