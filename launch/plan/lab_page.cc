#include "launch/plan/lab_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "common/output_path.h"
#include "launch/command_line/verb_flags.h"
#include "launch/figures/json_output.h"
#include "launch/figures/page.h"
#include "launch/figures/report_file.h"
#include "launch/plan/plan_pictures.h"

namespace rowhouse {
namespace {

constexpr std::string_view kHtmlFlag = "html";
constexpr std::string_view kReportsFlag = "reports";

REGISTER_MEMBER(
    AddVerbFlag({.name = kHtmlFlag,
                 .verbs = kPlan,
                 .help = "Writes a page of what is printed, with curves, for a browser",
                 .section = kLabSection}) &&
    AddVerbFlag({.name = kReportsFlag,
                 .verbs = kPlan,
                 .help = "With html: draws predictions against measurements of these files, "
                         "joined by commas: report.json of runs, and what --accountability "
                         "--json wrote",
                 .section = kLabSection}));

using Json = nlohmann::json;
using OrderedJson = nlohmann::ordered_json;

// A number that is above 0, which a logarithmic axis needs.
bool IsTime(const Json& json, const Json::json_pointer& place) {
  return json.contains(place) && json[place].is_number() && json[place].get<double>() > 0;
}

bool AddRun(const std::string& path, const Json& json, OrderedJson* list) {
  const Json::json_pointer predicted("/prediction/step_ms/predicted");
  const Json::json_pointer measured("/prediction/step_ms/actual");
  if (!IsTime(json, predicted) || !IsTime(json, measured)) return false;
  const std::string label =
      json.contains("label") && json["label"].is_string() ? json["label"].get<std::string>() : path;
  list->push_back({{"name", label},
                   {"family", "runs"},
                   {"predicted_ms", json[predicted].get<double>()},
                   {"measured_ms", json[measured].get<double>()}});
  return true;
}

bool AddAccountability(const Json& json, OrderedJson* list) {
  if (!json.contains("rows") || !json["rows"].is_array() || !json.contains("gmae")) return false;
  for (const Json& row : json["rows"]) {
    const Json::json_pointer predicted("/step_ms/predicted"), measured("/step_ms/measured");
    if (!row.is_object() || !IsTime(row, predicted) || !IsTime(row, measured)) continue;
    list->push_back({{"name", row.value("name", "")},
                     {"family", "accountability"},
                     {"predicted_ms", row[predicted].get<double>()},
                     {"measured_ms", row[measured].get<double>()}});
  }
  return true;
}

// Predictions beside measurements, [{name, family, predicted_ms, measured_ms}], of the files that
// `paths` names, joined by commas: the report.json of runs, and the JSON of rowhouse plan
// --accountability. kUsage, with the path, for others, and for reports without a prediction.
Result<OrderedJson> MeasuredRuns(const std::string& paths) {
  OrderedJson list = OrderedJson::array();
  for (size_t begin = 0; begin <= paths.size();) {
    const size_t end = std::min(paths.find(',', begin), paths.size());
    const std::string path = paths.substr(begin, end - begin);
    ASSIGN_OR_RETURN(const Json json, ReadReportFile(path));
    if (!json.is_object() || (!AddRun(path, json, &list) && !AddAccountability(json, &list))) {
      return UsageError(
          "--reports: {}: neither report.json of a run with a prediction nor the JSON of rowhouse "
          "plan --accountability",
          path);
    }
    begin = end + 1;
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

nlohmann::ordered_json PageGrid(const std::string& title, const std::string& note,
                                const TextTable& table) {
  nlohmann::ordered_json columns = nlohmann::ordered_json::array();
  for (const TextTable::Column& column : table.columns) {
    columns.push_back({{"name", column.name}, {"number", column.is_number}});
  }
  return {{"title", title}, {"note", note}, {"columns", std::move(columns)}, {"rows", table.rows}};
}

Status WriteLabPage(const CommandLine& command_line, nlohmann::ordered_json data) {
  const std::string path = command_line.Value(kHtmlFlag);
  const std::string reports = command_line.Value(kReportsFlag);
  if (path.empty()) return OkStatus();
  if (!reports.empty()) {
    ASSIGN_OR_RETURN(data["measured"], MeasuredRuns(reports));
  }
  RETURN_IF_ERROR(WriteOutput(path, PageText("lab", std::move(data))).Annotate("--html"));
  if (command_line.Value(kJsonFlag) != kJsonToStdout) std::printf("\npage: %s\n", path.c_str());
  return OkStatus();
}

Status WriteCandidatesPage(const CommandLine& command_line, const LabRun& run,
                           std::span<const CandidatePlan> candidates, nlohmann::ordered_json data) {
  const CandidatePlan* const best = BestOf(candidates);
  if (command_line.Value(kHtmlFlag).empty() || best == nullptr) {
    return WriteLabPage(command_line, std::move(data));
  }
  data["title"] = "Plans compared";
  data["subtitle"] =
      fmt::format("Fastest by prediction: {}, {:.3g} ms a step", best->title, best->cost.ms);
  // A plan with all rows on the workers leaves PS nodes nothing to do.
  const CandidatePlan* const loaded = best->load.max > 0 ? best : ConfiguredOf(candidates);
  if (loaded->load.max > 0) {
    ASSIGN_OR_RETURN(data["loads"], LoadsByTable(run, *loaded));
  }
  data["curves"] = {MissRatioCurves(run, *best)};
  return WriteLabPage(command_line, std::move(data));
}

}  // namespace rowhouse
