#include "sharding/lab/planner/plan_parts.h"

#include <xxhash.h>

#include "common/random.h"
#include "sharding/plans/plan_maker.h"
#include "sharding/plans/strategy.h"

namespace rowhouse {

PlanByTable::PlanByTable(const Plan& plan) {
  for (uint32_t t = 0; t < plan.tables(); ++t) {
    const TableId table{t};
    const auto slices = plan.slices(table);
    tables_.push_back({.slices = {slices.begin(), slices.end()},
                       .placement = {.table = table,
                                     .order = plan.order(table),
                                     .worker_rows = plan.worker_rows(table),
                                     .pools_on_shards = plan.pools_on_shards(table),
                                     .cache_share = plan.cache_share(table)}});
  }
}

Result<Plan> PlanByTable::ToPlan(const EmbeddingTables& tables, uint32_t shards) const {
  std::vector<Slice> slices;
  std::vector<TablePlacement> placements;
  for (const TableParts& table : tables_) {
    slices.insert(slices.end(), table.slices.begin(), table.slices.end());
    placements.push_back(table.placement);
  }
  ASSIGN_OR_RETURN(Plan plan, Plan::Make(tables.physical, shards, std::move(slices), placements));
  RETURN_IF_ERROR(CheckPoolingOnShards(tables, plan));
  return plan;
}

TableParts PartsOnWorkers(const TableSpec& table) { return PartsWhole(table, kOnWorkers); }

TableParts PartsWhole(const TableSpec& table, ShardId shard) {
  return {.slices = {WholeTable(table, shard)}, .placement = {.table = table.id}};
}

TableParts PartsByRows(const TableSpec& table, uint32_t shards) {
  TableParts parts{.slices = {},
                   .placement = {.table = table.id, .order = ScatteredOrderOf(table)}};
  const std::vector<uint64_t> cuts = CutsByCapacity(table.rows, {.shards = shards});
  for (uint32_t s = 0; s < shards; ++s) {
    if (cuts[s] == cuts[s + 1]) continue;
    Slice slice = WholeTable(table, ShardId{s});
    slice.row_begin = cuts[s];
    slice.row_end = cuts[s + 1];
    parts.slices.push_back(slice);
  }
  return parts;
}

TableParts PartsByColumns(const TableSpec& table, uint32_t shards, uint32_t first) {
  TableParts parts{.slices = {}, .placement = {.table = table.id}};
  const std::vector<uint32_t> cuts = ColumnCuts(table.dim, shards);
  for (uint32_t p = 0; p + 1 < cuts.size(); ++p) {
    Slice slice = WholeTable(table, ShardId{(first + p) % shards});
    slice.column_begin = cuts[p];
    slice.column_end = cuts[p + 1];
    parts.slices.push_back(slice);
  }
  return parts;
}

RowOrder ScatteredOrderOf(const TableSpec& table) {
  const uint64_t name = XXH3_64bits(table.name.data(), table.name.size());
  return RowOrder::Scattered(table.rows, MixKey(StrategyOptions().seed, name));
}

}  // namespace rowhouse
