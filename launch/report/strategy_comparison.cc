#include "launch/report/strategy_comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "launch/figures/figure_text.h"
#include "launch/figures/json_members.h"
#include "launch/figures/json_output.h"
#include "launch/figures/page.h"
#include "launch/report/report.h"

namespace rowhouse {
namespace {

using Json = nlohmann::json;
using OrderedJson = nlohmann::ordered_json;

// ---- Reading ------------------------------------------------------------------------------------

Result<double> FigureAt(const Json& json, const char* pointer) {
  const Json::json_pointer place(pointer);
  if (json.contains(place) && json[place].is_number()) return json[place].get<double>();
  return UsageError("no number at {}; it is no report of a run that trained a step", pointer);
}

Result<std::string> Text(const Json& json, const char* pointer) {
  const Json::json_pointer place(pointer);
  if (json.contains(place) && json[place].is_string()) return json[place].get<std::string>();
  return UsageError("no text at {}; it is no report of a run with a strategy", pointer);
}

Result<StrategyCost::OverNodes> OverNodes(const Json& nodes, const char* pointer) {
  StrategyCost::OverNodes over;
  for (const Json& node : nodes) {
    ASSIGN_OR_RETURN(const double figure, FigureAt(node, pointer));
    over.max = std::max(over.max, figure);
    over.mean += figure / static_cast<double>(nodes.size());
  }
  return over;
}

Result<std::string> StrategyName(const Json& json) {
  if (json.contains("label") && json["label"].is_string()) return json["label"].get<std::string>();
  ASSIGN_OR_RETURN(const std::string strategy, Text(json, "/sharding/strategy"));
  ASSIGN_OR_RETURN(const std::string pool_on, Text(json, "/sharding/pool_on"));
  return strategy + (pool_on == "shards" ? "+bags" : "");
}

Result<StrategyCost> CostOf(const Json& json) {
  if (!json.is_object() || json.value("format", Json()) != Json(kReportFormat)) {
    return UsageError("no report of format {}", kReportFormat);
  }
  StrategyCost cost;
  ASSIGN_OR_RETURN(cost.name, StrategyName(json));
  if (json.contains("refused")) {
    ASSIGN_OR_RETURN(cost.refused, Text(json, "/refused"));
    return cost;
  }
  ASSIGN_OR_RETURN(const std::string digest, Text(json, "/rows/digest"));
  if (digest.empty()) {
    return UsageError("no rows digest to compare with others; train with --rows_digest=always");
  }
  ASSIGN_OR_RETURN(const double step_ms, FigureAt(json, "/totals/median_step_ms"));
  ASSIGN_OR_RETURN(cost.wire_bytes, FigureAt(json, "/totals/wire_bytes_per_step"));
  ASSIGN_OR_RETURN(const double steps, FigureAt(json, "/totals/steps"));
  const Json nodes = json.value(Json::json_pointer("/sharding/ps_nodes"), Json::array());
  ASSIGN_OR_RETURN(cost.placed_bytes, OverNodes(nodes, "/placed_bytes"));
  ASSIGN_OR_RETURN(cost.cache_bytes, OverNodes(nodes, "/cache_bytes"));
  ASSIGN_OR_RETURN(cost.rows_stored, OverNodes(nodes, "/rows"));
  const Result<double> on_workers = FigureAt(json, "/sharding/on_each_worker/bytes");
  if (on_workers.ok()) cost.worker_bytes = on_workers.value();
  ASSIGN_OR_RETURN(cost.rows_pulled, OverNodes(nodes, "/rows_pulled"));
  cost.rows_pulled.max /= steps;
  cost.rows_pulled.mean /= steps;
  cost.digests = {digest};
  cost.step_ms = {step_ms};
  return cost;
}

}  // namespace

double StrategyCost::median_step_ms() const {
  const size_t middle = step_ms.size() / 2;
  return step_ms.size() % 2 == 1 ? step_ms[middle] : (step_ms[middle - 1] + step_ms[middle]) / 2;
}

Result<std::vector<StrategyCost>> ReadStrategyCosts(const std::vector<std::string>& paths) {
  std::vector<StrategyCost> costs;
  for (const std::string& path : paths) {
    ASSIGN_OR_RETURN(const Json json, ReadReportFile(path));
    Result<StrategyCost> read = CostOf(json);
    if (!read.ok()) return read.status().Annotate(path);
    const auto same = std::ranges::find(costs, read.value().name, &StrategyCost::name);
    if (same == costs.end()) {
      costs.push_back(std::move(read).value());
    } else if (same->refused != read.value().refused) {
      return UsageError("{}: {} was refused in one run and trained in another", path, same->name);
    } else if (same->refused.empty()) {
      same->digests.push_back(read.value().digests[0]);
      same->step_ms.push_back(read.value().step_ms[0]);
      std::ranges::sort(same->step_ms);
    }
  }
  return costs;
}

FigureTable StrategyTable(const std::vector<StrategyCost>& costs) {
  FigureTable table{.columns = {{"strategy", "strategy"},
                                {"placed_bytes_max", "plan, max", BytesText},
                                {"placed_bytes_max_over_mean", "max/mean", FixedText<3>},
                                {"cache_bytes_max", "cache, max", BytesText},
                                {"cache_bytes_max_over_mean", "max/mean", FixedText<3>},
                                {"rows_stored_max", "rows stored, max", CountText},
                                {"rows_stored_max_over_mean", "max/mean", FixedText<3>},
                                {"worker_bytes", "on a worker", BytesText},
                                {"rows_pulled_per_step_max", "rows pulled a step, max", CountText},
                                {"rows_pulled_max_over_mean", "max/mean", FixedText<3>},
                                {"wire_bytes_per_step", "bytes a step", BytesText},
                                {"step_ms_median", "ms a step", FixedText<2>},
                                {"", "min..max", FixedText<2>},
                                {"step_ms_min"},
                                {"step_ms_max"},
                                {"repetitions"},
                                {"", "rows digest"},
                                {"rows_digest"},
                                {"refused"}}};
  for (const StrategyCost& cost : costs) {
    if (!cost.refused.empty()) {
      FigureTable::Row& row = table.rows.emplace_back(table.columns.size(), kNoCell);
      row.front() = cost.name;
      row[row.size() - 3] = "refused: " + cost.refused;
      row.back() = cost.refused;
      continue;
    }
    table.rows.push_back({cost.name, cost.placed_bytes.max, cost.placed_bytes.max_over_mean(),
                          cost.cache_bytes.max, cost.cache_bytes.max_over_mean(),
                          cost.rows_stored.max, cost.rows_stored.max_over_mean(),
                          FigureOrNull(cost.worker_bytes), cost.rows_pulled.max,
                          cost.rows_pulled.max_over_mean(), cost.wire_bytes, cost.median_step_ms(),
                          fmt::format("{:.2f}..{:.2f}", cost.step_ms.front(), cost.step_ms.back()),
                          cost.step_ms.front(), cost.step_ms.back(), cost.step_ms.size(),
                          cost.digests[0], cost.digests[0], kNoCell});
  }
  return table;
}

std::string StrategyPage(const std::vector<StrategyCost>& costs) {
  const FigureTable table = StrategyTable(costs);
  return PageText("strategies", {{"strategies", TableAsJson(table)},
                                 {"grid", TableAsGrid(table)},
                                 {"fault", CheckSameRows(costs).message()}});
}

Status CheckSameRows(const std::vector<StrategyCost>& costs) {
  const StrategyCost* first = nullptr;
  for (const StrategyCost& cost : costs) {
    for (const std::string& digest : cost.digests) {
      if (first == nullptr) first = &cost;
      if (digest == first->digests[0]) continue;
      return MakeStatus(StatusCode::kInternal,
                        "rows digest {} with {}, but {} with {}: runs of one model, data and seed "
                        "must have the same; if these runs were of one, it is a defect",
                        first->digests[0], first->name, digest, cost.name);
    }
  }
  if (first == nullptr)
    return UsageError("every strategy was refused: there is nothing to compare");
  return OkStatus();
}

}  // namespace rowhouse
