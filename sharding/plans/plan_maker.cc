#include "sharding/plans/plan_maker.h"

#include <algorithm>
#include <map>
#include <utility>

namespace rowhouse {
namespace {

class Maker {
 public:
  Maker(const EmbeddingTables& tables, const PlanOptions& options)
      : tables_(tables), options_(options), bytes_there_(options.shards) {}

  Result<Plan> Make() {
    // Those that spread tables evenly first; then those that fill what is left free.
    std::map<std::pair<bool, std::string>, std::vector<TableSpec>> by_strategy;
    for (size_t t = 0; t < tables_.physical.size(); ++t) {
      const TableSpec& table = tables_.physical[t];
      const std::string name = StrategyOf(t);
      const Result<std::unique_ptr<ShardingStrategy>> strategy =
          ShardingStrategies().Make(name, {});
      if (!strategy.ok()) {
        return strategy.status().Annotate(fmt::format("table \"{}\"", table.name));
      }
      by_strategy[{strategy.value()->fills(), name}].push_back(table);
    }
    for (const auto& [key, group] : by_strategy) {
      RETURN_IF_ERROR(Place(key.second, group));
    }
    RETURN_IF_ERROR(PlacePooling());
    ASSIGN_OR_RETURN(
        Plan plan, Plan::Make(tables_.physical, options_.shards, std::move(slices_), placements_));
    RETURN_IF_ERROR(CheckPoolingOnShards(tables_, plan));
    return plan;
  }

 private:
  std::string StrategyOf(size_t table) const {
    if (tables_.on_workers[table]) return StrategyOnWorkers();
    const std::string& own = tables_.strategies[table];
    return own.empty() ? options_.strategy : own;
  }

  Status Place(const std::string& name, const std::vector<TableSpec>& group) {
    ASSIGN_OR_RETURN(const auto strategy, ShardingStrategies().Make(name, {}));
    std::vector<bool> pools_on_shards;
    std::vector<double> lookups;
    for (const TableSpec& table : group) {
      pools_on_shards.push_back(AsksForShards(table.id));
      if (!options_.lookups.empty()) lookups.push_back(options_.lookups[Raw(table.id)]);
    }
    ASSIGN_OR_RETURN(Placed placed, strategy->Place({.tables = group,
                                                     .shards = options_.shards,
                                                     .capacities = options_.capacities,
                                                     .bytes_there = bytes_there_,
                                                     .accesses = options_.accesses,
                                                     .options = options_.options,
                                                     .pools_on_shards = pools_on_shards,
                                                     .lookups = lookups}));
    for (const Slice& slice : placed.slices) {
      if (slice.shard == kOnWorkers) continue;
      const TableSpec& table = tables_.physical[Raw(slice.table)];
      const double part = static_cast<double>(slice.rows()) / static_cast<double>(table.rows) *
                          slice.columns() / table.dim;
      bytes_there_[Raw(slice.shard)] +=
          static_cast<uint64_t>(part * static_cast<double>(TableBytesOf(table)));
    }
    slices_.insert(slices_.end(), placed.slices.begin(), placed.slices.end());
    placements_.insert(placements_.end(), placed.placements.begin(), placed.placements.end());
    return OkStatus();
  }

  bool AsksForShards(TableId table) const {
    const std::string& own = tables_.pool_on[Raw(table)];
    // Learned weights of ids are not pooled as vectors.
    return (own.empty() ? options_.pool_on : own) == "shards" && !IsOfLearnedWeights(table);
  }

  bool IsOnWorkers(TableId table) const {
    return std::ranges::any_of(slices_, [table](const Slice& slice) {
      return slice.table == table && slice.shard == kOnWorkers;
    });
  }

  Status PlacePooling() {
    bool is_asked = false, is_pooled = false;  // for the whole run; any table
    for (const TableSpec& table : tables_.physical) {
      if (!AsksForShards(table.id)) continue;
      // The run's setting applies to tables that can be pooled there; a table's own setting is
      // kept, and refused below if it cannot be.
      is_asked = is_asked || tables_.pool_on[Raw(table.id)].empty();
      if (IsOnWorkers(table.id) && tables_.pool_on[Raw(table.id)].empty()) continue;
      is_pooled = true;
      const auto placement = std::ranges::find_if(
          placements_, [&](const TablePlacement& other) { return other.table == table.id; });
      if (placement != placements_.end()) {
        placement->pools_on_shards = true;
      } else {
        placements_.push_back(
            {.table = table.id, .order = {}, .worker_rows = {}, .pools_on_shards = true});
      }
    }
    if (!is_asked || is_pooled) return OkStatus();
    return UsageError(
        "pool_on=shards: all tables have their rows on the workers, and are pooled there; say "
        "pool_on=workers, or another strategy");
  }

  bool IsOfLearnedWeights(TableId table) const {
    return std::ranges::any_of(tables_.features, [table](const FeatureTable& feature) {
      return feature.weights == table;
    });
  }

  const EmbeddingTables& tables_;
  const PlanOptions& options_;
  std::vector<uint64_t> bytes_there_;
  std::vector<Slice> slices_;
  std::vector<TablePlacement> placements_;
};

}  // namespace

Result<Plan> MakePlan(const EmbeddingTables& tables, const PlanOptions& options) {
  CHECK_GT(options.shards, 0u);
  CHECK(options.capacities.empty() || options.capacities.size() == options.shards);
  return Maker(tables, options).Make();
}

namespace {

// Whether an id has rows in other physical tables too.
bool IsCombined(const FeatureTable& feature, TableId part) {
  return std::ranges::any_of(feature.groups, [&](const IdGroup& group) {
    const auto first = feature.parts.begin() + static_cast<std::ptrdiff_t>(group.first_part);
    return group.parts > 1 && std::find(first, first + static_cast<std::ptrdiff_t>(group.parts),
                                        part) != first + static_cast<std::ptrdiff_t>(group.parts);
  });
}

}  // namespace

std::string WhyNotPooledOnShards(const EmbeddingTables& tables, const FeatureTable& feature,
                                 TableId part, const Plan& plan) {
  const TableSpec& physical = tables.physical[Raw(part)];
  if (IsCombined(feature, part) && !feature.kind->layout().pool_first) {
    return "the parts of an id are combined before pooling";
  }
  if (feature.weights) return "the weights of its ids are learned";
  if (physical.max_norm > 0.0) return "its rows have max_norm";
  if (physical.scale_grad_by_freq) return "scale_grad_by_freq needs the lookups of a row";
  if (plan.splits_bags(part) && feature.table.pooling != "max" &&
      feature.table.pooling_sum != "exact") {
    return "they are split over shards, and a sum in bag order cannot be; pooling_sum: exact can, "
           "and so can a strategy that keeps rows together (table_wise_lpt, column_wise)";
  }
  return "";
}

Status CheckPoolingOnShards(const EmbeddingTables& tables, const Plan& plan) {
  for (const FeatureTable& feature : tables.features) {
    for (const TableId part : feature.parts) {
      if (!plan.pools_on_shards(part)) continue;
      const std::string why = WhyNotPooledOnShards(tables, feature, part, plan);
      if (why.empty()) continue;
      return UsageError(
          "table \"{}\": its bags cannot be pooled on the shards: {}; give it, or all tables, "
          "pool_on: workers",
          feature.table.name, why);
    }
  }
  return OkStatus();
}

Plan MakeRowWisePlan(const std::vector<TableSpec>& tables, uint32_t shards,
                     const std::vector<bool>& on_workers) {
  CHECK(on_workers.empty() || on_workers.size() == tables.size());
  EmbeddingTables model;
  model.physical = tables;
  model.on_workers = on_workers;
  model.on_workers.resize(tables.size());
  model.strategies.resize(tables.size());
  model.pool_on.resize(tables.size());
  return MakePlan(model, {.shards = shards}).value();
}

}  // namespace rowhouse
