// NodePlan: what each PS node of a run will take, in memory and on disk
// (ps/node/memory_estimate.h), for `rowhouse plan --sizes`. Threads: plain data.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "common/status.h"
#include "launch/settings/settings.h"
#include "ps/node/memory_estimate.h"
#include "sharding/plans/access_counts.h"
#include "sharding/plans/plan.h"

namespace rowhouse {

struct NodePlan {
  struct Node {
    double rows = 0;          // that the plan gives it
    double touched_rows = 0;  // of them, that training looks up
    double step_rows = 0;     // pulled and pushed in a step, by all workers
    MemoryEstimate memory;
    uint64_t memory_without_limit = 0;  // total; as memory.total() where there is no limit
    DiskEstimate disk;
    std::string refusal;  // why the node would refuse the run; "": it would not
  };
  std::string touched;  // "all" or "run"
  uint32_t workers = 1;
  uint64_t memory_limit_bytes = 0;   // 0: none
  uint64_t request_limit_bytes = 0;  // of it, for requests
  std::vector<Node> nodes;           // one at least

  const Node& fullest() const;  // the first of those that take most memory
};

// As many PS nodes as ps or ps_endpoints say, or one; as many workers (under mpirun half of the
// ranks are PS nodes unless ps says otherwise). `touched_rows`: "all"; or "run", the rows that the
// run's samples look up, expected: of generated data, or by the counts that access_counts names.
// Requires settings that are Validate()d. kUsage for a plan that cannot be made, another
// `touched_rows`, and "run" where nobody has read the data.
Result<NodePlan> MakeNodePlan(const Settings& settings, const std::string& touched_rows = "all");

// The same of a plan that is made: of a run with these workers. `accesses`: how often its rows are
// looked up; null: not counted.
Result<NodePlan> NodePlanOf(const Settings& settings, const Plan& plan, uint32_t shards_per_node,
                            uint32_t workers, const std::string& touched_rows,
                            const AccessCounts* accesses);

// {touched_rows, workers, memory_limit_bytes, nodes: [{node, rows, touched_rows, step_rows, memory:
// {total_bytes, process_bytes, ...}, memory_without_limit_bytes, disk: {records_bytes,
// compacted_bytes, peak_bytes, log_bytes}, refusal}]}; memory_limit_bytes and refusal null where
// there is none.
nlohmann::ordered_json NodePlanToJson(const NodePlan& plan);

// The fullest node in full, a line for each where they differ; bytes in units of 1024.
std::string NodePlanText(const NodePlan& plan);

}  // namespace rowhouse
