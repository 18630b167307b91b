#include "launch/report/compare.h"

#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "common/json_text.h"
#include "common/output_path.h"
#include "launch/figures/json_output.h"
#include "launch/figures/report_file.h"
#include "launch/report/comparison.h"
#include "launch/report/strategy_comparison.h"

namespace rowhouse {
namespace {

nlohmann::ordered_json FigureOrNull(const std::optional<double>& figure) {
  return figure ? nlohmann::ordered_json(*figure) : nlohmann::ordered_json();
}

// Keys are the columns of ComparisonCsv(); what a report does not have is null.
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

// Keys are the columns of StrategyCsv(); a refused strategy has only strategy and refused.
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

bool IsSameFile(const std::string& a, const std::string& b) {
  std::error_code ignored;  // A file that does not exist cannot be lost.
  return std::filesystem::equivalent(a, b, ignored);
}

Status CheckOutput(const std::string& flag, const std::string& path,
                   const std::vector<std::string>& reports) {
  for (const std::string& report : reports) {
    if (IsSameFile(path, report)) {
      return UsageError("--{}={} would replace the report {}; name another file", flag, path,
                        report);
    }
  }
  return OkStatus();
}

Status Publish(const std::string& text, const std::string& page, const std::string& csv,
               const nlohmann::ordered_json& figures, const std::string& html_path,
               const std::string& csv_path, const std::string& json) {
  RETURN_IF_ERROR(DeliverFigures(json, DumpJson(figures, 2) + "\n", text));
  if (!html_path.empty()) {
    RETURN_IF_ERROR(WriteOutput(html_path, page).Annotate("--out"));
  }
  if (csv_path.empty()) return OkStatus();
  return WriteOutput(csv_path, csv).Annotate("--csv");
}

}  // namespace

Status RunCompare(const std::vector<std::string>& reports, const std::string& html_path,
                  const std::string& csv_path, bool of_strategies, const std::string& json) {
  if (reports.empty()) {
    return UsageError(
        "no report named; say rowhouse compare REPORT.json [REPORT.json ...] --out=FILE.html");
  }
  if (html_path.empty() && json.empty()) {
    return UsageError("--out is missing; say --out=FILE.html");
  }
  if (!html_path.empty() && html_path == csv_path) {
    return UsageError("--out and --csv both name {}; name two files", html_path);
  }
  RETURN_IF_ERROR(CheckOutput("out", html_path, reports));
  RETURN_IF_ERROR(CheckOutput("csv", csv_path, reports));
  RETURN_IF_ERROR(CheckOutput("json", json, reports));
  if (of_strategies) {
    ASSIGN_OR_RETURN(const std::vector<StrategyCost> costs, ReadStrategyCosts(reports));
    RETURN_IF_ERROR(Publish(TableAsText(StrategyTable(costs)), StrategyPage(costs),
                            StrategyCsv(costs), StrategyJson(costs), html_path, csv_path, json));
    return CheckSameRows(costs);
  }
  ASSIGN_OR_RETURN(const std::vector<ComparedRun> runs, ReadComparedRuns(reports));
  return Publish(ComparisonText(runs), ComparisonPage(runs), ComparisonCsv(runs),
                 ComparisonJson(runs), html_path, csv_path, json);
}

}  // namespace rowhouse
