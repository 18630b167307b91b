#include "sharding/lab/planner/table_places.h"

#include <algorithm>

namespace rowhouse {
namespace {

// Whole tables are tried on so many shards.
constexpr uint32_t kMaxShardsToTry = 16;

}  // namespace

PlanByTable TablePlaces::Pooled(const Plan& plan, bool only_where_better) const {
  PlanByTable parts(plan);
  for (const TableSpec& table : workload_.tables.physical) {
    TablePlacement& placement = parts.tables()[Raw(table.id)].placement;
    const bool is_possible = !plan.is_on_workers(table.id) && placement.worker_rows.empty() &&
                             forms_.MayPool(table.id) &&
                             (!plan.splits_bags(table.id) || forms_.CanSplitBags(table.id));
    placement.pools_on_shards =
        is_possible && (!only_where_better || workload_.tables.pool_on[Raw(table.id)] == "shards" ||
                        forms_.Bags(table.id).even_ms < forms_.Rows(table.id).even_ms);
  }
  return parts;
}

bool TablePlaces::IsAllowed(const TableSpec& table, const TableParts& parts) const {
  const TablePlacement& placement = parts.placement;
  if (parts.is_on_workers()) {
    return (options_.may_replicate || forms_.MustBeOnWorkers(table.id)) &&
           workload_.tables.pool_on[Raw(table.id)] != "shards";
  }
  if (forms_.MustBeOnWorkers(table.id)) return false;
  if (!options_.may_split && parts.slices.size() > 1) return false;
  if (workload_.tables.pool_on[Raw(table.id)] == "shards" && !placement.pools_on_shards) {
    return !forms_.MayPool(table.id);
  }
  if (!placement.pools_on_shards) return true;
  const bool by_rows = parts.slices.size() > 1 && parts.slices[0].rows() < table.rows;
  return options_.may_pool_on_shards && forms_.MayPool(table.id) && placement.worker_rows.empty() &&
         (!by_rows || forms_.MaySplitBags(table.id));
}

void TablePlaces::AddPooled(const TableSpec& table, TableParts parts,
                            std::vector<TableParts>* places) const {
  for (const bool pools : {false, true}) {
    parts.placement.pools_on_shards = pools;
    if (IsAllowed(table, parts)) places->push_back(parts);
  }
}

std::vector<TableParts> TablePlaces::Of(const TableSpec& table, const TableParts* now) const {
  std::vector<TableParts> places;
  if (IsAllowed(table, PartsOnWorkers(table))) places.push_back(PartsOnWorkers(table));
  if (now != nullptr && !now->is_on_workers()) {
    TableParts other = *now;
    other.placement.worker_rows.clear();
    AddPooled(table, other, &places);
  }
  for (uint32_t s = 0; s < std::min(shards_, kMaxShardsToTry); ++s) {
    AddPooled(table, PartsWhole(table, ShardId{s}), &places);
  }
  if (shards_ > 1) {
    AddPooled(table, PartsByRows(table, shards_), &places);
    if (forms_.MayCutColumns(table.id)) {
      AddPooled(table, PartsByColumns(table, shards_, Raw(table.id) % shards_), &places);
    }
  }
  if (!forms_.HotRows(table.id).empty()) {
    TableParts hot = now != nullptr && !now->is_on_workers() ? *now : PartsByRows(table, shards_);
    hot.placement.pools_on_shards = false;
    hot.placement.worker_rows = forms_.HotRows(table.id);
    if (IsAllowed(table, hot)) places.push_back(hot);
  }
  return places;
}

}  // namespace rowhouse
