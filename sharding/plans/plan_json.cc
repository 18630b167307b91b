// Plans as JSON. A plan is written in the oldest version that can express it, so that the digests
// of plans made by older builds do not change.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>
#include <unordered_map>

#include "common/json_text.h"
#include "sharding/plans/plan.h"

namespace rowhouse {
namespace {

using nlohmann::json;

constexpr int kOfWholeRows = 1;
constexpr int kWithTablesOnWorkers = 2;
constexpr int kWithPlacements = 3;
constexpr int kNewest = 4;  // with cache shares

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
      version = std::max(version, kWithPlacements);
    }
    if (plan.cache_share(table)) return kNewest;
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
    if (plan.cache_share(table)) placement["cache_share"] = *plan.cache_share(table);
    if (placement.is_null()) continue;
    placement["table"] = t;
    placements.push_back(std::move(placement));
  }
  return placements;
}

// The tables of a plan, of which there may be 100,000, named by each of its parts.
class NamedTables {
 public:
  explicit NamedTables(const std::vector<TableSpec>& tables) : tables_(tables) {
    for (const TableSpec& table : tables) by_name_.emplace(table.name, &table);
  }
  const TableSpec* Find(std::string_view name) const {
    const auto found = by_name_.find(name);
    return found == by_name_.end() ? nullptr : found->second;
  }
  size_t size() const { return tables_.size(); }
  const TableSpec& operator[](size_t number) const { return tables_[number]; }

 private:
  const std::vector<TableSpec>& tables_;
  std::unordered_map<std::string_view, const TableSpec*> by_name_;
};

// A table by number, as in messages and manifests, or by name, as in files for people.
Result<const TableSpec*> TableFromJson(const json& from, const NamedTables& tables) {
  if (from.is_string()) {
    const TableSpec* const table = tables.Find(from.get_ref<const std::string&>());
    if (table != nullptr) return table;
    return UsageError("names table {}, which the model does not have", ShownJson(from));
  }
  ASSIGN_OR_RETURN(const uint64_t number, ReadJsonNumber(from, "table", UINT32_MAX));
  if (number < tables.size()) return &tables[number];
  return UsageError("names table {}, but the model has {} tables", number, tables.size());
}

struct Range {
  uint64_t begin = 0, end = 0;
};

// A range [begin, end), not empty.
Result<Range> RangeFromJson(const json& from, std::string_view what, uint64_t most) {
  RETURN_IF_ERROR(CheckJsonList(from, what));
  if (from.size() != 2) {
    return CorruptionError("{} is {}; expected two numbers, the first and the end", what,
                           ShownJson(from));
  }
  Range range;
  ASSIGN_OR_RETURN(range.begin,
                   ReadJsonNumber(from[0], fmt::format("the first of {}", what), most));
  ASSIGN_OR_RETURN(range.end, ReadJsonNumber(from[1], fmt::format("the end of {}", what), most));
  if (range.begin >= range.end) {
    return CorruptionError("{} [{}, {}) are no range: the end is not beyond the first", what,
                           range.begin, range.end);
  }
  return range;
}

Status NeedsVersion(std::string_view what, int needed, uint64_t version) {
  if (version >= static_cast<uint64_t>(needed)) return OkStatus();
  return CorruptionError("{}, which plans have from plan_version {} on; this one says {}", what,
                         needed, version);
}

Result<Slice> SliceFromJson(const json& from, const NamedTables& tables, uint64_t version) {
  constexpr uint64_t kMaxShard = UINT32_MAX - 1;  // the last number means the workers
  RETURN_IF_ERROR(CheckJsonKeys(from, {"table", "rows", "columns", "shard"}));
  ASSIGN_OR_RETURN(const TableSpec* const table, TableFromJson(from.at("table"), tables));
  ASSIGN_OR_RETURN(const Range rows, RangeFromJson(from.at("rows"), "rows", UINT64_MAX));
  ASSIGN_OR_RETURN(const Range columns, RangeFromJson(from.at("columns"), "columns", UINT32_MAX));
  Slice slice{.table = table->id,
              .row_begin = rows.begin,
              .row_end = rows.end,
              .column_begin = static_cast<uint32_t>(columns.begin),
              .column_end = static_cast<uint32_t>(columns.end),
              .shard = kOnWorkers};
  if (slice.column_end <= table->dim && slice.columns() < table->dim) {
    RETURN_IF_ERROR(NeedsVersion(fmt::format("has {} of the {} columns of table \"{}\"",
                                             slice.columns(), table->dim, table->name),
                                 kWithPlacements, version));
  }
  const json& shard = from.at("shard");
  if (shard == kWorkers) {
    RETURN_IF_ERROR(NeedsVersion("is on the workers", kWithTablesOnWorkers, version));
    return slice;
  }
  Result<uint64_t> number = ReadJsonNumber(shard, "shard", kMaxShard);
  if (!number.ok()) {
    return CorruptionError("{}, or \"{}\"", number.status().message(), kWorkers);
  }
  slice.shard = ShardId{static_cast<uint32_t>(number.value())};
  return slice;
}

Result<TablePlacement> PlacementFromJson(const json& from, const NamedTables& tables,
                                         uint64_t version) {
  RETURN_IF_ERROR(CheckJsonKeys(from, {"table"},
                                {"scatter_key", "worker_rows", "pools_on_shards", "cache_share"}));
  ASSIGN_OR_RETURN(const TableSpec* const table, TableFromJson(from.at("table"), tables));
  TablePlacement placement{.table = table->id, .order = {}, .worker_rows = {}};
  if (from.contains("scatter_key")) {
    ASSIGN_OR_RETURN(const uint64_t key,
                     ReadJsonNumber(from.at("scatter_key"), "scatter_key", UINT64_MAX));
    placement.order = RowOrder::Scattered(table->rows, key);
  }
  if (from.contains("worker_rows")) {
    const json& rows = from.at("worker_rows");
    RETURN_IF_ERROR(CheckJsonList(rows, "worker_rows"));
    for (const json& row : rows) {
      ASSIGN_OR_RETURN(const uint64_t number,
                       ReadJsonNumber(row, "a row of worker_rows", UINT64_MAX));
      placement.worker_rows.push_back(RowId{number});
    }
  }
  if (from.contains("pools_on_shards")) {
    const json& pools = from.at("pools_on_shards");
    if (!pools.is_boolean()) {
      return CorruptionError("pools_on_shards is {}; expected true or false", ShownJson(pools));
    }
    placement.pools_on_shards = pools.get<bool>();
  }
  if (from.contains("cache_share")) {
    RETURN_IF_ERROR(NeedsVersion("has a cache_share", kNewest, version));
    const json& share = from.at("cache_share");
    if (!share.is_number() || share < 0.0 || share > 1.0) {
      return CorruptionError("cache_share is {}; expected a number from 0 to 1", ShownJson(share));
    }
    placement.cache_share = share.get<double>();
  }
  return placement;
}

// A plan that Plan::Make has not checked yet.
struct PlanParts {
  uint32_t shards = 0;
  std::vector<Slice> slices;
  std::vector<TablePlacement> placements;
};

std::string NumberOfPart(const std::string& list, size_t index) {
  return fmt::format("{} {}", list == "slices" ? "slice" : "placement", index + 1);
}

Result<PlanParts> ReadPlanParts(const json& from, const std::vector<TableSpec>& of_model,
                                const Plan::DescribePart& describe) {
  const NamedTables tables(of_model);
  // The version first: a newer one may have keys that nobody here knows.
  if (!from.is_object() || !from.contains("plan_version")) {
    return CheckJsonKeys(from, {"plan_version", "shards", "slices"});
  }
  ASSIGN_OR_RETURN(const uint64_t version,
                   ReadJsonNumber(from.at("plan_version"), "plan_version", INT32_MAX));
  if (version < kOfWholeRows || version > kNewest) {
    return UsageError("version {} is {} than this program, which reads {} to {}", version,
                      version > kNewest ? "newer" : "older", kOfWholeRows, kNewest);
  }
  RETURN_IF_ERROR(CheckJsonKeys(from, {"plan_version", "shards", "slices"}, {"placements"}));
  PlanParts parts;
  ASSIGN_OR_RETURN(const uint64_t shards, ReadJsonNumber(from.at("shards"), "shards", UINT32_MAX));
  parts.shards = static_cast<uint32_t>(shards);
  const json& slices = from.at("slices");
  RETURN_IF_ERROR(CheckJsonList(slices, "slices"));
  for (const json& one : slices) {
    Result<Slice> slice = SliceFromJson(one, tables, version);
    if (!slice.ok()) return slice.status().Annotate(describe("slices", parts.slices.size()));
    parts.slices.push_back(slice.value());
  }
  if (!from.contains("placements")) return parts;
  RETURN_IF_ERROR(NeedsVersion("has placements", kWithPlacements, version));
  const json& placements = from.at("placements");
  RETURN_IF_ERROR(CheckJsonList(placements, "placements"));
  std::vector<bool> is_placed(tables.size());
  for (const json& one : placements) {
    const std::string where = describe("placements", parts.placements.size());
    Result<TablePlacement> placement = PlacementFromJson(one, tables, version);
    if (!placement.ok()) return placement.status().Annotate(where);
    const size_t table = Raw(placement.value().table);
    if (is_placed[table]) {
      return UsageError("{}: table \"{}\" has one already", where, tables[table].name);
    }
    is_placed[table] = true;
    parts.placements.push_back(std::move(placement).value());
  }
  return parts;
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
  if (version >= kWithPlacements) result["placements"] = PlacementsToJson(*this);
  return result;
}

Result<Plan> Plan::FromJson(const json& from, const std::vector<TableSpec>& tables,
                            const DescribePart& describe) {
  Result<PlanParts> parts = ReadPlanParts(from, tables, describe ? describe : &NumberOfPart);
  if (!parts.ok()) return parts.status().Annotate("plan");
  return Make(tables, parts.value().shards, std::move(parts.value().slices),
              parts.value().placements);
}

}  // namespace rowhouse
