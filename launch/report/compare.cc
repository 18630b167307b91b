#include "launch/report/compare.h"

#include <cstdio>
#include <filesystem>

#include "common/json_text.h"
#include "common/output_path.h"
#include "launch/report/comparison.h"
#include "launch/report/comparison_json.h"
#include "launch/report/json_output.h"
#include "launch/report/report_file.h"
#include "launch/report/strategy_comparison.h"

namespace rowhouse {
namespace {

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
