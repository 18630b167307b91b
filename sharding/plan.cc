#include "sharding/plan.h"

#include <xxhash.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <tuple>

namespace rowhouse {
namespace {

constexpr int kPlanVersion = 2;          // the newest; read
constexpr int kPlanOfShardsVersion = 1;  // knows no tables on workers; written where it is enough

constexpr const char* kWorkersInJson = "workers";

Status CheckSlice(const TableSpec& table, uint32_t shards, const Slice& slice) {
  if (slice.column_begin != 0 || slice.column_end != table.dim) {
    return UsageError(
        "plan: table \"{}\": columns [{}, {}) are a cut of {} columns; plans of version {} keep "
        "rows whole",
        table.name, slice.column_begin, slice.column_end, table.dim, kPlanVersion);
  }
  if (slice.shard == kOnWorkers) {
    if (slice.row_begin == 0 && slice.row_end == table.rows) return OkStatus();
    return UsageError(
        "plan: table \"{}\": rows [{}, {}) of {} are on the workers; plans of version {} put whole "
        "tables there",
        table.name, slice.row_begin, slice.row_end, table.rows, kPlanVersion);
  }
  if (Raw(slice.shard) >= shards) {
    return UsageError(
        "plan: table \"{}\": rows [{}, {}) belong to shard {}, but there are {} shards", table.name,
        slice.row_begin, slice.row_end, Raw(slice.shard), shards);
  }
  if (slice.row_begin >= slice.row_end) {
    return UsageError("plan: table \"{}\": rows [{}, {}) are no range", table.name, slice.row_begin,
                      slice.row_end);
  }
  return OkStatus();
}

}  // namespace

Result<Plan> Plan::Make(const std::vector<TableSpec>& tables, uint32_t shards,
                        std::vector<Slice> slices) {
  std::sort(slices.begin(), slices.end(), [](const Slice& a, const Slice& b) {
    return std::tuple(Raw(a.table), a.row_begin) < std::tuple(Raw(b.table), b.row_begin);
  });
  if (!slices.empty() && Raw(slices.back().table) >= tables.size()) {
    return UsageError("plan: names table {}, but the model has {} tables", Raw(slices.back().table),
                      tables.size());
  }
  Plan plan;
  plan.shards_ = shards;
  size_t next = 0;
  for (size_t t = 0; t < tables.size(); ++t) {
    plan.first_slice_.push_back(next);
    uint64_t covered = 0;  // Rows of this table with an owner so far.
    for (; next < slices.size() && Raw(slices[next].table) == t; ++next) {
      const Slice& slice = slices[next];
      RETURN_IF_ERROR(CheckSlice(tables[t], shards, slice));
      if (slice.row_begin != covered) {
        return UsageError("plan: table \"{}\": rows [{}, {}) have {}", tables[t].name,
                          std::min(covered, slice.row_begin), std::max(covered, slice.row_begin),
                          slice.row_begin > covered ? "no owner" : "two owners");
      }
      covered = slice.row_end;
    }
    if (covered != tables[t].rows) {
      return UsageError("plan: table \"{}\": {} rows have owners, the table has {}", tables[t].name,
                        covered, tables[t].rows);
    }
  }
  plan.first_slice_.push_back(next);
  plan.slices_ = std::move(slices);
  return plan;
}

std::span<const Slice> Plan::slices(TableId table) const {
  const size_t t = Raw(table);
  CHECK_LT(t + 1, first_slice_.size());
  return std::span(slices_).subspan(first_slice_[t], first_slice_[t + 1] - first_slice_[t]);
}

bool Plan::is_on_workers(TableId table) const {
  const std::span<const Slice> of_table = slices(table);
  return !of_table.empty() && of_table.front().shard == kOnWorkers;
}

std::string Plan::digest() const {
  const std::string text = ToJson().dump();
  return fmt::format("{:016x}", XXH3_64bits(text.data(), text.size()));
}

nlohmann::json Plan::ToJson() const {
  nlohmann::json slices = nlohmann::json::array();
  int version = kPlanOfShardsVersion;
  for (const Slice& slice : slices_) {
    nlohmann::json shard = Raw(slice.shard);
    if (slice.shard == kOnWorkers) {
      shard = kWorkersInJson;
      version = kPlanVersion;
    }
    slices.push_back({{"table", Raw(slice.table)},
                      {"rows", {slice.row_begin, slice.row_end}},
                      {"columns", {slice.column_begin, slice.column_end}},
                      {"shard", std::move(shard)}});
  }
  return {{"plan_version", version}, {"shards", shards_}, {"slices", std::move(slices)}};
}

Result<Plan> Plan::FromJson(const nlohmann::json& json, const std::vector<TableSpec>& tables) {
  try {
    const int version = json.at("plan_version").get<int>();
    if (version > kPlanVersion) {
      return UsageError("plan: version {} is newer than this program, which reads up to {}",
                        version, kPlanVersion);
    }
    std::vector<Slice> slices;
    for (const nlohmann::json& slice : json.at("slices")) {
      const nlohmann::json& shard = slice.at("shard");
      slices.push_back(
          {.table = TableId{slice.at("table").get<uint32_t>()},
           .row_begin = slice.at("rows").at(0).get<uint64_t>(),
           .row_end = slice.at("rows").at(1).get<uint64_t>(),
           .column_begin = slice.at("columns").at(0).get<uint32_t>(),
           .column_end = slice.at("columns").at(1).get<uint32_t>(),
           .shard = shard == kWorkersInJson ? kOnWorkers : ShardId{shard.get<uint32_t>()}});
    }
    return Make(tables, json.at("shards").get<uint32_t>(), std::move(slices));
  } catch (const nlohmann::json::exception& error) {
    return CorruptionError("plan: {}", error.what());
  }
}

}  // namespace rowhouse
