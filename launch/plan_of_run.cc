#include "launch/plan_of_run.h"

#include <fstream>
#include <nlohmann/json.hpp>

#include "sharding/plan_maker.h"

namespace rowhouse {
namespace {

Result<nlohmann::json> ReadJson(const std::string& flag, const std::string& path) {
  std::ifstream file(path);
  if (!file) return UsageError("--{}={}: cannot be read", flag, path);
  nlohmann::json json = nlohmann::json::parse(file, nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded()) return UsageError("--{}={}: is no JSON", flag, path);
  return json;
}

// Bytes of weights, state and trailers that each node would hold, all rows touched.
Status CheckMemory(const Settings& settings, const Plan& plan, uint32_t shards_per_node) {
  if (settings.sharding.ps_rows_mb == 0) return OkStatus();
  std::vector<double> bytes(plan.shards() / shards_per_node);
  for (const TableSpec& table : settings.embedding.physical) {
    for (const Slice& slice : plan.slices(table.id)) {
      if (slice.shard == kOnWorkers) continue;
      bytes[Raw(slice.shard) / shards_per_node] += static_cast<double>(slice.rows()) *
                                                   slice.columns() / table.dim *
                                                   static_cast<double>(RecordBytes(table));
    }
  }
  for (size_t node = 0; node < bytes.size(); ++node) {
    const double mb = bytes[node] / (1 << 20);
    if (mb <= static_cast<double>(settings.sharding.ps_rows_mb)) continue;
    return UsageError(
        "--ps_rows_mb={}: the plan gives PS node {} {:.1f} MiB of rows and state; use more PS "
        "nodes "
        "(--ps), another --strategy, or a higher limit",
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
    for (const TableId part : feature.parts) ++lookups[Raw(part)];
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

}  // namespace

Result<Plan> PlanOf(const Settings& settings, uint32_t nodes, uint32_t shards_per_node) {
  PlanOptions options{.shards = nodes * shards_per_node,
                      .strategy = settings.sharding.strategy,
                      .options = settings.sharding.options,
                      .pool_on = settings.sharding.pool_on,
                      .capacities = {},
                      .accesses = nullptr};
  AccessCounts accesses;
  if (!settings.sharding.access_counts.empty()) {
    const std::string& path = settings.sharding.access_counts;
    ASSIGN_OR_RETURN(const nlohmann::json json, ReadJson("access_counts", path));
    Result<AccessCounts> read = AccessCounts::FromJson(json);
    if (!read.ok()) return read.status().Annotate("--access_counts=" + path);
    accesses = std::move(read).value();
    options.accesses = &accesses;
  }
  ASSIGN_OR_RETURN(Plan plan, MakePlan(settings.embedding, options));
  RETURN_IF_ERROR(CheckAccumulation(settings, plan));
  RETURN_IF_ERROR(CheckMemory(settings, plan, shards_per_node));
  return plan;
}

}  // namespace rowhouse
