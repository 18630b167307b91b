// A plan as a file: JSON that people read, compare line by line and edit; `rowhouse plan --out`
// writes it, `rowhouse train --plan` routes by it.
//
//   {"rowhouse_plan": 1,              version of this format
//    "name": text,                    may be left out: what tables of plans call it, for people
//    "tables_digest": hex,            of "tables" below
//    "strategy": name,                that made the plan, or "auto"; for people
//    "ps": 8, "shards_per_ps": 1,     of the run: shard s is on PS node s / shards_per_ps
//    "tables": [{"id", "name", "rows", "dim", "optimizer", "record_bytes"}, ...],
//    "plan": Plan::ToJson(), with tables by name, a slice a line}
//
// Threads: pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/status.h"
#include "sharding/plans/plan.h"

namespace rowhouse {

struct PlanFile {
  static constexpr int kFormat = 1;
  static constexpr size_t kMaxNameBytes = 64;
  static constexpr std::string_view kPlanner = "auto";  // as strategy: the planner made it

  std::string name = {};  // "": none; else 1 to kMaxNameBytes of printable UTF-8
  std::string strategy;
  uint32_t ps = 1;             // >= 1
  uint32_t shards_per_ps = 1;  // >= 1; times ps: plan.shards()
  Plan plan;
};

std::string PlanFileText(const PlanFile& file, const std::vector<TableSpec>& tables);

// kUsage, one sentence with the place (slice, placement or table by number and line): for other
// JSON, an unknown key, a newer format, an unknown strategy, slices that are no plan of the tables,
// and tables that are not those of `tables`. Rates and initial values are not compared; the message
// names the first table that differs.
Result<PlanFile> ReadPlanFile(const std::string& text, const std::vector<TableSpec>& tables);

}  // namespace rowhouse
