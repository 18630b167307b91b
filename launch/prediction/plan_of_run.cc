#include "launch/prediction/plan_of_run.h"

#include <fmt/ranges.h>

#include "common/counted.h"
#include "common/durable_file.h"
#include "common/json_text.h"
#include "launch/prediction/auto_plan.h"
#include "launch/prediction/id_counting.h"
#include "launch/prediction/traffic_report.h"
#include "launch/prediction/workload_of_run.h"
#include "launch/settings/strategy_settings.h"
#include "sharding/plans/plan_load.h"
#include "sharding/plans/plan_maker.h"
#include "sharding/plans/strategy.h"

namespace rowhouse {
namespace {

// The operator named the file, so any error is the operator's to mend.
Result<std::string> ReadNamedFile(const std::string& given, const std::string& path) {
  Result<std::string> text = ReadFile(path);
  if (!text.ok()) return UsageError("{}: {}", given, text.status().message());
  return text;
}

// As if every row were touched.
Status CheckMemory(const Settings& settings, const Plan& plan, uint32_t shards_per_node) {
  if (settings.sharding.ps_rows_mb == 0) return OkStatus();
  std::vector<double> bytes(plan.shards() / shards_per_node);
  const PlanLoad load = LoadOf(settings.embedding.physical, plan, nullptr);
  for (size_t s = 0; s < load.shards.size(); ++s) {
    bytes[s / shards_per_node] += load.shards[s].bytes;
  }
  for (size_t node = 0; node < bytes.size(); ++node) {
    const double mb = bytes[node] / (1 << 20);
    if (mb <= static_cast<double>(settings.sharding.ps_rows_mb)) continue;
    return UsageError(
        "--ps_rows_mb={}: the plan gives PS node {} {:.1f} MiB of rows and state; use more PS "
        "nodes (--ps), another --strategy, or a higher limit",
        settings.sharding.ps_rows_mb, node, mb);
  }
  return OkStatus();
}

// Workers merge the gradients of a shared table piece by piece of their samples, shards list by
// list.
Status CheckAccumulation(const Settings& settings, const Plan& plan) {
  if (settings.training.accumulation <= 1) return OkStatus();
  std::vector<int> lookups(settings.embedding.physical.size());
  for (const FeatureTable& feature : settings.embedding.features) {
    // Grouped tables lie beside each other; only their quotients and remainders share rows.
    const bool has_own_rows = TableKinds().DeclarationOf(feature.table.kind).lies_beside_others &&
                              feature.parts.size() == feature.groups.size();
    for (const TableId part : feature.parts) {
      int& of_part = lookups[Raw(part)];
      of_part = has_own_rows ? std::max(of_part, 1) : of_part + 1;
    }
  }
  for (const TableSpec& table : settings.embedding.physical) {
    if (lookups[Raw(table.id)] < 2 || !plan.pools_on_shards(table.id)) continue;
    return UsageError(
        "table \"{}\" is shared and pooled on the shards, which with mlperf_grad_accum_iter={} "
        "would "
        "sum gradients in another order; give it pool_on: workers",
        table.name, settings.training.accumulation);
  }
  return OkStatus();
}

// Workers add it to the gradients of rows, and see no row of a bag that shards pool.
Status CheckLookupL2(const Settings& settings, const Plan& plan) {
  if (settings.training.lookup_l2 == 0.0) return OkStatus();
  for (const TableSpec& table : settings.embedding.physical) {
    if (!plan.pools_on_shards(table.id)) continue;
    return UsageError(
        "lookup_l2={} needs the rows of table \"{}\" on the workers, and the plan pools its bags "
        "on the shards; give it pool_on: workers, or take optimizer_weight_decay instead",
        settings.training.lookup_l2, table.name);
  }
  return OkStatus();
}

Result<Plan> PlanOfFile(const Settings& settings, uint32_t nodes, uint32_t shards_per_node) {
  ASSIGN_OR_RETURN(PlanFile file, ReadPlanOf(settings));
  if (file.ps != nodes || file.shards_per_ps != shards_per_node) {
    return UsageError(
        "--plan={}: it is for {} of {}, the run has {} of {}; give --ps={} "
        "--shards={}, or make another by rowhouse plan --ps={} --shards={} --out=FILE",
        settings.sharding.plan, Counted(file.ps, "PS node"), Counted(file.shards_per_ps, "shard"),
        nodes, shards_per_node, file.ps, file.shards_per_ps, nodes, shards_per_node);
  }
  return std::move(file.plan);
}

// The capacity of each shard is that of its PS node, as all nodes have equally many.
Result<std::vector<uint32_t>> CapacitiesOfShards(const Settings& settings, uint32_t nodes,
                                                 uint32_t shards_per_node) {
  const std::vector<uint32_t>& given = settings.sharding.capacities;
  std::vector<uint32_t> capacities;
  if (given.empty()) return capacities;
  if (given.size() != nodes) {
    return UsageError("capacities={}: {} for {}; give one a PS node, in the order of their numbers",
                      fmt::join(given, ","), Counted(given.size(), "weight"),
                      Counted(nodes, "PS node"));
  }
  for (const uint32_t capacity : given) {
    capacities.insert(capacities.end(), shards_per_node, capacity);
  }
  return capacities;
}

// Of each physical table in a sample, on average. An id is in one group of its feature.
std::vector<double> LookupsOfTables(const Settings& settings) {
  const StepShape step = StepShapeOf(settings, /*workers=*/1);
  std::vector<double> lookups(settings.embedding.physical.size());
  for (size_t f = 0; f < settings.embedding.features.size(); ++f) {
    const FeatureTable& feature = settings.embedding.features[f];
    const double of_group =
        step.bag_lengths[f] / static_cast<double>(std::max<size_t>(1, feature.groups.size()));
    for (const TableId part : feature.parts) lookups[Raw(part)] += of_group;
    if (feature.weights) lookups[Raw(*feature.weights)] += step.bag_lengths[f];
  }
  return lookups;
}

Status CheckNeedsNoCounts(const Settings& settings) {
  std::vector<std::string> names = settings.embedding.strategies;  // "": that of the run
  names.push_back(settings.sharding.strategy);
  for (const std::string& name : names) {
    if (!ShardingStrategies().DeclarationOf(name).needs_counts) continue;
    return UsageError(
        "strategy {} needs to know which rows are hot: count them by rowhouse plan --count_ids "
        "--out=FILE, and give --access_counts=FILE",
        name);
  }
  return OkStatus();
}

Result<Plan> PlanOfStrategies(const Settings& settings, uint32_t nodes, uint32_t shards_per_node,
                              const AccessCounts* measured) {
  PlanOptions options{.shards = nodes * shards_per_node,
                      .strategy = settings.sharding.strategy,
                      .options = settings.sharding.options,
                      .pool_on = settings.sharding.pool_on,
                      .capacities = {},
                      .accesses = measured};
  ASSIGN_OR_RETURN(options.capacities, CapacitiesOfShards(settings, nodes, shards_per_node));
  std::optional<AccessCounts> known;
  if (measured == nullptr) {
    ASSIGN_OR_RETURN(known, GivenAccessCounts(settings));
    if (!known) known = GeneratedAccesses(settings);
    if (known) options.accesses = &*known;
  }
  options.lookups = LookupsOfTables(settings);
  if (options.accesses == nullptr) RETURN_IF_ERROR(CheckNeedsNoCounts(settings));
  return MakePlan(settings.embedding, options);
}

}  // namespace

Result<PlanFile> ReadPlanOf(const Settings& settings) {
  const std::string given = "--plan=" + settings.sharding.plan;
  ASSIGN_OR_RETURN(const std::string text, ReadNamedFile(given, settings.sharding.plan));
  Result<PlanFile> file = ReadPlanFile(text, settings.embedding.physical);
  if (file.ok()) return file;
  return UsageError("{}: {}; rowhouse plan --out=FILE makes another", given,
                    file.status().message());
}

Result<AccessCounts> ReadAccessCounts(const std::string& path, const std::string& flag) {
  const std::string given = fmt::format("--{}={}", flag, path);
  ASSIGN_OR_RETURN(const std::string text, ReadNamedFile(given, path));
  const Result<JsonText> json = ReadJsonText(text);
  if (!json.ok()) return json.status().Annotate(given);
  Result<AccessCounts> counts = AccessCounts::FromJson(json.value().value);
  if (counts.ok()) return counts;
  return UsageError("{}: {}; rowhouse plan --count_ids --out=FILE makes them", given,
                    counts.status().message());
}

Result<std::optional<AccessCounts>> GivenAccessCounts(const Settings& settings) {
  std::optional<AccessCounts> counts;
  if (const std::string& path = settings.sharding.access_counts; !path.empty()) {
    ASSIGN_OR_RETURN(counts, ReadAccessCounts(path));
  }
  return counts;
}

uint32_t PsNodesOf(const ClusterSettings& cluster) {
  if (cluster.ps > 0) return static_cast<uint32_t>(cluster.ps);
  return std::max(1u, static_cast<uint32_t>(cluster.ps_endpoints.size()));
}

Result<Plan> PlanOf(const Settings& settings, uint32_t nodes, uint32_t shards_per_node,
                    const AccessCounts* measured, uint32_t workers) {
  if (uint64_t{nodes} * shards_per_node > kMaxShards) {
    return UsageError("--ps={} --shards={}: {} of {} are {} shards in all; a plan has at most {}",
                      nodes, shards_per_node, Counted(nodes, "PS node"),
                      Counted(shards_per_node, "shard"), uint64_t{nodes} * shards_per_node,
                      kMaxShards);
  }
  if (AsksForPlanner(settings.sharding.plan)) {
    ASSIGN_OR_RETURN(PlannedRun planned,
                     AutoPlanOf(settings, nodes, shards_per_node, workers, measured));
    RETURN_IF_ERROR(CheckPlanOfRun(settings, planned.plan, shards_per_node));
    return std::move(planned.plan);
  }
  ASSIGN_OR_RETURN(Plan plan, settings.sharding.plan.empty()
                                  ? PlanOfStrategies(settings, nodes, shards_per_node, measured)
                                  : PlanOfFile(settings, nodes, shards_per_node));
  RETURN_IF_ERROR(CheckPlanOfRun(settings, plan, shards_per_node));
  return plan;
}

Status CheckPlanOfRun(const Settings& settings, const Plan& plan, uint32_t shards_per_node) {
  RETURN_IF_ERROR(CheckPoolingOnShards(settings.embedding, plan));
  RETURN_IF_ERROR(CheckAccumulation(settings, plan));
  RETURN_IF_ERROR(CheckLookupL2(settings, plan));
  return CheckMemory(settings, plan, shards_per_node);
}

Result<std::vector<TableTraffic>> TrafficOfRun(const Settings& settings, const Plan& plan,
                                               uint32_t workers, const AccessCounts* accesses) {
  ASSIGN_OR_RETURN(const Workload workload, WorkloadOf(settings, workers, accesses));
  return TrafficOfTables(workload, plan);
}

}  // namespace rowhouse
