#include "launch/report/comparison_json.h"

#include <optional>

namespace rowhouse {
namespace {

nlohmann::ordered_json FigureOrNull(const std::optional<double>& figure) {
  return figure ? nlohmann::ordered_json(*figure) : nlohmann::ordered_json();
}

}  // namespace

nlohmann::ordered_json ComparisonJson(const std::vector<ComparedRun>& runs) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const ComparedRun& run : runs) {
    list.push_back({{"run", run.name},
                    {"samples_per_second", FigureOrNull(run.samples_per_second)},
                    {"test_auc", FigureOrNull(run.test_auc)},
                    {"test_logloss", FigureOrNull(run.test_logloss)},
                    {"rows_bytes", FigureOrNull(run.rows_bytes)},
                    {"of_plain", FigureOrNull(run.OfPlain())},
                    {"test_auc_ceiling", FigureOrNull(run.test_auc_ceiling)},
                    {"report", run.path}});
  }
  return list;
}

nlohmann::ordered_json StrategyJson(const std::vector<StrategyCost>& costs) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const StrategyCost& cost : costs) {
    if (!cost.refused.empty()) {
      list.push_back({{"strategy", cost.name}, {"refused", cost.refused}});
      continue;
    }
    list.push_back({{"strategy", cost.name},
                    {"placed_bytes_max", cost.placed_bytes.max},
                    {"placed_bytes_max_over_mean", cost.placed_bytes.max_over_mean()},
                    {"cache_bytes_max", cost.cache_bytes.max},
                    {"cache_bytes_max_over_mean", cost.cache_bytes.max_over_mean()},
                    {"rows_stored_max", cost.rows_stored.max},
                    {"rows_stored_max_over_mean", cost.rows_stored.max_over_mean()},
                    {"worker_bytes", FigureOrNull(cost.worker_bytes)},
                    {"rows_pulled_per_step_max", cost.rows_pulled.max},
                    {"rows_pulled_max_over_mean", cost.rows_pulled.max_over_mean()},
                    {"wire_bytes_per_step", cost.wire_bytes},
                    {"step_ms_median", cost.median_step_ms()},
                    {"step_ms_min", cost.step_ms.front()},
                    {"step_ms_max", cost.step_ms.back()},
                    {"repetitions", cost.step_ms.size()},
                    {"rows_digest", cost.digests[0]}});
  }
  return list;
}

}  // namespace rowhouse
