// rowhouse plan --trace=FILE: what a trace says of each table; with --config of the model's tables,
// else of the trace's own. --out writes access counts, for --access_counts.
#include <nlohmann/json.hpp>

#include "common/durable_file.h"
#include "common/json_text.h"
#include "common/read_value.h"
#include "launch/lab/lab_page.h"
#include "launch/lab/trace_summary.h"
#include "launch/plan/plan_mode.h"
#include "launch/report/json_output.h"
#include "launch/settings/verb_flags.h"

namespace rowhouse {
namespace {

Result<uint64_t> MaxSamplesOf(const CommandLine& command_line) {
  const std::string text = command_line.Value(kMaxSamplesFlag);
  if (text.empty()) return uint64_t{0};
  const auto value = ReadWhole(text);
  if (!value || *value < 1) {
    return UsageError("--max_samples={}: expected a whole number of 1 or more", text);
  }
  return *value;
}

// Whether the command line says what the model's tables are.
bool IsModelGiven(const CommandLine& command_line, const Settings& settings) {
  return !command_line.Value(kConfigFlag).empty() || settings.are_tables_given;
}

Status RunTraceMode(const CommandLine& command_line, const Settings& settings) {
  const std::string path = command_line.Value(kTraceFlag);
  TraceOptions options;
  ASSIGN_OR_RETURN(options.max_samples, MaxSamplesOf(command_line));
  EmbeddingTables tables = settings.embedding;
  if (IsModelGiven(command_line, settings)) {
    options.step_samples = settings.data.mini_batch_size * settings.training.accumulation;
  } else {
    ASSIGN_OR_RETURN(tables, TablesOfTrace(path));
    if (!command_line.Value("mini_batch_size").empty()) {
      options.step_samples = settings.data.mini_batch_size;
    }
  }
  ASSIGN_OR_RETURN(const TraceSummary summary, ReadTraceSummary(path, tables, options));
  std::string text = TraceSummaryText(summary);
  if (const std::string out = command_line.Value(kOutFlag); !out.empty()) {
    const Status written = WriteFileDurably(out, JsonLines(summary.accesses.ToJson()));
    if (written.code() == StatusCode::kNotFound) {
      return UsageError("--out={}: {}", out, written.message());
    }
    if (!written.ok()) return written.Annotate("--out=" + out);
    text += fmt::format("\naccess counts, for --access_counts, written to {}\n", out);
  }
  RETURN_IF_ERROR(DeliverFigures(command_line.Value(kJsonFlag),
                                 TraceSummaryToJson(summary).dump(2) + "\n", text));
  return WriteLabPage(command_line, TraceSummaryPage(summary));
}

const bool kFlagAdded = AddVerbFlag(
    {.name = kTraceFlag,
     .verbs = kPlan,
     .help =
         "A trace of ids: a file of train --record_ids, of Meta's dlrm_datasets (.pt, .pt.gz), "
         "or text, a line \"TABLE ID\" a lookup. Prints lookups, skew, reuse and miss ratios of "
         "each table, and --out writes access counts; with other flags of this list: what "
         "their runs would look up",
     .section = kLabSection});
// A trace is what other modes are asked about.
const bool kModeAdded =
    AddPlanMode({.flag = std::string(kTraceFlag), .run = RunTraceMode, .precedence = -1});

}  // namespace
}  // namespace rowhouse
