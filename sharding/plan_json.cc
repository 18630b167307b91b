// Plans as JSON. The oldest version that can say a plan is written, so that digests of plans that
// older builds made stay what they were.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "sharding/plan.h"

namespace rowhouse {
namespace {

using nlohmann::json;

constexpr int kOfWholeRows = 1;
constexpr int kWithTablesOnWorkers = 2;
constexpr int kNewest = 3;

constexpr const char* kWorkers = "workers";

int VersionOf(const Plan& plan) {
  int version = kOfWholeRows;
  for (uint32_t t = 0; t < plan.tables(); ++t) {
    const TableId table{t};
    if (plan.is_on_workers(table)) version = std::max(version, kWithTablesOnWorkers);
    const bool is_cut = std::ranges::any_of(
        plan.bands(table), [](const Plan::Band& band) { return band.cuts.size() > 1; });
    if (is_cut || plan.order(table).is_scattered() || !plan.worker_rows(table).empty() ||
        plan.pools_on_shards(table)) {
      return kNewest;
    }
  }
  return version;
}

json PlacementsToJson(const Plan& plan) {
  json placements = json::array();
  for (uint32_t t = 0; t < plan.tables(); ++t) {
    const TableId table{t};
    json placement;
    if (plan.order(table).is_scattered()) placement["scatter_key"] = plan.order(table).key();
    for (const RowId row : plan.worker_rows(table)) placement["worker_rows"].push_back(Raw(row));
    if (plan.pools_on_shards(table)) placement["pools_on_shards"] = true;
    if (placement.is_null()) continue;
    placement["table"] = t;
    placements.push_back(std::move(placement));
  }
  return placements;
}

Result<std::vector<TablePlacement>> PlacementsFromJson(const json& placements,
                                                       const std::vector<TableSpec>& tables) {
  std::vector<TablePlacement> result;
  for (const json& from : placements) {
    TablePlacement placement{
        .table = TableId{from.at("table").get<uint32_t>()}, .order = {}, .worker_rows = {}};
    if (Raw(placement.table) >= tables.size()) {
      return UsageError("plan: places table {}, but the model has {} tables", Raw(placement.table),
                        tables.size());
    }
    if (from.contains("scatter_key")) {
      placement.order = RowOrder::Scattered(tables[Raw(placement.table)].rows,
                                            from.at("scatter_key").get<uint64_t>());
    }
    if (from.contains("worker_rows")) {
      for (const json& row : from.at("worker_rows")) {
        placement.worker_rows.push_back(RowId{row.get<uint64_t>()});
      }
    }
    placement.pools_on_shards = from.value("pools_on_shards", false);
    result.push_back(std::move(placement));
  }
  return result;
}

}  // namespace

json Plan::ToJson() const {
  json slices = json::array();
  for (const Slice& slice : slices_) {
    slices.push_back(
        {{"table", Raw(slice.table)},
         {"rows", {slice.row_begin, slice.row_end}},
         {"columns", {slice.column_begin, slice.column_end}},
         {"shard", slice.shard == kOnWorkers ? json(kWorkers) : json(Raw(slice.shard))}});
  }
  const int version = VersionOf(*this);
  json result = {{"plan_version", version}, {"shards", shards_}, {"slices", std::move(slices)}};
  if (version >= kNewest) result["placements"] = PlacementsToJson(*this);
  return result;
}

Result<Plan> Plan::FromJson(const json& from, const std::vector<TableSpec>& tables) {
  try {
    const int version = from.at("plan_version").get<int>();
    if (version > kNewest) {
      return UsageError("plan: version {} is newer than this program, which reads up to {}",
                        version, kNewest);
    }
    std::vector<Slice> slices;
    for (const json& slice : from.at("slices")) {
      const json& shard = slice.at("shard");
      slices.push_back({.table = TableId{slice.at("table").get<uint32_t>()},
                        .row_begin = slice.at("rows").at(0).get<uint64_t>(),
                        .row_end = slice.at("rows").at(1).get<uint64_t>(),
                        .column_begin = slice.at("columns").at(0).get<uint32_t>(),
                        .column_end = slice.at("columns").at(1).get<uint32_t>(),
                        .shard = shard == kWorkers ? kOnWorkers : ShardId{shard.get<uint32_t>()}});
    }
    std::vector<TablePlacement> placements;
    if (from.contains("placements")) {
      ASSIGN_OR_RETURN(placements, PlacementsFromJson(from.at("placements"), tables));
    }
    return Make(tables, from.at("shards").get<uint32_t>(), std::move(slices), placements);
  } catch (const json::exception& error) {
    return CorruptionError("plan: {}", error.what());
  }
}

}  // namespace rowhouse
