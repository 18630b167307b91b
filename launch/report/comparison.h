// Comparison: several runs side by side, from the report.json of each: what they reached and on the
// way there, how fast, how many bytes their rows take, and in what settings they differ. For
// `rowhouse compare`.
//
// Of a report this reads label, curve, evaluations, totals, model_bytes {rows, plain_rows} and what
// was decided for the run (launch/report/setting_differences.h). What a report does not hold, or
// holds as null, is unknown: "-" in tables, empty in CSV, left out of plots. Threads: any.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "common/status.h"
#include "launch/report/setting_differences.h"
#include "launch/report/text_table.h"

namespace rowhouse {

struct ComparedRun {
  struct CurvePoint {
    double step = 0;
    std::optional<double> loss = {};  // mean since the point before
    std::optional<double> samples_per_second = {};
  };
  struct Evaluation {
    double step = 0;
    std::optional<double> auc = {};
    std::optional<double> logloss = {};
  };
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
  std::optional<double> test_samples = {};
  std::string test_digest;  // of the test samples; "": older reports have none
  bool was_stopped = false;
  std::vector<CurvePoint> curve = {};
  std::vector<Evaluation> evaluations = {};
  RunSettings settings = {};

  // rows_bytes / plain_rows_bytes.
  std::optional<double> OfPlain() const;
};

// In the order given. kUsage, with the path, for what is no file, no JSON or no report, and for a
// report of another format.
Result<std::vector<ComparedRun>> ReadComparedRuns(const std::vector<std::string>& paths);

// The first column is the name.
TextTable ComparisonTable(const std::vector<ComparedRun>& runs);

// A sentence, where runs were tested on different samples, that says which; "": they were not.
std::string TestSetsText(const std::vector<ComparedRun>& runs);

// For a terminal: the table, test sets that differ, and settings that do.
std::string ComparisonText(const std::vector<ComparedRun>& runs);

// The whole file of a page (launch/report/page.h).
std::string ComparisonPage(const std::vector<ComparedRun>& runs);

// RFC 4180 with \n: run, samples_per_second, test_auc, test_logloss, rows_bytes, of_plain,
// test_auc_ceiling, report. Every bit of a figure.
std::string ComparisonCsv(const std::vector<ComparedRun>& runs);

}  // namespace rowhouse
