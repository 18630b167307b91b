#include "sharding/plans/plan_file.h"

#include <xxhash.h>

#include <algorithm>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "common/counted.h"
#include "common/json_text.h"
#include "sharding/plans/strategy.h"

namespace rowhouse {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

constexpr uint32_t kMaxNodes = 65536;
constexpr uint32_t kMaxShardsPerNode = 1024;

// What a plan depends on; the rate and initial values of a table may change.
ordered_json TableToJson(const TableSpec& table) {
  return {{"id", Raw(table.id)},          {"name", table.name},
          {"rows", table.rows},           {"dim", table.dim},
          {"optimizer", table.optimizer}, {"record_bytes", RecordBytes(table)}};
}

ordered_json TablesToPlanJson(const std::vector<TableSpec>& tables) {
  ordered_json list = ordered_json::array();
  for (const TableSpec& table : tables) list.push_back(TableToJson(table));
  return list;
}

std::string DigestOf(const ordered_json& tables) {
  const std::string text = DumpJson(tables);
  return fmt::format("{:016x}", XXH3_64bits(text.data(), text.size()));
}

ordered_json WithNames(const json& plan, const std::vector<TableSpec>& tables) {
  // In the order in which people look for things; what is left comes after.
  ordered_json named = {{"plan_version", plan.at("plan_version")}, {"shards", plan.at("shards")}};
  for (const char* key : {"slices", "placements"}) {
    if (!plan.contains(key)) continue;
    ordered_json list = ordered_json::array();
    for (const json& from : plan.at(key)) {
      ordered_json one = {{"table", tables[from.at("table").get<size_t>()].name}};
      for (const char* first : {"rows", "columns"}) {
        if (from.contains(first)) one[first] = from.at(first);
      }
      for (const auto& [name, value] : from.items()) {
        if (!one.contains(name)) one[name] = value;
      }
      list.push_back(std::move(one));
    }
    named[key] = std::move(list);
  }
  for (const auto& [key, value] : plan.items()) {
    if (!named.contains(key)) named[key] = value;
  }
  return named;
}

// The tables of the file are those of the model, one by one; the first difference, by name.
Status CompareTables(const JsonText& text, const std::vector<TableSpec>& tables) {
  constexpr const char* kOfAnother = "it is of another config";
  const json& list = text.value.at("tables");
  RETURN_IF_ERROR(CheckJsonList(list, "tables"));
  std::unordered_map<std::string_view, const TableSpec*> of_model;
  for (const TableSpec& table : tables) of_model.emplace(table.name, &table);
  std::unordered_set<std::string> listed;
  for (size_t i = 0; i < list.size(); ++i) {
    const json& from = list[i];
    const std::string where = text.Describe("table", "tables", i);
    const Status keys =
        CheckJsonKeys(from, {"name"}, {"id", "rows", "dim", "optimizer", "record_bytes"});
    if (!keys.ok()) return keys.Annotate(where);
    const Result<std::string> read = ReadJsonString(from.at("name"), "name");
    if (!read.ok()) return read.status().Annotate(where);
    const std::string& name = read.value();
    listed.insert(name);
    const auto found = of_model.find(name);
    if (found == of_model.end()) {
      return UsageError("table \"{}\" of the plan is none of this model's; {}", name, kOfAnother);
    }
    const ordered_json mine = TableToJson(*found->second);
    for (const auto& [key, value] : mine.items()) {
      if (from.contains(key) && from.at(key) == json(value)) continue;
      return UsageError("table \"{}\": {} is {} in the plan, {} in this model; {}", name, key,
                        ShownJson(from.value(key, json())), DumpJson(value), kOfAnother);
    }
  }
  for (const TableSpec& table : tables) {
    if (!listed.contains(table.name)) {
      return UsageError("the plan says nothing of table \"{}\"; {}", table.name, kOfAnother);
    }
  }
  if (list.size() != tables.size()) {
    return UsageError("\"tables\" has {} entries for {} tables: one is there twice", list.size(),
                      tables.size());
  }
  return OkStatus();
}

Result<std::string> ReadName(const json& from) {
  ASSIGN_OR_RETURN(std::string name, ReadJsonString(from, "name"));
  const bool has_control =
      std::ranges::any_of(name, [](unsigned char c) { return c < ' ' || c == 0x7f; });
  if (!name.empty() && name.size() <= PlanFile::kMaxNameBytes && !has_control) return name;
  return UsageError("name is {}: give 1 to {} bytes of printable text, or leave it out",
                    ShownJson(from), PlanFile::kMaxNameBytes);
}

Result<PlanFile> Read(const JsonText& text, const std::vector<TableSpec>& tables) {
  const json& from = text.value;
  if (!from.is_object() || !from.contains("rowhouse_plan")) {
    return UsageError("is no plan: there is no \"rowhouse_plan\"");
  }
  ASSIGN_OR_RETURN(const uint64_t format,
                   ReadJsonNumber(from.at("rowhouse_plan"), "rowhouse_plan", INT32_MAX));
  if (format < 1 || format > PlanFile::kFormat) {
    return UsageError("format {} is {} than this program, which reads up to {}", format,
                      format < 1 ? "older" : "newer", PlanFile::kFormat);
  }
  RETURN_IF_ERROR(CheckJsonKeys(
      from, {"rowhouse_plan", "tables_digest", "strategy", "ps", "shards_per_ps", "tables", "plan"},
      {"name"}));
  RETURN_IF_ERROR(CompareTables(text, tables));
  const std::string digest = DigestOf(TablesToPlanJson(tables));
  if (from.at("tables_digest") != digest) {
    return UsageError("tables_digest is {}, that of the tables it lists is {}: one was edited",
                      ShownJson(from.at("tables_digest")), digest);
  }
  PlanFile file;
  if (from.contains("name")) {
    ASSIGN_OR_RETURN(file.name, ReadName(from.at("name")));
  }
  ASSIGN_OR_RETURN(file.strategy, ReadJsonString(from.at("strategy"), "strategy"));
  if (file.strategy != PlanFile::kPlanner) {
    RETURN_IF_ERROR(ShardingStrategies().Validate(file.strategy));
  }
  ASSIGN_OR_RETURN(const uint64_t ps, ReadJsonNumber(from.at("ps"), "ps", kMaxNodes));
  ASSIGN_OR_RETURN(const uint64_t shards_per_ps,
                   ReadJsonNumber(from.at("shards_per_ps"), "shards_per_ps", kMaxShardsPerNode));
  if (ps * shards_per_ps > kMaxShards) {
    return UsageError("ps and shards_per_ps are {} shards in all; a plan has at most {}",
                      ps * shards_per_ps, kMaxShards);
  }
  file.ps = static_cast<uint32_t>(ps);
  file.shards_per_ps = static_cast<uint32_t>(shards_per_ps);
  ASSIGN_OR_RETURN(
      file.plan,
      Plan::FromJson(from.at("plan"), tables, [&](const std::string& list, size_t index) {
        return text.Describe(list == "slices" ? "slice" : "placement", list, index);
      }));
  if (ps * shards_per_ps != file.plan.shards() || file.plan.shards() == 0) {
    return UsageError("{} of {} are {}, its plan is for {}", Counted(ps, "PS node"),
                      Counted(shards_per_ps, "shard"), Counted(ps * shards_per_ps, "shard"),
                      file.plan.shards());
  }
  return file;
}

}  // namespace

std::string PlanFileText(const PlanFile& file, const std::vector<TableSpec>& tables) {
  ordered_json list = TablesToPlanJson(tables);
  const std::string digest = DigestOf(list);
  ordered_json all = {{"rowhouse_plan", PlanFile::kFormat}};
  if (!file.name.empty()) all["name"] = file.name;
  all["tables_digest"] = digest;
  all["strategy"] = file.strategy;
  all["ps"] = file.ps;
  all["shards_per_ps"] = file.shards_per_ps;
  all["tables"] = std::move(list);
  all["plan"] = WithNames(file.plan.ToJson(), tables);
  return JsonLines(all);
}

Result<PlanFile> ReadPlanFile(const std::string& text, const std::vector<TableSpec>& tables) {
  ASSIGN_OR_RETURN(const JsonText read, ReadJsonText(text));
  Result<PlanFile> file = Read(read, tables);
  // Whatever is wrong with it, the operator can mend.
  if (!file.ok()) return Status(StatusCode::kUsage, file.status().message());
  return file;
}

}  // namespace rowhouse
