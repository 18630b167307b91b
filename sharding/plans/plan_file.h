// A plan as a file: JSON that people read, compare line by line and edit; `rowhouse plan --out`
// writes it, `rowhouse train --plan` routes by it.
//
//   {"rowhouse_plan": 1,              version of this format
//    "tables_digest": hex,            of what follows of the tables
//    "strategy": name,                that made it; for people
//    "ps": 8, "shards_per_ps": 1,     of the run it is for: shard s is on PS node s / shards_per_ps
//    "tables": [{"id", "name", "rows", "dim", "optimizer", "record_bytes"}, ...],
//    "plan": Plan::ToJson(), with tables by name, a slice a line}
//
// Threads: pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/status.h"
#include "sharding/plans/plan.h"

namespace rowhouse {

struct PlanFile {
  static constexpr int kFormat = 1;

  std::string strategy;
  uint32_t ps = 1;             // >= 1
  uint32_t shards_per_ps = 1;  // >= 1; times ps: plan.shards()
  Plan plan;
};

std::string PlanFileText(const PlanFile& file, const std::vector<TableSpec>& tables);

// kUsage, one sentence that says where (slice, placement or table by number and line), for what is
// no such JSON or has a key that nobody reads, of a newer format, of an unknown strategy, of tables
// that differ from `tables` in more than their rate and first values (naming the first that does),
// or holds no plan of them (sharding/plans/plan.h).
Result<PlanFile> ReadPlanFile(const std::string& text, const std::vector<TableSpec>& tables);

}  // namespace rowhouse
