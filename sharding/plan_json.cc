// Plans as JSON. The oldest version that can say a plan is written, so that digests of plans that
// older builds made stay what they were.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "sharding/json_text.h"
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

// A table by number, as plans are sent and kept, or by name, as in files for people.
Result<TableId> TableFromJson(const json& from, const std::vector<TableSpec>& tables) {
  if (from.is_string()) {
    const auto found =
        std::ranges::find_if(tables, [&](const TableSpec& table) { return table.name == from; });
    if (found != tables.end()) return found->id;
    return UsageError("plan: names table {}, which the model does not have", from.dump());
  }
  ASSIGN_OR_RETURN(const uint64_t number, ReadJsonNumber(from, "table", UINT32_MAX));
  return TableId{static_cast<uint32_t>(number)};
}

Result<Slice> SliceFromJson(const json& from, const std::vector<TableSpec>& tables) {
  constexpr uint64_t kMostShard = UINT32_MAX - 1;  // the last number means the workers
  Slice slice;
  ASSIGN_OR_RETURN(slice.table, TableFromJson(from.at("table"), tables));
  const json& rows = from.at("rows");
  ASSIGN_OR_RETURN(slice.row_begin, ReadJsonNumber(rows.at(0), "the first row", UINT64_MAX));
  ASSIGN_OR_RETURN(slice.row_end, ReadJsonNumber(rows.at(1), "the end of the rows", UINT64_MAX));
  const json& columns = from.at("columns");
  ASSIGN_OR_RETURN(const uint64_t begin,
                   ReadJsonNumber(columns.at(0), "the first column", UINT32_MAX));
  ASSIGN_OR_RETURN(const uint64_t end,
                   ReadJsonNumber(columns.at(1), "the end of the columns", UINT32_MAX));
  slice.column_begin = static_cast<uint32_t>(begin);
  slice.column_end = static_cast<uint32_t>(end);
  const json& shard = from.at("shard");
  slice.shard = kOnWorkers;
  if (shard != kWorkers) {
    ASSIGN_OR_RETURN(const uint64_t number, ReadJsonNumber(shard, "shard", kMostShard));
    slice.shard = ShardId{static_cast<uint32_t>(number)};
  }
  return slice;
}

Result<std::vector<TablePlacement>> PlacementsFromJson(const json& placements,
                                                       const std::vector<TableSpec>& tables) {
  std::vector<TablePlacement> result;
  for (const json& from : placements) {
    TablePlacement placement;
    ASSIGN_OR_RETURN(placement.table, TableFromJson(from.at("table"), tables));
    if (Raw(placement.table) >= tables.size()) {
      return UsageError("plan: places table {}, but the model has {} tables", Raw(placement.table),
                        tables.size());
    }
    if (from.contains("scatter_key")) {
      ASSIGN_OR_RETURN(const uint64_t key,
                       ReadJsonNumber(from.at("scatter_key"), "scatter_key", UINT64_MAX));
      placement.order = RowOrder::Scattered(tables[Raw(placement.table)].rows, key);
    }
    if (from.contains("worker_rows")) {
      for (const json& row : from.at("worker_rows")) {
        ASSIGN_OR_RETURN(const uint64_t number,
                         ReadJsonNumber(row, "a row of worker_rows", UINT64_MAX));
        placement.worker_rows.push_back(RowId{number});
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
    for (const json& one : from.at("slices")) {
      Result<Slice> slice = SliceFromJson(one, tables);
      if (!slice.ok()) {
        return slice.status().Annotate(fmt::format("plan: slice {}", slices.size() + 1));
      }
      slices.push_back(slice.value());
    }
    std::vector<TablePlacement> placements;
    if (from.contains("placements")) {
      ASSIGN_OR_RETURN(placements, PlacementsFromJson(from.at("placements"), tables));
    }
    ASSIGN_OR_RETURN(const uint64_t shards,
                     ReadJsonNumber(from.at("shards"), "shards", UINT32_MAX));
    return Make(tables, static_cast<uint32_t>(shards), std::move(slices), placements);
  } catch (const json::exception& error) {
    return CorruptionError("plan: {}", error.what());
  }
}

}  // namespace rowhouse
