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
  std::string strategy = "row_wise";  // for tables that do not name one
  StrategyOptions options;
  std::string pool_on = "workers";         // workers | shards, for tables that do not say
  std::vector<uint32_t> capacities;        // of shards, relative, each >= 1; empty: all the same
  const AccessCounts* accesses = nullptr;  // null: not counted
  std::vector<double> lookups = {};        // StrategyRequest::lookups, of all physical tables
};

// Tables that their kind keeps on the workers (EmbeddingTables::on_workers) are replicated,
// whatever strategy they name, and pooled there. kUsage, naming the table: for an unknown strategy,
// for one that cannot place the table, and for a table on the workers that says pool_on: shards.
// kUsage also if options.pool_on is shards and shards pool no table: all tables without a pool_on
// of their own are on the workers.
Result<Plan> MakePlan(const EmbeddingTables& tables, const PlanOptions& options);

// Whether pooling on the plan's shards gives the bits of pooling on workers. kUsage, naming the
// first table where it does not: ids must be single rows, and a bag must lie on one shard, unless
// pooling is max or pooling_sum is exact.
Status CheckPoolingOnShards(const EmbeddingTables& tables, const Plan& plan);

// Why shards could not pool the bags of one physical table of a feature under this plan, whether or
// not the plan asks for it; "" if they could.
std::string WhyNotPooledOnShards(const EmbeddingTables& tables, const FeatureTable& feature,
                                 TableId part, const Plan& plan);

// A row_wise plan of physical tables. `on_workers`: one value a table, or empty for none.
// Requires shards > 0 and valid tables.
Plan MakeRowWisePlan(const std::vector<TableSpec>& tables, uint32_t shards,
                     const std::vector<bool>& on_workers = {});

}  // namespace rowhouse
