#include "launch/plan/plan.h"

#include <cstdio>

#include "common/clean_text.h"
#include "common/json_text.h"
#include "launch/figures/json_output.h"
#include "launch/plan/load_balance.h"
#include "launch/plan/plan_report.h"
#include "launch/plan/size_plan.h"
#include "launch/prediction/auto_plan.h"
#include "launch/prediction/id_counting.h"
#include "launch/prediction/lab_run.h"
#include "launch/prediction/node_plan.h"
#include "launch/prediction/plan_of_run.h"
#include "launch/prediction/traffic_report.h"
#include "launch/settings/strategy_settings.h"

namespace rowhouse {
namespace {

constexpr uint64_t kMaxMb = uint64_t{1} << 24;  // as of cache_mb

Status PlanSizes(const Settings& settings, const PlanRequest& request) {
  uint64_t memory_mb = settings.storage.cache_mb;
  if (!request.memory_mb.empty()) {
    const auto value = ReadSize(request.memory_mb, uint64_t{1} << 20);
    if (!value || *value < 1 || *value > kMaxMb) {
      return UsageError(
          "--memory_mb={}: expected a whole number from 1 to {}, or a size such as 4GB",
          request.memory_mb, kMaxMb);
    }
    memory_mb = *value;
  }
  ASSIGN_OR_RETURN(
      const NodePlan nodes,
      MakeNodePlan(settings, request.touched_rows.empty() ? "all" : request.touched_rows));
  Figures figures = SizeFigures(settings, memory_mb << 20);
  figures.json["ps_nodes"] = NodePlanToJson(nodes);
  figures.Append("\n" + NodePlanText(nodes));
  return DeliverFigures(request.json, figures);
}

// Writes `file_text` to --out, if given, then prints `text` or delivers `file_text` as --json says.
Status Deliver(const PlanRequest& request, const std::string& file_text, std::string text) {
  if (!request.out.empty()) {
    RETURN_IF_ERROR(WriteFileOfFlag("out", request.out, file_text));
    text += fmt::format("\nwritten to {}\n", request.out);
  }
  return DeliverFigures(request.json, file_text, text);
}

Status CountAccesses(const Settings& settings, const PlanRequest& request) {
  ASSIGN_OR_RETURN(const IdCounts counts, CountIds(settings, request.max_samples));
  return Deliver(request, JsonLines(counts.counts.ToJson()), IdCountsText(counts));
}

// Sets file->plan. `counted`: instead of the lookups that the lab knows.
Result<PlannedRun> PlanByPlanner(const Settings& settings, const LabRun& lab,
                                 const AccessCounts* counted, PlanFile* file) {
  if (!lab.machine.warning.empty()) PrintClean(stderr, "warning: {}\n", lab.machine.warning);
  Workload workload = lab.workload;
  if (counted != nullptr) {
    ASSIGN_OR_RETURN(workload, WorkloadOf(settings, lab.cluster.workers, counted));
  }
  ASSIGN_OR_RETURN(PlannedRun planned,
                   AutoPlanOf(settings, workload, lab.cluster, lab.machine.machine));
  RETURN_IF_ERROR(CheckPlanOfRun(settings, planned.plan, lab.cluster.shards_per_ps));
  file->ps = lab.cluster.ps;
  file->shards_per_ps = lab.cluster.shards_per_ps;
  file->plan = planned.plan;
  return planned;
}

Status PlanRun(const Settings& settings, const PlanRequest& request) {
  const ShardingSettings& sharding = settings.sharding;
  const bool is_auto = AsksForPlanner(settings.sharding.plan);
  std::optional<AccessCounts> accesses;
  if (!request.measured.empty()) {
    if (!sharding.plan.empty() && !is_auto) {
      return UsageError("--plan={} names a plan and --measured={} makes one: give only one",
                        sharding.plan, request.measured);
    }
    ASSIGN_OR_RETURN(accesses, MeasuredAccesses(settings, request.measured));
  } else {
    ASSIGN_OR_RETURN(accesses, GivenAccessCounts(settings));
  }
  PlanFile file{.strategy = is_auto ? std::string(PlanFile::kPlanner) : sharding.strategy,
                .ps = PsNodesOf(settings.cluster),
                .shards_per_ps = settings.cluster.shards,
                .plan = {}};
  if (!sharding.plan.empty() && !is_auto) {
    ASSIGN_OR_RETURN(const PlanFile given, ReadPlanOf(settings));
    file.name = given.name;
    file.strategy = given.strategy;
    if (settings.cluster.ps <= 0 && settings.cluster.ps_endpoints.empty()) {
      file.ps = given.ps;
      file.shards_per_ps = given.shards_per_ps;
    }
  }
  const AccessCounts* counted = accesses ? &*accesses : nullptr;
  std::string decisions;
  uint32_t workers = 1;
  if (is_auto) {
    CHECK(request.lab);
    const LabRun& lab = *request.lab;
    ASSIGN_OR_RETURN(
        const PlannedRun planned,
        PlanByPlanner(settings, lab, request.measured.empty() ? nullptr : counted, &file));
    decisions = LabRunText(lab) + AutoPlanText(settings, planned) + "\n";
    workers = lab.cluster.workers;
    if (counted == nullptr) counted = lab.counts();
  } else {
    ASSIGN_OR_RETURN(file.plan, PlanOf(settings, file.ps, file.shards_per_ps, counted));
  }
  const std::vector<TableSpec>& tables = settings.embedding.physical;
  ASSIGN_OR_RETURN(const std::vector<TableTraffic> traffic,
                   TrafficOfRun(settings, file.plan, workers, counted));
  return Deliver(request, PlanFileText(file, tables),
                 decisions + PlanText(file, tables, counted) +
                     fmt::format("\nOn the wire in a step of {}:\n\n",
                                 workers == 1 ? "one worker" : fmt::format("{} workers", workers)) +
                     TrafficText(settings.embedding, traffic));
}

// The flags that say what to do; the first that stands beside another.
Status CheckOneAtATime(const PlanRequest& request) {
  std::vector<std::string_view> asked;
  if (request.wants_sizes) asked.push_back("--sizes");
  if (request.load_balance) asked.push_back("--embeddings_per_feat");
  if (request.wants_counts) asked.push_back("--count_ids");
  if (request.wants_plan) {
    asked.push_back(request.has_strategy        ? "--strategy"
                    : !request.measured.empty() ? "--measured"
                    : request.out.empty()       ? "--plan"
                                                : "--out");
  }
  if (asked.size() > 1) {
    return UsageError("{} and {} ask for different things; ask for one at a time", asked[0],
                      asked[1]);
  }
  return OkStatus();
}

}  // namespace

Status RunPlan(const Settings& settings, const PlanRequest& request) {
  RETURN_IF_ERROR(CheckOneAtATime(request));
  RETURN_IF_ERROR(CheckNodes(settings.cluster));
  const bool asks_for_other = request.wants_counts || request.wants_plan || request.load_balance;
  if (!request.memory_mb.empty() && asks_for_other) {
    return UsageError("--memory_mb={} is for vocabularies; say --sizes as well", request.memory_mb);
  }
  if (!request.touched_rows.empty() && asks_for_other) {
    return UsageError("--touched_rows={} is for sizes of PS nodes; say --sizes as well",
                      request.touched_rows);
  }
  if (request.max_samples > 0 && !request.wants_counts) {
    return UsageError("--max_samples={} is for counting; say --count_ids as well",
                      request.max_samples);
  }
  if (request.wants_sizes) return PlanSizes(settings, request);
  if (request.wants_counts) return CountAccesses(settings, request);
  if (request.wants_plan) return PlanRun(settings, request);
  if (request.load_balance) {
    return DeliverFigures(request.json, LoadBalanceFigures(*request.load_balance));
  }
  if (request.has_model || !request.memory_mb.empty() || !request.touched_rows.empty()) {
    return PlanSizes(settings, request);
  }
  return UsageError(
      "nothing to plan; say rowhouse plan --config=FILE, or --sizes, to print the bytes of every "
      "table and PS node and the largest vocabularies that fit a memory; --strategy=NAME --ps=N "
      "to print which shards own which rows, with --out=FILE to write that plan; --count_ids to "
      "count how often rows are looked up; or --embeddings_per_feat=ROWS,ROWS,... to print how "
      "LoadBalanceManager assigns rows to ranks");
}

}  // namespace rowhouse
