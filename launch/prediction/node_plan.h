// NodePlan: predicted bytes of each PS node of a run, in memory and on disk
// (ps/node/memory_estimate.h), for `rowhouse plan --sizes`. Threads: plain data.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
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
    double rows = 0;          // that it owns by the plan
    double touched_rows = 0;  // of these, rows that training looks up
    double step_rows = 0;     // pulled and pushed in a step, by all workers
    MemoryEstimate memory;
    uint64_t memory_without_limit = 0;  // total bytes if there were no memory limit
    DiskEstimate disk;
    std::string refusal;  // why the node would refuse the run; "" if it would not
  };
  std::string touched;  // "all" or "run"
  uint32_t workers = 1;
  uint64_t memory_limit_bytes = 0;   // 0: none
  uint64_t request_limit_bytes = 0;  // part of the limit that is for requests
  std::vector<Node> nodes;           // at least one

  const Node& fullest() const;  // the first of those with the most memory
};

// For the PS nodes that ps or ps_endpoints gives, or else one. Assumes as many workers as PS nodes
// (the default under mpirun). `touched_rows`: "all", or "run": the rows that the run's samples are
// expected to look up, known for generated data and by the file of access_counts. Requires settings
// that are Validate()d. kUsage if the plan cannot be made, for other values of `touched_rows`, and
// for "run" without access counts of files.
Result<NodePlan> MakeNodePlan(const Settings& settings, const std::string& touched_rows = "all");

// The same for a given plan and number of workers. `accesses`: access counts, or null.
Result<NodePlan> NodePlanOf(const Settings& settings, const Plan& plan, uint32_t shards_per_node,
                            uint32_t workers, const std::string& touched_rows,
                            const AccessCounts* accesses);

// {touched_rows, workers, memory_limit_bytes, nodes: [{node, rows, touched_rows, step_rows, memory:
// {total_bytes, process_bytes, ...}, memory_without_limit_bytes, disk: {records_bytes,
// compacted_bytes, peak_bytes, log_bytes}, refusal}]}; memory_limit_bytes and refusal are null if
// there is none.
nlohmann::ordered_json NodePlanToJson(const NodePlan& plan);

// The fullest node in detail, and a line for each node if they differ; bytes in powers of 1024.
std::string NodePlanText(const NodePlan& plan);

}  // namespace rowhouse
