// plan --op_trace: what an iteration of a profile would take on a graphics processor.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "common/durable_file.h"
#include "launch/command_line/plan_mode.h"
#include "launch/command_line/verb_flags.h"
#include "launch/figures/figure_text.h"
#include "launch/plan/lab_page.h"
#include "launch/prediction/lab_run.h"
#include "sharding/lab/gpu/op_trace.h"

namespace rowhouse {
namespace {

constexpr std::string_view kOpTraceFlag = "op_trace";
constexpr std::string_view kFcTableFlag = "fc_table";
constexpr std::string_view kKernelPrefixFlag = "kernel_prefix";
constexpr std::string_view kBagLengthFlag = "bag_length";
constexpr std::string_view kGpuFlag = "gpu";
constexpr std::string_view kOriginalFormFlag = "original_form";
constexpr std::string_view kLinkFlag = "link_gbs";
constexpr std::string_view kGpusFlag = "gpus";

// Those that only --op_trace takes.
constexpr std::string_view kOptionFlags[] = {kFcTableFlag, kKernelPrefixFlag, kBagLengthFlag,
                                             kGpuFlag,     kOriginalFormFlag, kLinkFlag,
                                             kGpusFlag};

constexpr size_t kShownOps = 30;
constexpr size_t kNamedWithoutRule = 12;
constexpr int kFormat = 1;

Result<std::string> ReadNamed(std::string_view flag, const std::string& path) {
  Result<std::string> text = ReadFile(path);
  if (text.ok()) return text;
  return UsageError("--{}={}: {}", flag, path, text.status().message());
}

// The message of an error begins with the file that the flag names.
Status NamedBy(std::string_view flag, const Status& status) {
  return status.ok() ? status : UsageError("--{}={}", flag, status.message());
}

struct OpTraceRun {
  std::string trace_path;
  std::string table_path;  // "": none
  std::string prefix;
  const GpuModel* gpu = nullptr;
  GpuForm form = GpuForm::kCorrected;
  uint64_t bag_length = 0;  // 0: not given
  double link_gbs = 0;
  uint32_t gpus = 0;
};

// Of collectives.
Status ReadLinks(const CommandLine& command_line, OpTraceRun* run) {
  RETURN_IF_ERROR(ReadFlag(command_line, kLinkFlag,
                           RealValue<double>("GB/s from 0.001 to 1e6",
                                             [](double gbs) { return gbs >= 1e-3 && gbs <= 1e6; }),
                           &run->link_gbs));
  RETURN_IF_ERROR(ReadFlag(command_line, kGpusFlag, WholeValue<uint32_t>(1, 1u << 16), &run->gpus));
  if (run->gpus == 0 || run->link_gbs > 0) return OkStatus();
  return UsageError("--gpus={} is for collectives; say --link_gbs=G as well", run->gpus);
}

Result<OpTraceRun> ReadFlags(const CommandLine& command_line) {
  OpTraceRun run = {.trace_path = command_line.Value(kOpTraceFlag),
                    .table_path = command_line.Value(kFcTableFlag),
                    .prefix = command_line.Value(kKernelPrefixFlag)};
  const std::string gpu = command_line.Value(kGpuFlag, "V100");
  run.gpu = FindGpuModel(gpu);
  if (run.gpu == nullptr) {
    std::string known;
    for (const GpuModel& model : GpuModels()) known += (known.empty() ? "" : ", ") + model.name;
    return UsageError("--gpu={}: its constants are not known; known: {}", gpu, known);
  }
  if (command_line.Value(kOriginalFormFlag) == "true") run.form = GpuForm::kOriginal;
  if (!run.prefix.empty() && run.table_path.empty()) {
    return UsageError("--kernel_prefix={} chooses lines of a table; say --fc_table=CSV as well",
                      run.prefix);
  }
  RETURN_IF_ERROR(
      ReadFlag(command_line, kBagLengthFlag, WholeValue<uint64_t>(1, 1u << 20), &run.bag_length));
  RETURN_IF_ERROR(ReadLinks(command_line, &run));
  return run;
}

// The operators that take longest, the others, and the sum.
FigureTable TableOf(const OpTracePrediction& prediction) {
  FigureTable table{.title = "Operators",
                    .columns = {{.title = "operator"},
                                {.title = "rule"},
                                {.title = "sizes"},
                                {.title = "count", .text = CountText},
                                {.title = "us each", .text = FixedText<2>},
                                {.title = "us", .text = FixedText<2>}}};
  double shown = 0;
  for (const OpTracePrediction::Op& op : prediction.ops) {
    if (table.rows.size() == kShownOps) break;
    shown += op.us();
    table.rows.push_back({op.name, op.cost.rule, op.cost.sizes, op.count, op.cost.us, op.us()});
  }
  if (prediction.ops.size() > kShownOps) {
    table.rows.push_back({fmt::format("{} others", prediction.ops.size() - kShownOps), "", "", "",
                          "", prediction.us - shown});
  }
  table.rows.push_back({"sum", "", "", "", "", prediction.us});
  return table;
}

const char* FormText(const OpTraceRun& run) {
  return run.form == GpuForm::kOriginal ? "original" : "corrected";
}

std::string HeadOf(const OpTraceRun& run, const OpTracePrediction& prediction) {
  return fmt::format("Predicted time on a {} ({} form) of {}: {}.", run.gpu->name, FormText(run),
                     run.trace_path, prediction.window.what);
}

std::string ProductsText(const OpTraceRun& run) {
  if (!run.table_path.empty()) {
    return fmt::format("Matrix products between those measured in {}.", run.table_path);
  }
  return "Matrix products at the processor's peaks: no kernel beats that; --fc_table=CSV takes "
         "measured ones.";
}

std::string NoRuleText(const OpTracePrediction& prediction) {
  if (prediction.no_rule.empty()) return "";
  std::vector<std::string> names;
  for (const OpTracePrediction::Unknown& one : prediction.no_rule) {
    if (names.size() == kNamedWithoutRule) break;
    names.push_back(fmt::format("{} ({})", one.name, one.count));
  }
  const size_t others = prediction.no_rule.size() - names.size();
  if (others > 0) names.push_back(fmt::format("{} others, which --json lists", others));
  return fmt::format("No rule names these operators; they count 0: {}", fmt::join(names, ", "));
}

Figures OpTraceFigures(const OpTraceRun& run, const OpTracePrediction& prediction) {
  const std::string head = HeadOf(run, prediction), products = ProductsText(run);
  const std::string no_rule = NoRuleText(prediction), warning = prediction.Warning();
  Figures figures{
      .title = fmt::format("{:.2f} us an iteration on a {}", prediction.us_per_iteration(),
                           run.gpu->name),
      .subtitle = head,
      .json = {{"format", kFormat},
               {"op_trace", run.trace_path},
               {"gpu", run.gpu->name},
               {"form", FormText(run)},
               {"fc_table", run.table_path.empty() ? nlohmann::ordered_json(nullptr)
                                                   : nlohmann::ordered_json(run.table_path)}}};
  figures.json.update(OpTraceToJson(prediction));
  if (!warning.empty()) figures.Say("warning: {}\n", warning);
  figures.Say("{}\n{}\n\n", head, products);
  FigureTable table = TableOf(prediction);
  table.note = warning + (prediction.ops.empty() ? ". " : "") + products + " " + no_rule;
  figures.Add(std::move(table));
  figures.Say("\n{:.2f} us an iteration.\n{}", prediction.us_per_iteration(),
              no_rule.empty() ? "" : no_rule + "\n");
  return figures;
}

Status PlanOpTrace(const CommandLine& command_line, const Settings&) {
  ASSIGN_OR_RETURN(const OpTraceRun run, ReadFlags(command_line));
  OpRuleOptions options = {.gpu = run.gpu,
                           .form = run.form,
                           .bag_length = run.bag_length,
                           .link_gbs = run.link_gbs,
                           .gpus = run.gpus};
  std::optional<MeasuredProducts> products;
  if (!run.table_path.empty()) {
    ASSIGN_OR_RETURN(const std::string csv, ReadNamed(kFcTableFlag, run.table_path));
    Result<MeasuredProducts> read = MeasuredProducts::FromCsv(csv, run.table_path, run.prefix);
    RETURN_IF_ERROR(NamedBy(kFcTableFlag, read.status()));
    options.products = &products.emplace(std::move(read).value());
  }
  ASSIGN_OR_RETURN(const std::string text, ReadNamed(kOpTraceFlag, run.trace_path));
  const Result<TraceEvents> trace = ReadTraceEvents(text, run.trace_path);
  RETURN_IF_ERROR(NamedBy(kOpTraceFlag, trace.status()));
  const Result<OpTracePrediction> predicted = PredictOpTrace(trace.value(), options);
  RETURN_IF_ERROR(NamedBy(kOpTraceFlag, predicted.status()));
  return DeliverLabFigures(command_line, OpTraceFigures(run, predicted.value()));
}

// The other flags without --op_trace.
Status SayWhatFor(const CommandLine& command_line, const Settings&) {
  for (const std::string_view flag : kOptionFlags) {
    if (!command_line.Value(flag).empty()) {
      return UsageError("--{} is for a profile's operators; say --op_trace=FILE as well", flag);
    }
  }
  return OkStatus();
}

REGISTER_MEMBER(
    AddLabFlag(kOpTraceFlag,
               "A profile in Chrome's trace format (PyTorch's with record_shapes=True, or "
               "of train --profile): prints what each operator of an iteration, and all "
               "of them, would take on a graphics processor") &&
    AddLabFlag(kFcTableFlag,
               "With op_trace: CSV of measured matrix products, with columns batch_size, "
               "M, N, K, kernel_name, kernel_runtime (us). Default: at the "
               "processor's peaks") &&
    AddLabFlag(kKernelPrefixFlag,
               "With fc_table: takes the lines whose kernel_name begins so (volta)") &&
    AddLabFlag(kBagLengthFlag,
               "With op_trace: ids in a bag of a backward lookup. Default: as of the "
               "forward lookup, or else 38") &&
    AddLabFlag(kGpuFlag, "With op_trace: the processor, A100 or V100", "V100") &&
    AddVerbFlag({.name = kOriginalFormFlag,
                 .verbs = kPlan,
                 .help = "With op_trace: the models as they were published, mistakes included",
                 .is_switch = true,
                 .section = kLabSection}) &&
    AddLabFlag(kLinkFlag,
               "With op_trace: GB/s between processors, each way; without it collectives "
               "count 0") &&
    AddLabFlag(kGpusFlag,
               "With link_gbs: processors of a collective. Default: as the trace says") &&
    AddPlanMode({.flag = std::string(kOpTraceFlag), .run = PlanOpTrace, .reads_run = false}));

const bool kAreOptionsOfOpTrace = [] {
  int precedence = 0;
  for (const std::string_view flag : kOptionFlags) {
    AddPlanMode({.flag = std::string(flag), .run = SayWhatFor, .precedence = --precedence});
    AddPlanOption(std::string(flag), {std::string(kOpTraceFlag)});
  }
  return true;
}();

}  // namespace
}  // namespace rowhouse
