// MakePlan: one plan of all tables, each placed by its own strategy.
//
// Threads: a pure function, the same on every rank.
#pragma once

#include <string>
#include <vector>

#include "sharding/plans/strategy.h"
#include "sharding/tables/embedding_tables.h"

namespace rowhouse {

struct PlanOptions {
  uint32_t shards = 1;                // > 0
  std::string strategy = "row_wise";  // of tables that name none
  StrategyOptions options;
  std::string pool_on = "workers";   // or shards; of tables that do not say
  std::vector<uint32_t> capacities;  // of shards, relative to one another, each 1 or more; none:
                                     // all the same
  const AccessCounts* accesses = nullptr;  // null: nobody counted
};

// Tables that their kind keeps on the workers (EmbeddingTables::on_workers) are replicated,
// whatever they name. Tables on the workers are pooled there; kUsage if one asks for the shards
// itself, or if pool_on=shards is left without a table. kUsage, naming the table, for an unknown
// strategy or one that cannot place it.
Result<Plan> MakePlan(const EmbeddingTables& tables, const PlanOptions& options);

// OK if whatever the plan pools on shards gives the bits that workers would have: of tables whose
// lookups are pooled as they are, row by row, and whose bags lie whole on one shard, unless their
// pooling is max or their pooling_sum exact. kUsage, naming the table, otherwise.
Status CheckPoolingOnShards(const EmbeddingTables& tables, const Plan& plan);

// Why the bags of one part of a feature cannot be pooled where this plan has its rows, whether it
// asks for it or not; "": they can.
std::string WhyNotPooledOnShards(const EmbeddingTables& tables, const FeatureTable& feature,
                                 TableId part, const Plan& plan);

// Of tables without a model: row_wise, but for those on the workers (one value a table, or none).
// Requires shards > 0 and valid tables.
Plan MakeRowWisePlan(const std::vector<TableSpec>& tables, uint32_t shards,
                     const std::vector<bool>& on_workers = {});

}  // namespace rowhouse
