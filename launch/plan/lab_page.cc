#include "launch/plan/lab_page.h"

#include <cstdio>
#include <nlohmann/json.hpp>

#include "common/output_path.h"
#include "common/read_value.h"
#include "launch/command_line/verb_flags.h"
#include "launch/figures/json_output.h"
#include "launch/figures/page.h"
#include "launch/prediction/lab_run.h"

namespace rowhouse {
namespace {

constexpr std::string_view kReportsFlag = "reports";

REGISTER_MEMBER(AddLabFlag(kHtmlFlag,
                           "Writes a page of what is printed, with curves, for a browser") &&
                AddLabFlag(kReportsFlag,
                           "With html: draws predictions against measurements of these files, "
                           "joined by commas: report.json of runs, and what --accountability "
                           "--json wrote"));

using Json = nlohmann::json;
using OrderedJson = nlohmann::ordered_json;

// Adds the times at two places of `json`, if both are above 0, which a logarithmic axis needs.
bool AddTimes(const std::string& name, const char* family, const Json& json, const char* predicted,
              const char* measured, OrderedJson* list) {
  const auto time_at = [&](const char* place) {
    const Json::json_pointer pointer(place);
    return json.contains(pointer) && json[pointer].is_number() ? json[pointer].get<double>() : 0.0;
  };
  const double predicted_ms = time_at(predicted), measured_ms = time_at(measured);
  if (!(predicted_ms > 0) || !(measured_ms > 0)) return false;
  list->push_back({{"name", name},
                   {"family", family},
                   {"predicted_ms", predicted_ms},
                   {"measured_ms", measured_ms}});
  return true;
}

bool AddRun(const std::string& path, const Json& json, OrderedJson* list) {
  const bool has_label = json.contains("label") && json["label"].is_string();
  return AddTimes(has_label ? json["label"].get<std::string>() : path, "runs", json,
                  "/prediction/step_ms/predicted", "/prediction/step_ms/actual", list);
}

bool AddAccountability(const Json& json, OrderedJson* list) {
  if (!json.contains("rows") || !json["rows"].is_array() || !json.contains("gmae")) return false;
  for (const Json& row : json["rows"]) {
    if (!row.is_object()) continue;
    AddTimes(row.value("name", ""), "accountability", row, "/step_ms/predicted",
             "/step_ms/measured", list);
  }
  return true;
}

// Predictions beside measurements, [{name, family, predicted_ms, measured_ms}], of the files that
// `paths` names, joined by commas: the report.json of runs, and the JSON of rowhouse plan
// --accountability. kUsage, with the path, for others, and for reports without a prediction.
Result<OrderedJson> MeasuredRuns(const std::string& paths) {
  OrderedJson list = OrderedJson::array();
  for (const std::string& path : SplitAtCommas(paths)) {
    ASSIGN_OR_RETURN(const Json json, ReadReportFile(path));
    if (!json.is_object() || (!AddRun(path, json, &list) && !AddAccountability(json, &list))) {
      return UsageError(
          "--reports: {}: neither report.json of a run with a prediction nor the JSON of rowhouse "
          "plan --accountability",
          path);
    }
  }
  return list;
}

}  // namespace

Status CheckLabPage(const CommandLine& command_line) {
  const std::string reports = command_line.Value(kReportsFlag);
  if (reports.empty()) return OkStatus();
  if (command_line.Value(kHtmlFlag).empty()) {
    return UsageError("--reports={} is for the page; say --html=FILE as well", reports);
  }
  return MeasuredRuns(reports).status();
}

Status CheckNoLabPage(const CommandLine& command_line) {
  for (const std::string_view flag : {kHtmlFlag, kReportsFlag}) {
    const std::string value = command_line.Value(flag);
    if (value.empty()) continue;
    return UsageError("--{}={}: one plan has no page; say --strategies=all, for a page of plans",
                      flag, value);
  }
  return OkStatus();
}

Status DeliverLabFigures(const CommandLine& command_line, const Figures& figures) {
  const std::string json = command_line.Value(kJsonFlag);
  RETURN_IF_ERROR(DeliverFigures(json, figures));
  const std::string path = command_line.Value(kHtmlFlag);
  if (path.empty()) return OkStatus();
  OrderedJson data = FiguresAsPage(figures);
  if (const std::string reports = command_line.Value(kReportsFlag); !reports.empty()) {
    ASSIGN_OR_RETURN(data["measured"], MeasuredRuns(reports));
  }
  RETURN_IF_ERROR(WriteOutput(path, PageText("lab", std::move(data))).Annotate("--html"));
  if (json != kJsonToStdout) std::printf("\npage: %s\n", path.c_str());
  return OkStatus();
}

}  // namespace rowhouse
