#include "launch/plan/plan_pictures.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>

#include "sharding/lab/traffic/step_traffic.h"
#include "sharding/plans/strategy.h"

namespace rowhouse {
namespace {

using OrderedJson = nlohmann::ordered_json;

constexpr size_t kPicturedTables = 8;  // as many as there are colours
constexpr uint32_t kMaxShownNodes = 64;

std::vector<size_t> BusiestTables(const StepCost& cost) {
  std::vector<size_t> order(cost.tables.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, std::greater(),
                           [&](size_t t) { return cost.tables[t].rows_pulled; });
  if (order.size() > kPicturedTables) order.resize(kPicturedTables);
  return order;
}

// The run as if only one table were looked up.
Workload OnlyTable(const Workload& workload, size_t table) {
  Workload alone = workload;
  for (size_t t = 0; t < alone.lookups.size(); ++t) {
    if (t != table) alone.lookups[t] = 0;
  }
  return alone;
}

OrderedJson RowsByNode(const StepCost& cost, size_t nodes) {
  OrderedJson rows = OrderedJson::array();
  for (size_t n = 0; n < nodes; ++n) rows.push_back(cost.ps[n].rows_pulled);
  return rows;
}

}  // namespace

Result<OrderedJson> LoadsByTable(const LabRun& run, const CandidatePlan& candidate) {
  const size_t nodes = std::min<size_t>(candidate.cost.ps.size(), kMaxShownNodes);
  std::vector<double> others(nodes);
  for (size_t n = 0; n < nodes; ++n) others[n] = candidate.cost.ps[n].rows_pulled;
  OrderedJson tables = OrderedJson::array();
  for (const size_t t : BusiestTables(candidate.cost)) {
    ASSIGN_OR_RETURN(const StepCost alone, PredictStep(OnlyTable(run.workload, t), candidate.plan,
                                                       run.cluster, run.machine.machine));
    for (size_t n = 0; n < nodes; ++n) others[n] -= alone.ps[n].rows_pulled;
    tables.push_back(
        {{"name", run.workload.tables.physical[t].name}, {"rows", RowsByNode(alone, nodes)}});
  }
  if (candidate.cost.tables.size() > kPicturedTables) {
    for (double& rows : others) rows = std::max(rows, 0.0);
    tables.push_back({{"name", "others"}, {"rows", others}});
  }
  OrderedJson names = OrderedJson::array();
  for (size_t n = 0; n < nodes; ++n) names.push_back(fmt::format("PS node {}", n));
  return OrderedJson{{"plan", candidate.title},
                     {"of_nodes", candidate.cost.ps.size()},
                     {"nodes", std::move(names)},
                     {"tables", std::move(tables)}};
}

OrderedJson MissRatioCurves(const LabRun& run, const CandidatePlan& candidate) {
  const Workload& workload = run.workload;
  const double samples =
      static_cast<double>(workload.step.samples) / std::max(1u, workload.step.workers);
  OrderedJson series = OrderedJson::array();
  bool is_any_traced = false;
  for (const size_t t : BusiestTables(candidate.cost)) {
    const TableSpec& table = workload.tables.physical[t];
    const bool is_traced = !workload.lru_miss_ratio.empty() && workload.lru_miss_ratio[t];
    is_any_traced |= is_traced;
    const double lookups = workload.lookups[t] * samples;
    if (lookups <= 0) continue;
    const auto record = static_cast<double>(RecordBytes(table));
    OrderedJson points = OrderedJson::array();
    constexpr int kPoints = 24;
    const double first = std::min(16.0, static_cast<double>(table.rows));
    const double factor = std::pow(static_cast<double>(table.rows) / first, 1.0 / (kPoints - 1));
    double slots = first;
    for (int i = 0; i < kPoints; ++i, slots *= factor) {
      const double misses =
          is_traced ? workload.lru_miss_ratio[t](slots)
                    : 1 - workload.of_table[t].HitRate(slots, lookups, workload.storage.keeps);
      points.push_back({slots * record, misses});
      if (factor <= 1) break;
    }
    series.push_back({{"name", table.name}, {"points", std::move(points)}});
  }
  return {
      {"title", "Misses by cache size"},
      {"note", is_any_traced ? std::string("of an LRU cache, as traced; of distinct rows of a step")
                             : std::string("by the model; of distinct rows of a step")},
      {"x", "cache of the table"},
      {"y", "miss ratio"},
      {"x_is", "bytes"},
      {"y_is", "share"},
      {"series", std::move(series)}};
}

}  // namespace rowhouse
