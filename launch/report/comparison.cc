#include "launch/report/comparison.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <vector>

#include "common/clean_text.h"
#include "common/json_text.h"
#include "common/output_path.h"
#include "launch/figures/figure_text.h"
#include "launch/figures/json_members.h"
#include "launch/figures/json_output.h"
#include "launch/figures/page.h"
#include "launch/report/report.h"
#include "launch/report/strategy_comparison.h"

namespace rowhouse {

JSON_HAS_MEMBERS(SettingDifference, name, values);

namespace {

using Json = nlohmann::json;
using OrderedJson = nlohmann::ordered_json;

// ---- Reading ------------------------------------------------------------------------------------

// Lists as in flags: 13,512,256.
std::string ValueText(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (!value.is_array()) return DumpJson(value);
  std::string text;
  for (const Json& item : value) text += (text.empty() ? "" : ",") + ValueText(item);
  return text;
}

// {a: 1, b: x}: "a 1, b x".
std::string MembersText(const Json& object) {
  std::string text;
  for (const auto& [name, value] : object.items()) {
    if (name == "name") continue;
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name, ValueText(value));
  }
  return text;
}

RunSettings SettingsOfReport(const Json& report) {
  RunSettings settings;
  const Json sections = report.value("settings", Json::object());
  for (const auto& [section, members] : sections.items()) {
    if (section == "output" || !members.is_object()) continue;
    for (const auto& [name, value] : members.items()) {
      if (name == "row_dir") continue;
      settings.emplace_back(fmt::format("{}.{}", section, name), ValueText(value));
    }
  }
  for (const Json& table : report.value("tables", Json::array())) {
    if (!table.is_object() || !table.contains("name")) continue;
    settings.emplace_back("table " + ValueText(table["name"]), MembersText(table));
  }
  const Json environment = report.value("environment", Json::object());
  for (const char* name : {"hosts", "cores", "workers", "ps_nodes", "shards"}) {
    if (!environment.is_object() || !environment.contains(name)) continue;
    settings.emplace_back(fmt::format("environment.{}", name), ValueText(environment[name]));
  }
  const Json versions = report.value("versions", Json::object());
  for (const auto& [name, version] : versions.items()) {
    settings.emplace_back("version of " + name, ValueText(version));
  }
  return settings;
}

// An optional member of an optional object.
Status ReadFigure(const Json& object, const std::string& section, const std::string& name,
                  std::optional<double>* figure) {
  const auto member = object.find(name);
  if (member == object.end() || member->is_null()) return OkStatus();
  if (!member->is_number()) {
    return UsageError("{}.{}: expected a number or null, got {}", section, name,
                      ShownJson(*member));
  }
  *figure = member->get<double>();
  return OkStatus();
}

// A list of objects, each with a step; null where there is no such list.
Status CheckPoints(const Json& report, const std::string& name) {
  if (!report.contains(name) || report[name].is_null()) return OkStatus();
  const Json& points = report[name];
  if (!points.is_array())
    return UsageError("{}: expected a list, got {}", name, points.type_name());
  for (const Json& point : points) {
    if (!point.is_object()) {
      return UsageError("{}: expected objects, got {}", name, ShownJson(point));
    }
    if (!point.contains("step") || !point["step"].is_number()) {
      return UsageError("{}: a point has no step that is a number", name);
    }
  }
  return OkStatus();
}

Status ReadCurves(const Json& report, ComparedRun* run) {
  RETURN_IF_ERROR(CheckPoints(report, "curve"));
  RETURN_IF_ERROR(CheckPoints(report, "evaluations"));
  for (const Json& json : report.value("curve", Json::array())) {
    ComparedRun::CurvePoint point{.step = json["step"].get<double>()};
    RETURN_IF_ERROR(ReadFigure(json, "curve", "loss", &point.loss));
    RETURN_IF_ERROR(ReadFigure(json, "curve", "samples_per_second", &point.samples_per_second));
    run->curve.push_back(point);
  }
  for (const Json& json : report["evaluations"]) {
    ComparedRun::Evaluation evaluation{.step = json["step"].get<double>()};
    RETURN_IF_ERROR(ReadFigure(json, "evaluations", "auc", &evaluation.auc));
    RETURN_IF_ERROR(ReadFigure(json, "evaluations", "logloss", &evaluation.logloss));
    run->evaluations.push_back(evaluation);
  }
  // A run that went on from a model may have tested nothing itself: the tests are then of others.
  std::optional<double> first_step;
  RETURN_IF_ERROR(ReadFigure(report["totals"], "totals", "first_step", &first_step));
  const auto& tests = run->evaluations;
  if (tests.empty() || tests.back().step <= first_step.value_or(0.0)) return OkStatus();
  run->test_auc = run->evaluations.back().auc;
  run->test_logloss = run->evaluations.back().logloss;
  const Json& last = report["evaluations"].back();
  if (last.contains("data_digest") && last["data_digest"].is_string()) {
    run->test_digest = last["data_digest"].get<std::string>();
  }
  return ReadFigure(last, "evaluations", "samples", &run->test_samples);
}

Status ReadReport(const Json& json, ComparedRun* run) {
  const auto has = [&](const char* name, Json::value_t type) {
    return json.contains(name) && json[name].type() == type;
  };
  if (!json.is_object() || !has("totals", Json::value_t::object) ||
      !has("evaluations", Json::value_t::array) || !json.contains("format")) {
    return UsageError(
        "JSON, but no report of a training run (which has format, totals and evaluations)");
  }
  if (json["format"] != kReportFormat) {
    return UsageError("a report of format {}; this build reads format {}",
                      ShownJson(json["format"]), kReportFormat);
  }
  if (has("label", Json::value_t::string)) run->name = json["label"].get<std::string>();

  const Json& totals = json["totals"];
  RETURN_IF_ERROR(ReadFigure(totals, "totals", "samples_per_second", &run->samples_per_second));
  RETURN_IF_ERROR(ReadFigure(totals, "totals", "test_auc_ceiling", &run->test_auc_ceiling));
  run->was_stopped = totals.contains("was_stopped") && totals["was_stopped"] == Json(true);
  RETURN_IF_ERROR(ReadCurves(json, run));
  run->settings = SettingsOfReport(json);
  if (!json.contains("model_bytes") || json["model_bytes"].is_null()) return OkStatus();
  const Json& bytes = json["model_bytes"];
  if (!bytes.is_object()) {
    return UsageError("model_bytes: expected an object, got {}", ShownJson(bytes));
  }
  RETURN_IF_ERROR(ReadFigure(bytes, "model_bytes", "rows", &run->rows_bytes));
  return ReadFigure(bytes, "model_bytes", "plain_rows", &run->plain_rows_bytes);
}

std::string NameOfFile(const std::string& path) {
  const std::filesystem::path absolute = std::filesystem::absolute(path).lexically_normal();
  const std::filesystem::path name =
      absolute.filename() == "report.json" ? absolute.parent_path().filename() : absolute.stem();
  return name.empty() ? path : name.string();
}

Result<ComparedRun> ReadComparedRun(const std::string& path) {
  ASSIGN_OR_RETURN(const Json json, ReadReportFile(path));
  ComparedRun run{.path = path};
  RETURN_IF_ERROR(ReadReport(json, &run).Annotate(path));
  if (run.name.empty()) run.name = NameOfFile(path);
  return run;
}

// ---- Text ---------------------------------------------------------------------------------------

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

// The beginning of a long value, as a terminal has no room for all of it.
std::string Shortened(const std::string& value) {
  constexpr size_t kMaxBytes = 80;
  if (value.size() <= kMaxBytes) return value;
  return fmt::format("{}... ({} bytes)", value.substr(0, kMaxBytes), value.size());
}

std::vector<RunSettings> SettingsOf(const std::vector<ComparedRun>& runs) {
  std::vector<RunSettings> settings;
  for (const ComparedRun& run : runs) settings.push_back(run.settings);
  return settings;
}

}  // namespace

std::optional<double> ComparedRun::OfPlain() const {
  if (!rows_bytes || !plain_rows_bytes || *plain_rows_bytes <= 0.0) return std::nullopt;
  return *rows_bytes / *plain_rows_bytes;
}

Result<std::vector<ComparedRun>> ReadComparedRuns(const std::vector<std::string>& paths) {
  std::vector<ComparedRun> runs;
  std::map<std::string, int> runs_of_name;
  for (const std::string& path : paths) {
    ASSIGN_OR_RETURN(ComparedRun run, ReadComparedRun(path));
    ++runs_of_name[run.name];
    runs.push_back(std::move(run));
  }
  for (ComparedRun& run : runs) {
    if (runs_of_name[run.name] > 1) run.name += " (" + run.path + ")";
  }
  return runs;
}

FigureTable ComparisonTable(const std::vector<ComparedRun>& runs) {
  FigureTable table{.columns = {{"run", "run"},
                                {"samples_per_second", "samples/s", CountText},
                                {"test_auc", "test AUC", FixedText<4>},
                                {"test_logloss", "logloss", FixedText<4>},
                                {"rows_bytes", "rows", BytesText},
                                {"of_plain", "of plain", FixedText<4>},
                                {"test_auc_ceiling", "ceiling", FixedText<4>},
                                {"report"}}};
  for (const ComparedRun& run : runs) {
    table.rows.push_back({run.name, FigureOrNull(run.samples_per_second),
                          FigureOrNull(run.test_auc), FigureOrNull(run.test_logloss),
                          FigureOrNull(run.rows_bytes), FigureOrNull(run.OfPlain()),
                          FigureOrNull(run.test_auc_ceiling), run.path});
  }
  return table;
}

std::string TestSetsText(const std::vector<ComparedRun>& runs) {
  // The runs of each test set, by what distinguishes test sets.
  std::vector<std::pair<std::string, std::vector<std::string>>> sets;
  for (const ComparedRun& run : runs) {
    if (run.evaluations.empty()) continue;
    const std::string set =
        fmt::format("{} samples{}", CountText(run.test_samples.value_or(kUnknown)),
                    run.test_digest.empty() ? "" : " of digest " + run.test_digest);
    const auto found = std::ranges::find(sets, set, &decltype(sets)::value_type::first);
    if (found != sets.end()) {
      found->second.push_back(run.name);
    } else {
      sets.push_back({set, {run.name}});
    }
  }
  if (sets.size() < 2) return "";
  std::string text = "test sets differ, so AUC and logloss are not comparable: ";
  for (size_t i = 0; i < sets.size(); ++i) {
    text += fmt::format("{}{} on {}", i == 0 ? "" : "; ", fmt::join(sets[i].second, ", "),
                        sets[i].first);
  }
  return text;
}

std::string ComparisonText(const std::vector<ComparedRun>& runs) {
  std::string text = TableAsText(ComparisonTable(runs));
  const std::string test_sets = TestSetsText(runs);
  if (!test_sets.empty()) text += "\n" + CleanText(test_sets) + "\n";
  if (runs.size() < 2) return text;
  FigureTable table{.columns = {{.title = "setting"}},
                    .max_text_rows = 50,
                    .others_are = ", which the page lists"};
  for (const ComparedRun& run : runs) table.columns.push_back({.title = run.name});
  for (const SettingDifference& difference : DifferencesOf(SettingsOf(runs))) {
    FigureTable::Row& row = table.rows.emplace_back(1, difference.name);
    for (const std::string& value : difference.values) {
      row.push_back(value.empty() ? "\"\"" : Shortened(value));
    }
  }
  return text + (table.rows.empty() ? "\nall settings are the same\n" : "\n" + TableAsText(table));
}

std::string ComparisonPage(const std::vector<ComparedRun>& runs) {
  OrderedJson list = TableAsJson(ComparisonTable(runs));
  for (size_t r = 0; r < runs.size(); ++r) {
    list[r]["was_stopped"] = runs[r].was_stopped;
    list[r]["curve"] = ListAsJson(runs[r].curve, [](const ComparedRun::CurvePoint& point) {
      return OrderedJson::array(
          {point.step, FigureOrNull(point.loss), FigureOrNull(point.samples_per_second)});
    });
    list[r]["evaluations"] =
        ListAsJson(runs[r].evaluations, [](const ComparedRun::Evaluation& one) {
          return OrderedJson::array({one.step, FigureOrNull(one.auc), FigureOrNull(one.logloss)});
        });
  }
  return PageText("comparison", {{"runs", list},
                                 {"test_sets", TestSetsText(runs)},
                                 {"differences", DifferencesOf(SettingsOf(runs))}});
}

std::vector<SettingDifference> DifferencesOf(const std::vector<RunSettings>& runs) {
  std::vector<std::string> names;
  std::set<std::string> known;
  std::vector<std::map<std::string, std::string>> values;
  for (const RunSettings& run : runs) {
    values.emplace_back(run.begin(), run.end());
    for (const auto& [name, value] : run) {
      if (known.insert(name).second) names.push_back(name);
    }
  }
  std::vector<SettingDifference> differences;
  for (const std::string& name : names) {
    SettingDifference difference{.name = name, .values = {}};
    for (const auto& of_run : values) {
      const auto found = of_run.find(name);
      difference.values.push_back(found == of_run.end() ? "-" : found->second);
    }
    const bool is_same = std::ranges::all_of(
        difference.values, [&](const std::string& value) { return value == difference.values[0]; });
    if (!is_same) differences.push_back(std::move(difference));
  }
  return differences;
}

// ---- The verb -----------------------------------------------------------------------------------

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

Status Publish(const FigureTable& table, const std::string& text, const std::string& page,
               const std::string& html_path, const std::string& csv_path, const std::string& json) {
  RETURN_IF_ERROR(DeliverFigures(json, DumpJson(TableAsJson(table), 2) + "\n", text));
  if (!html_path.empty()) {
    RETURN_IF_ERROR(WriteOutput(html_path, page).Annotate("--out"));
  }
  if (csv_path.empty()) return OkStatus();
  return WriteOutput(csv_path, TableAsCsv(table)).Annotate("--csv");
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
    const FigureTable table = StrategyTable(costs);
    RETURN_IF_ERROR(
        Publish(table, TableAsText(table), StrategyPage(costs), html_path, csv_path, json));
    return CheckSameRows(costs);
  }
  ASSIGN_OR_RETURN(const std::vector<ComparedRun> runs, ReadComparedRuns(reports));
  return Publish(ComparisonTable(runs), ComparisonText(runs), ComparisonPage(runs), html_path,
                 csv_path, json);
}

}  // namespace rowhouse
