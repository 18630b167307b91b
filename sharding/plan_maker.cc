#include "sharding/plan_maker.h"

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
    return Plan::Make(tables_.physical, options_.shards, std::move(slices_), placements_);
  }

 private:
  std::string StrategyOf(size_t table) const {
    if (tables_.on_workers[table]) return "replicated";
    const std::string& own = tables_.strategies[table];
    return own.empty() ? options_.strategy : own;
  }

  Status Place(const std::string& name, const std::vector<TableSpec>& group) {
    ASSIGN_OR_RETURN(const auto strategy, ShardingStrategies().Make(name, {}));
    ASSIGN_OR_RETURN(Placed placed, strategy->Place({.tables = group,
                                                     .shards = options_.shards,
                                                     .capacities = options_.capacities,
                                                     .bytes_there = bytes_there_,
                                                     .accesses = options_.accesses,
                                                     .options = options_.options}));
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

Plan MakeRowWisePlan(const std::vector<TableSpec>& tables, uint32_t shards,
                     const std::vector<bool>& on_workers) {
  CHECK(on_workers.empty() || on_workers.size() == tables.size());
  EmbeddingTables model;
  model.physical = tables;
  model.on_workers = on_workers;
  model.on_workers.resize(tables.size());
  model.strategies.resize(tables.size());
  return MakePlan(model, {.shards = shards}).value();
}

}  // namespace rowhouse
