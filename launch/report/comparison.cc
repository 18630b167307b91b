#include "launch/report/comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>

#include "launch/report/figure_text.h"
#include "launch/report/markup_text.h"
#include "launch/report/report.h"
#include "launch/report/report_file.h"
#include "sharding/json_text.h"

namespace rowhouse {
namespace {

using Json = nlohmann::json;

// ---- Reading ------------------------------------------------------------------------------------

// An optional member of an optional object.
Status ReadFigure(const Json& object, const std::string& section, const std::string& name,
                  std::optional<double>* figure) {
  const auto member = object.find(name);
  if (member == object.end() || member->is_null()) return OkStatus();
  if (!member->is_number()) {
    return UsageError("{}.{}: expected a number or null, got {}", section, name, member->dump());
  }
  *figure = member->get<double>();
  return OkStatus();
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
    return UsageError("a report of format {}; this build reads format {}", ShownJson(json["format"]),
                      kReportFormat);
  }
  if (has("label", Json::value_t::string)) run->name = json["label"].get<std::string>();

  const Json& totals = json["totals"];
  RETURN_IF_ERROR(ReadFigure(totals, "totals", "samples_per_second", &run->samples_per_second));
  RETURN_IF_ERROR(ReadFigure(totals, "totals", "test_auc_ceiling", &run->test_auc_ceiling));
  if (!json["evaluations"].empty()) {
    const Json& last = json["evaluations"].back();
    if (!last.is_object()) {
      return UsageError("evaluations: expected objects, got {}", ShownJson(last));
    }
    RETURN_IF_ERROR(ReadFigure(last, "evaluations", "auc", &run->test_auc));
    RETURN_IF_ERROR(ReadFigure(last, "evaluations", "logloss", &run->test_logloss));
  }
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

// Unknown figures and those that are not finite are "-".
std::string FixedText(const std::optional<double>& figure, int decimals) {
  return figure ? fmt::format("{:.{}f}", *figure, decimals) : "-";
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

HtmlTable ComparisonTable(const std::vector<ComparedRun>& runs) {
  HtmlTable table = {.columns = {{.name = "run"},
                                 {.name = "samples/s", .is_number = true},
                                 {.name = "test AUC", .is_number = true},
                                 {.name = "logloss", .is_number = true},
                                 {.name = "rows", .is_number = true},
                                 {.name = "of plain", .is_number = true},
                                 {.name = "ceiling", .is_number = true}},
                     .rows = {}};
  for (const ComparedRun& run : runs) {
    table.rows.push_back({run.name, CountText(run.samples_per_second.value_or(kUnknown)),
                          FixedText(run.test_auc, 4), FixedText(run.test_logloss, 4),
                          BytesText(run.rows_bytes.value_or(kUnknown)), FixedText(run.OfPlain(), 4),
                          FixedText(run.test_auc_ceiling, 4)});
  }
  return table;
}

Plot ComparisonPlot(const std::vector<ComparedRun>& runs) {
  Plot plot = {.title = "Bytes of rows and test AUC",
               .description = fmt::format(
                   "A mark for each of {} runs: right is larger, up is better.", runs.size()),
               .x_name = "bytes of rows",
               .y_name = "test AUC",
               .x_scale = PlotScale::kLog2,
               .x_unit = PlotUnit::kBytes,
               .series = {{.name = "", .points = {}}}};
  std::map<double, std::vector<std::string>> runs_of_ceiling;
  for (const ComparedRun& run : runs) {
    plot.series[0].points.push_back(
        {run.rows_bytes.value_or(kUnknown), run.test_auc.value_or(kUnknown), run.name});
    if (run.test_auc_ceiling) runs_of_ceiling[*run.test_auc_ceiling].push_back(run.name);
  }
  for (const auto& [ceiling, names] : runs_of_ceiling) {
    // One ceiling needs no names: all runs had the same data.
    std::string name = "ceiling";
    if (runs_of_ceiling.size() > 1) name += fmt::format(" of {}", fmt::join(names, ", "));
    plot.references.push_back({name, ceiling});
  }
  return plot;
}

HtmlPage ComparisonPage(const std::vector<ComparedRun>& runs) {
  HtmlPage page("Training runs compared");
  HtmlTable table = ComparisonTable(runs);
  table.caption = "Test figures are those of the last evaluation.";
  page.AddTable(table);
  page.AddParagraph(
      "rows: bytes of all embedding rows. of plain: the same, by the bytes the tables would take "
      "without compression. ceiling: the test AUC of the model that planted the data. -: the "
      "report does not say.");
  page.AddPlot(ComparisonPlot(runs));
  return page;
}

std::string TableAsText(const HtmlTable& table) {
  std::vector<std::string> names;
  for (const HtmlTable::Column& column : table.columns) names.push_back(column.name);
  std::vector<std::vector<std::string>> lines = {names};
  lines.insert(lines.end(), table.rows.begin(), table.rows.end());
  std::vector<size_t> widths(table.columns.size(), 0);
  for (std::vector<std::string>& line : lines) {
    for (size_t i = 0; i < widths.size(); ++i) {
      line[i] = CleanText(line[i]);
      widths[i] = std::max(widths[i], CountCharacters(line[i]));
    }
  }
  std::string text;
  for (const std::vector<std::string>& line : lines) {
    for (size_t i = 0; i < widths.size(); ++i) {
      const bool is_last = i + 1 == widths.size();
      const std::string blanks(widths[i] - CountCharacters(line[i]), ' ');
      const bool is_number = table.columns[i].is_number;
      text += is_number ? blanks + line[i] : line[i] + (is_last ? "" : blanks);
      text += is_last ? "\n" : "  ";
    }
  }
  return text;
}

std::string ComparisonCsv(const std::vector<ComparedRun>& runs) {
  std::string text =
      "run,samples_per_second,test_auc,test_logloss,rows_bytes,of_plain,test_auc_ceiling,report\n";
  for (const ComparedRun& run : runs) {
    text += fmt::format(
        "{},{},{},{},{},{},{},{}\n", CsvText(run.name), CsvFigure(run.samples_per_second),
        CsvFigure(run.test_auc), CsvFigure(run.test_logloss), CsvFigure(run.rows_bytes),
        CsvFigure(run.OfPlain()), CsvFigure(run.test_auc_ceiling), CsvText(run.path));
  }
  return text;
}

}  // namespace rowhouse
