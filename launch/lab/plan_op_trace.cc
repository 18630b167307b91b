// plan --op_trace: what an iteration of a profile would take on a graphics processor.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "common/durable_file.h"
#include "common/json_text.h"
#include "launch/command_line/plan_mode.h"
#include "launch/command_line/verb_flags.h"
#include "launch/figures/json_output.h"
#include "launch/figures/text_table.h"
#include "launch/plan/lab_page.h"
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

// The operators that take longest, the others, and the sum; for the terminal and the page.
TextTable TableOf(const OpTracePrediction& prediction) {
  TextTable table = {.columns = {{.name = "operator"},
                                 {.name = "rule"},
                                 {.name = "sizes"},
                                 {.name = "count", .is_number = true},
                                 {.name = "us each", .is_number = true},
                                 {.name = "us", .is_number = true}},
                     .rows = {}};
  double shown = 0;
  for (const OpTracePrediction::Op& op : prediction.ops) {
    if (table.rows.size() == kShownOps) break;
    shown += op.us();
    table.rows.push_back({op.name, op.cost.rule, op.cost.sizes, fmt::format("{}", op.count),
                          fmt::format("{:.2f}", op.cost.us), fmt::format("{:.2f}", op.us())});
  }
  if (prediction.ops.size() > kShownOps) {
    table.rows.push_back({fmt::format("{} others", prediction.ops.size() - kShownOps), "", "", "",
                          "", fmt::format("{:.2f}", prediction.us - shown)});
  }
  table.rows.push_back({"sum", "", "", "", "", fmt::format("{:.2f}", prediction.us)});
  return table;
}

std::string HeadOf(const OpTraceRun& run, const OpTracePrediction& prediction) {
  return fmt::format("Predicted time on a {} ({} form) of {}: {}.", run.gpu->name,
                     run.form == GpuForm::kOriginal ? "original" : "corrected", run.trace_path,
                     prediction.window.what);
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

std::string TextOf(const OpTraceRun& run, const OpTracePrediction& prediction) {
  const std::string no_rule = NoRuleText(prediction);
  const std::string warning = prediction.Warning();
  return fmt::format("{}{}\n{}\n\n{}\n{:.2f} us an iteration.\n{}",
                     warning.empty() ? "" : "warning: " + warning + "\n", HeadOf(run, prediction),
                     ProductsText(run), TableAsText(TableOf(prediction)),
                     prediction.us_per_iteration(), no_rule.empty() ? "" : no_rule + "\n");
}

nlohmann::ordered_json PageOf(const OpTraceRun& run, const OpTracePrediction& prediction) {
  return {{"title", fmt::format("{:.2f} us an iteration on a {}", prediction.us_per_iteration(),
                                run.gpu->name)},
          {"subtitle", HeadOf(run, prediction)},
          {"grids", nlohmann::ordered_json::array(
                        {PageGrid("Operators",
                                  prediction.Warning() + (prediction.ops.empty() ? ". " : "") +
                                      ProductsText(run) + " " + NoRuleText(prediction),
                                  TableOf(prediction))})}};
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
  const OpTracePrediction& prediction = predicted.value();
  nlohmann::ordered_json json = {
      {"format", kFormat},
      {"op_trace", run.trace_path},
      {"gpu", run.gpu->name},
      {"form", run.form == GpuForm::kOriginal ? "original" : "corrected"},
      {"fc_table", run.table_path.empty() ? nlohmann::ordered_json(nullptr)
                                          : nlohmann::ordered_json(run.table_path)}};
  json.update(OpTraceToJson(prediction));
  RETURN_IF_ERROR(DeliverFigures(command_line.Value(kJsonFlag), DumpJson(json, 2) + "\n",
                                 TextOf(run, prediction)));
  return WriteLabPage(command_line, PageOf(run, prediction));
}

// The other flags without --op_trace.
Status SayWhatFor(const CommandLine& command_line, const Settings&) {
  for (const std::string_view flag : {kFcTableFlag, kKernelPrefixFlag, kBagLengthFlag, kGpuFlag,
                                      kOriginalFormFlag, kLinkFlag, kGpusFlag}) {
    if (!command_line.Value(flag).empty()) {
      return UsageError("--{} is for a profile's operators; say --op_trace=FILE as well", flag);
    }
  }
  return OkStatus();
}

bool AddOptionOfOpTrace(std::string_view flag, int precedence) {
  return AddPlanMode({.flag = std::string(flag), .run = SayWhatFor, .precedence = precedence}) &&
         AddPlanOption(std::string(flag), {std::string(kOpTraceFlag)});
}

REGISTER_MEMBER(
    AddVerbFlag(
        {.name = kOpTraceFlag,
         .verbs = kPlan,
         .help = "A profile in Chrome's trace format (PyTorch's with record_shapes=True, or "
                 "of train --profile): prints what each operator of an iteration, and all "
                 "of them, would take on a graphics processor",
         .section = kLabSection}) &&
    AddVerbFlag({.name = kFcTableFlag,
                 .verbs = kPlan,
                 .help = "With op_trace: CSV of measured matrix products, with columns batch_size, "
                         "M, N, K, kernel_name, kernel_runtime (us). Default: at the "
                         "processor's peaks",
                 .section = kLabSection}) &&
    AddVerbFlag({.name = kKernelPrefixFlag,
                 .verbs = kPlan,
                 .help = "With fc_table: takes the lines whose kernel_name begins so (volta)",
                 .section = kLabSection}) &&
    AddVerbFlag({.name = kBagLengthFlag,
                 .verbs = kPlan,
                 .help = "With op_trace: ids in a bag of a backward lookup. Default: as of the "
                         "forward lookup, or else 38",
                 .section = kLabSection}) &&
    AddVerbFlag({.name = kGpuFlag,
                 .verbs = kPlan,
                 .help = "With op_trace: the processor, A100 or V100",
                 .default_text = "V100",
                 .section = kLabSection}) &&
    AddVerbFlag({.name = kOriginalFormFlag,
                 .verbs = kPlan,
                 .help = "With op_trace: the models as they were published, mistakes included",
                 .is_switch = true,
                 .section = kLabSection}) &&
    AddVerbFlag({.name = kLinkFlag,
                 .verbs = kPlan,
                 .help = "With op_trace: GB/s between processors, each way; without it collectives "
                         "count 0",
                 .section = kLabSection}) &&
    AddVerbFlag({.name = kGpusFlag,
                 .verbs = kPlan,
                 .help = "With link_gbs: processors of a collective. Default: as the trace says",
                 .section = kLabSection}) &&
    AddPlanMode({.flag = std::string(kOpTraceFlag), .run = PlanOpTrace, .reads_run = false}) &&
    AddOptionOfOpTrace(kFcTableFlag, -1) && AddOptionOfOpTrace(kKernelPrefixFlag, -2) &&
    AddOptionOfOpTrace(kBagLengthFlag, -3) && AddOptionOfOpTrace(kGpuFlag, -4) &&
    AddOptionOfOpTrace(kOriginalFormFlag, -5) && AddOptionOfOpTrace(kLinkFlag, -6) &&
    AddOptionOfOpTrace(kGpusFlag, -7));

}  // namespace
}  // namespace rowhouse
