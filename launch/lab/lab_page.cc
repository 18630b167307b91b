#include "launch/lab/lab_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "common/output_path.h"
#include "launch/lab/measured_runs.h"
#include "launch/lab/plan_pictures.h"
#include "launch/report/json_output.h"
#include "launch/report/page.h"
#include "launch/report/report_file.h"
#include "launch/settings/verb_flags.h"

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
