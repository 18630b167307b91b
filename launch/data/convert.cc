// rowhouse data convert FILE ... --out=DIR: text as a data directory.
#include <fmt/chrono.h>
#include <fmt/core.h>
#include <fmt/ranges.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <nlohmann/json.hpp>

#include "common/counted.h"
#include "common/json_text.h"
#include "launch/command_line/verb_flags.h"
#include "launch/data/data_verb.h"
#include "launch/figures/figure_text.h"
#include "launch/figures/figures.h"
#include "launch/figures/json_output.h"
#include "launch/hosts/cluster.h"
#include "launch/hosts/process_end.h"
#include "launch/model/last_save.h"
#include "launch/model/manifest.h"
#include "launch/model/model_settings.h"
#include "worker/data/convert/converter.h"
#include "worker/data/convert/prepared_text.h"
#include "worker/data/mapping/multi_hot.h"

namespace rowhouse {
namespace {

// The preprocessing that belongs to a model: to the one that was saved last, or, where only
// checkpoints are, to the newest of these. kUsage if it has none.
Result<std::shared_ptr<const Preprocessing>> PreprocessingOfModel(const std::string& model_dir) {
  std::string directory = model_dir;
  const std::vector<uint64_t> checkpoints = CheckpointsOf(model_dir);
  if (!HasManifest(model_dir) && !checkpoints.empty()) {
    directory = CheckpointDirectory(model_dir, checkpoints.back());
  }
  ASSIGN_OR_RETURN(const Manifest manifest, ReadManifest(directory));
  ASSIGN_OR_RETURN(auto preprocessing, OpenPreprocessing(directory, manifest));
  if (preprocessing != nullptr) return preprocessing;
  return UsageError(
      "the model in \"{}\" was trained on data without a preprocessing: there is nothing to map "
      "text by",
      model_dir);
}

// What the text is, from the settings and the words behind `convert`.
Result<DatasetOptions> OptionsOf(const CommandLine& command_line,
                                 const std::vector<std::string>& arguments,
                                 const Settings& settings) {
  DatasetOptions options = settings.data;
  if (!arguments.empty() && !command_line.Value("data").empty()) {
    return UsageError("data convert: files are given, and --data too; give one of them");
  }
  if (!arguments.empty()) options.file = fmt::format("{}", fmt::join(arguments, ","));
  if (options.file.empty()) return UsageError("data convert: expected FILE ... --out=DIR");
  // Dictionaries decide how many rows tables have.
  if (!settings.are_tables_given) options.shape = {};
  const std::string model_dir = settings.output.model_dir;
  if (model_dir.empty()) return options;
  if (!command_line.Value(kConfigFlag).empty()) {
    return UsageError(
        "--config and --model_dir are given: a model has a schema and tables of its own; give one "
        "of them");
  }
  ASSIGN_OR_RETURN(options.text.preprocessing, PreprocessingOfModel(model_dir));
  options.text.schema = options.text.preprocessing->schema();
  return options;
}

// What a conversion prints while it runs: one line that is rewritten on a terminal, or a line every
// ten seconds where stdout is not a terminal.
class ConversionLine {
 public:
  explicit ConversionLine(bool is_terminal) : is_terminal_(is_terminal) {}

  // Call it about once a second. Prints
  //   "[========>           ] 43 %  pass 2 of 2  12,345,678 samples  210 MB/s  0:13 left"
  // The rate is of bytes as they lie on disk, since the last line.
  void Show(const ConversionProgress& progress) {
    const Clock::time_point now = Clock::now();
    const auto seconds_since = [&](Clock::time_point then) {
      return std::chrono::duration<double>(now - then).count();
    };
    const double part = progress.part_done();
    // A conversion that goes on passes quickly over what is done: its rate begins behind that.
    if (first_part_ < 0) {
      first_part_ = part;
      first_ = now;
      if (shown_.pass == 0) shown_ = progress;
    }
    if (seconds_since(last_) < (is_terminal_ ? 0.5 : 10.0)) return;
    const bool is_same_pass = shown_.pass == progress.pass;
    const uint64_t before = is_same_pass ? shown_.bytes_done : 0;
    const double rate =
        static_cast<double>(progress.bytes_done - std::min(progress.bytes_done, before)) /
        seconds_since(last_) / 1e6;
    std::string text =
        fmt::format("pass {} of {}  {} samples  {:.0f} MB/s", progress.pass, progress.passes,
                    CountText(static_cast<double>(progress.samples)), rate);
    if (progress.bad_lines > 0) text += fmt::format("  {} bad lines", progress.bad_lines);
    if (part > first_part_) {
      const double left = seconds_since(first_) * (1.0 - part) / (part - first_part_);
      text += fmt::format("  {} left", DurationText(left));
    }
    if (is_terminal_) {
      Clear();
      fmt::print("{} {:.0f} %  {}", BarText(part), 100.0 * part, text);
    } else {
      fmt::print("{:%H:%M:%S}  {:.0f} %  {}\n", fmt::localtime(std::time(nullptr)), 100.0 * part,
                 text);
    }
    std::fflush(stdout);
    last_ = now;
    shown_ = progress;
  }

  // Removes the line that is rewritten. Call it before anything else is printed.
  void Clear() const {
    if (is_terminal_) fmt::print("\r\033[K");
  }

 private:
  using Clock = std::chrono::steady_clock;

  const bool is_terminal_;
  const Clock::time_point began_ = Clock::now();
  double first_part_ = -1.0;  // that was done when the first line was due; -1: none was due yet
  Clock::time_point first_ = began_;
  Clock::time_point last_ = began_;
  ConversionProgress shown_ = {.pass = 0};
};

double Count(uint64_t number) { return static_cast<double>(number); }

uint64_t PeakMemoryBytes() {
  rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<uint64_t>(usage.ru_maxrss) * 1024;
}

// Megabytes of text a second, over both passes.
double Rate(const ConversionSummary& summary) {
  const double seconds = summary.first_pass_seconds + summary.second_pass_seconds;
  return seconds > 0 ? Count(summary.text_bytes) / seconds / 1e6 : 0.0;
}

Figures FiguresOf(const ConversionSummary& summary, const TextConversion& conversion) {
  const std::string& out = conversion.options.out;
  Figures figures{.json = {{"out", out},
                           {"samples", summary.samples},
                           {"blocks", summary.blocks},
                           {"bad_lines", summary.bad_lines},
                           {"resumed_samples", summary.resumed_samples},
                           {"text_bytes", summary.text_bytes},
                           {"bytes", summary.bytes},
                           {"first_pass_seconds", summary.first_pass_seconds},
                           {"second_pass_seconds", summary.second_pass_seconds},
                           {"mb_a_second", Rate(summary)},
                           {"peak_memory_bytes", PeakMemoryBytes()},
                           {"warnings", summary.warnings}}};
  figures.Say("{}: {} samples in {}, {} ({:.1f} % of {} of text)\n", out,
              CountText(Count(summary.samples)), Counted(summary.blocks, "block"),
              BytesText(Count(summary.bytes)),
              100.0 * Count(summary.bytes) / std::max(1.0, Count(summary.text_bytes)),
              BytesText(Count(summary.text_bytes)));
  if (summary.resumed_samples > 0) {
    figures.Say("  {} samples had been converted by an earlier call\n",
                CountText(Count(summary.resumed_samples)));
  }
  figures.Say(
      "  first pass {:.1f} s, second pass {:.1f} s, {:.0f} MB/s over both; {} of "
      "memory at most\n",
      summary.first_pass_seconds, summary.second_pass_seconds, Rate(summary),
      BytesText(Count(PeakMemoryBytes())));
  nlohmann::ordered_json tokens = nlohmann::ordered_json::object();
  std::string dictionaries;
  for (size_t k = 0; k < summary.tokens.size(); ++k) {
    const CategoricalColumn& column = conversion.format->schema().categorical[k];
    tokens[column.name] = summary.tokens[k];
    if (column.ids != "dictionary") continue;
    dictionaries += fmt::format("{}{} {}", dictionaries.empty() ? "" : ", ", column.name,
                                CountText(Count(summary.tokens[k])));
  }
  figures.json["tokens"] = std::move(tokens);
  if (!dictionaries.empty()) figures.Say("  tokens in dictionaries: {}\n", dictionaries);
  if (summary.bad_lines > 0) {
    figures.Say("  {} left out; the first:\n", Counted(summary.bad_lines, "bad line"));
    for (const std::string& line : summary.bad_line_examples) figures.Say("    {}\n", line);
  }
  for (const std::string& warning : summary.warnings) figures.Say("  note: {}\n", warning);
  return figures;
}

Status RunConvert(const CommandLine& command_line, const std::vector<std::string>& arguments,
                  const Settings& settings) {
  const std::string out = command_line.Value(kOutFlag);
  if (out.empty()) {
    return UsageError("data convert: no --out: it names the data directory to make");
  }
  ASSIGN_OR_RETURN(DatasetOptions options, OptionsOf(command_line, arguments, settings));
  const std::string source = TextSourceOf(settings.data_generation, options.text.schema);
  DeclarationOfDataset(source).adjust(&options);
  ASSIGN_OR_RETURN(TextConversion conversion, MakeTextConversion(source, options, out));

  const Schema& schema = conversion.options.preprocessing == nullptr
                             ? conversion.format->schema()
                             : conversion.options.preprocessing->schema();
  HandleStopSignals();
  const std::string json = command_line.Value(kJsonFlag);
  ConversionLine line(IsWatchedOnTerminal());
  if (json != kJsonToStdout) {
    if (const uint64_t bytes = MultiHotBytes(schema); bytes > 0) {
      fmt::print("multi-hot bags need {} of memory while text is converted\n",
                 BytesText(Count(bytes)));
      std::fflush(stdout);
    }
    conversion.options.hooks.progress = [&](const ConversionProgress& done) { line.Show(done); };
  }
  conversion.options.hooks.stop = &StopRequested();
  const Result<ConversionSummary> summary = Convert(*conversion.format, conversion.options);
  line.Clear();
  if (summary.status().code() == StatusCode::kUnavailable && StopRequested()) {
    return MakeStatus(StatusCode::kUnavailable,
                      "ended by {} before all was converted; the same command goes on from "
                      "\"{}.partial\"",
                      StopSignalName(), out);
  }
  if (summary.status().code() == StatusCode::kResourceExhausted) {
    return UsageError("{}; what is done is kept: make room and give the same command again",
                      summary.status().message());
  }
  RETURN_IF_ERROR(summary.status());
  const Figures figures = FiguresOf(summary.value(), conversion);
  return DeliverFigures(json, JsonLines(figures.json), FiguresAsText(figures));
}

REGISTER_MEMBER(AddDataCommand(
    {.name = "convert",
     .arguments = "FILE ... --out=DIR [--config=FILE | --model_dir=DIR]",
     .what = "makes a data directory of text, by the schema and tables of a config, or by those of "
             "a model, whose dictionaries are then used as they are; after a kill the same command "
             "goes on",
     .run = RunConvert}));

}  // namespace

}  // namespace rowhouse
