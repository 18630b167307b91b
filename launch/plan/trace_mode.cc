// rowhouse plan --trace=FILE: what a trace says of each table; with --config of the model's tables,
// else of the trace's own. --out writes access counts, for --access_counts. With --plan or
// --strategy: that plan of the run, with figures by the trace; --out writes the plan.
#include "common/json_text.h"
#include "launch/command_line/plan_mode.h"
#include "launch/command_line/verb_flags.h"
#include "launch/figures/json_output.h"
#include "launch/plan/candidate_plans.h"
#include "launch/plan/lab_page.h"
#include "launch/plan/plan_report.h"
#include "launch/prediction/lab_run.h"
#include "launch/prediction/plan_of_run.h"
#include "launch/settings/strategy_settings.h"

namespace rowhouse {
namespace {

// Writes the file of --out, if given; *text gets a line that says so.
Status WriteOut(const CommandLine& command_line, const std::string& what,
                const std::string& file_text, std::string* text) {
  const std::string out = command_line.Value(kOutFlag);
  if (out.empty()) return OkStatus();
  RETURN_IF_ERROR(WriteFileOfFlag("out", out, file_text));
  *text += fmt::format("\n{}, written to {}\n", what, out);
  return OkStatus();
}

// --plan or --strategy beside the trace: that plan, for what the trace looks up.
Status PlanByTrace(const CommandLine& command_line, const Settings& settings) {
  RETURN_IF_ERROR(CheckNoLabPage(command_line));
  ASSIGN_OR_RETURN(const LabRun run, LabRunOf(command_line, settings));
  const ShardingSettings& sharding = settings.sharding;
  const bool is_file = !sharding.plan.empty() && !AsksForPlanner(settings.sharding.plan);
  ASSIGN_OR_RETURN(const CandidatePlan made, MakeCandidate(run, ConfiguredName(settings)));
  if (!made.refused.empty()) return UsageError("{}", made.refused);
  PlanFile file{.strategy = sharding.plan.empty() ? sharding.strategy : sharding.plan,
                .ps = run.cluster.ps,
                .shards_per_ps = run.cluster.shards_per_ps,
                .plan = made.plan};
  if (is_file) {
    ASSIGN_OR_RETURN(const PlanFile given, ReadPlanOf(settings));
    file.strategy = given.strategy;
  }
  const std::vector<TableSpec>& tables = settings.embedding.physical;
  std::string text = LabRunText(run) + "\n" + PlanText(file, tables, run.counts());
  text += fmt::format("predicted: {:.3f} ms a step, {:.1f} % of rows from memory, bound by {}\n",
                      made.cost.ms, 100.0 * made.cost.hit_rate, BoundName(made.cost.bound));
  RETURN_IF_ERROR(
      WriteOut(command_line, "the plan, for --plan", PlanFileText(file, tables), &text));
  return DeliverFigures(command_line.Value(kJsonFlag), PlanFileText(file, tables), text);
}

Status DescribeTrace(const CommandLine& command_line, const Settings& settings) {
  const std::string path = command_line.Value(kTraceFlag);
  TraceOptions options;
  ASSIGN_OR_RETURN(options.max_samples, MaxSamplesOf(command_line));
  EmbeddingTables tables = settings.embedding;
  if (AreTablesSaid(command_line, settings)) {
    options.step_samples = settings.data.mini_batch_size * settings.training.accumulation;
  } else {
    ASSIGN_OR_RETURN(tables, TablesOfTrace(path));
    if (!command_line.Value("mini_batch_size").empty()) {
      options.step_samples = settings.data.mini_batch_size;
    }
  }
  ASSIGN_OR_RETURN(const TraceSummary summary, ReadTraceSummary(path, tables, options));
  Figures figures = TraceFigures(summary);
  std::string written;
  RETURN_IF_ERROR(WriteOut(command_line, "access counts, for --access_counts",
                           JsonLines(summary.accesses.ToJson()), &written));
  figures.Append(std::move(written));
  return DeliverLabFigures(command_line, figures);
}

Status RunTraceMode(const CommandLine& command_line, const Settings& settings) {
  const bool asks_for_plan =
      !command_line.Value("plan").empty() || !command_line.Value("strategy").empty();
  return asks_for_plan ? PlanByTrace(command_line, settings)
                       : DescribeTrace(command_line, settings);
}

REGISTER_MEMBER(AddLabFlag(
    kTraceFlag,
    "A trace of ids: a file of train --record_ids, or text, a line \"TABLE ID\" a lookup "
    "(docs/traces.md has a program for files of torch). Prints lookups, skew, reuse and "
    "miss ratios of "
    "each table, and --out writes access counts; with other flags of this list: what "
    "their runs would look up"));
// A trace is what other modes are asked about.
REGISTER_MEMBER(
    AddPlanMode({.flag = std::string(kTraceFlag), .run = RunTraceMode, .precedence = -1}));

}  // namespace
}  // namespace rowhouse
