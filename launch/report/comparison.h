// Comparison: several runs side by side, from the report.json of each: what they reached, how fast,
// and how many bytes their rows take. For `rowhouse compare`.
//
// Of a report this reads label, evaluations (the last), totals, and model_bytes {rows, plain_rows}.
// What a report does not hold, or holds as null, is unknown: "-" in tables, empty in CSV, left out
// of the plot. Threads: any.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "common/status.h"
#include "launch/report/html_page.h"

namespace rowhouse {

struct ComparedRun {
  std::string path;  // of the report, as given
  // The report's label; or else the directory of a report.json, the name of another file. "PATH" is
  // added in brackets where two runs would have one name.
  std::string name;
  std::optional<double> samples_per_second = {};
  std::optional<double> test_auc = {};
  std::optional<double> test_logloss = {};
  std::optional<double> rows_bytes = {};        // of all rows as they are kept
  std::optional<double> plain_rows_bytes = {};  // of the same tables if no table were compressed
  std::optional<double> test_auc_ceiling = {};

  // rows_bytes / plain_rows_bytes.
  std::optional<double> OfPlain() const;
};

// In the order given. kUsage, with the path, for what is no file, no JSON or no report, and for a
// report of another format.
Result<std::vector<ComparedRun>> ReadComparedRuns(const std::vector<std::string>& paths);

// The first column is the name.
HtmlTable ComparisonTable(const std::vector<ComparedRun>& runs);

// Bytes of rows against test AUC; a line for each ceiling.
Plot ComparisonPlot(const std::vector<ComparedRun>& runs);

HtmlPage ComparisonPage(const std::vector<ComparedRun>& runs);

// Columns aligned by blanks, for a terminal; a line for each row, and one above.
std::string TableAsText(const HtmlTable& table);

// RFC 4180 with \n: run, samples_per_second, test_auc, test_logloss, rows_bytes, of_plain,
// test_auc_ceiling, report. Every bit of a figure.
std::string ComparisonCsv(const std::vector<ComparedRun>& runs);

}  // namespace rowhouse
