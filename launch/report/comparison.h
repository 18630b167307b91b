// Comparison: several runs side by side, from the report.json of each: results, curves, speed,
// bytes of rows, and settings that differ. For `rowhouse compare`.
//
// It reads label, curve, evaluations, totals, model_bytes {rows, plain_rows} and the settings of a
// report. A figure that is missing or null is "-" in tables,
// empty in CSV and left out of plots. Threads: pure functions.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/status.h"
#include "launch/figures/figures.h"

namespace rowhouse {

// Names and values, as text: settings ("training.learning_rate"), tables ("table user"),
// environment ("environment.workers") and versions. Paths of files and members of a wrong type are
// left out.
using RunSettings = std::vector<std::pair<std::string, std::string>>;

struct SettingDifference {
  std::string name;
  std::vector<std::string> values;  // of each run; "-" if it has none
};

// The settings that do not have the same value in all runs, in the order of their first appearance.
std::vector<SettingDifference> DifferencesOf(const std::vector<RunSettings>& runs);

struct ComparedRun {
  struct CurvePoint {
    double step = 0;
    std::optional<double> loss = {};  // mean since the previous point
    std::optional<double> samples_per_second = {};
  };
  struct Evaluation {
    double step = 0;
    std::optional<double> auc = {};
    std::optional<double> logloss = {};
  };
  std::string path;  // of the report, as given
  // The report's label; without one, the directory of a report.json, or the name of any other file.
  // Runs of equal names have their path added in brackets.
  std::string name;
  std::optional<double> samples_per_second = {};
  std::optional<double> test_auc = {};
  std::optional<double> test_logloss = {};
  std::optional<double> rows_bytes = {};        // of all rows as stored
  std::optional<double> plain_rows_bytes = {};  // of all rows if every table were plain
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

// The runs in the order given. kUsage, with the path, for a missing file, for anything but a
// report, and for a report of another format.
Result<std::vector<ComparedRun>> ReadComparedRuns(const std::vector<std::string>& paths);

// A row for each run, the name first.
FigureTable ComparisonTable(const std::vector<ComparedRun>& runs);

// A sentence that names the runs that were tested on different samples; "" if there are none.
std::string TestSetsText(const std::vector<ComparedRun>& runs);

// For a terminal: the table, then test samples and settings that differ.
std::string ComparisonText(const std::vector<ComparedRun>& runs);

// An HTML page (launch/figures/page.h).
std::string ComparisonPage(const std::vector<ComparedRun>& runs);

// rowhouse compare. Threads: the main thread. Prints a table of the runs of these report.json
// files, and writes a page to `html_path` and CSV to `csv_path` (none if ""). `of_strategies`:
// compares the costs of sharding strategies instead of what runs learned; kInternal, after
// everything is written, if runs ended with different rows. `json`: the value of --json
// (launch/figures/json_output.h); with it html_path may be "". kUsage, and nothing is printed or
// written, for a report that cannot be read.
Status RunCompare(const std::vector<std::string>& reports, const std::string& html_path,
                  const std::string& csv_path, bool of_strategies = false,
                  const std::string& json = "");

}  // namespace rowhouse
