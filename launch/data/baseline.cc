// rowhouse data baseline FILE ...: what a logistic regression over hashed tokens is worth on the
// split that a run with the same settings makes (worker/data/baseline.h).
//
// The text is read four times: to count samples, on which the split depends; for the quantiles of
// numbers, a beginning of the train samples; to learn; to test.
#include "worker/data/baseline.h"

#include <fmt/ranges.h>

#include <cmath>
#include <functional>

#include "common/counted.h"
#include "launch/command_line/verb_flags.h"
#include "launch/data/data_verb.h"
#include "launch/figures/figures.h"
#include "worker/data/blocks/data_directory.h"
#include "worker/data/blocks/sample_order.h"
#include "worker/data/convert/passes.h"
#include "worker/data/metrics.h"
#include "worker/data/score_quality.h"
#include "worker/data/text/derived_columns.h"
#include "worker/data/text/text_chunks.h"

namespace rowhouse {
namespace {

using Part = SampleSplit::Part;

// Text files that are read several times, in the blocks that their conversion makes of them.
class RawText {
 public:
  static Result<RawText> Open(const std::string& source, const DatasetOptions& options,
                              const std::string& files) {
    RawText text;
    ASSIGN_OR_RETURN(text.files_, ExpandFiles(files));
    ASSIGN_OR_RETURN(text.format_, MakeTextFormat(source, options, text.files_));
    ASSIGN_OR_RETURN(const TextChunks chunks,
                     TextChunks::Open(text.files_, text.format_->records()));
    if (!chunks.can_be_read_again()) {
      return UsageError(
          "data baseline reads its files more than once: \"{}\" is a pipe; give files", files);
    }
    BadLineCount bad_lines(options.max_bad_lines);
    text.layout_ = {.first_samples = {0},
                    .file_samples = std::vector<uint64_t>(text.files_.size())};
    RETURN_IF_ERROR(text.ForEachChunk([&](const TextChunk& chunk, const Batch& raw,
                                          const std::vector<BadLine>& bad) -> Result<bool> {
      RETURN_IF_ERROR(bad_lines.Add(bad));
      const uint64_t first = text.layout_.first_samples.back();
      const uint64_t parts = BlocksOf(raw.samples);
      for (uint64_t part = 1; part <= parts; ++part) {
        text.layout_.first_samples.push_back(first + raw.samples * part / parts);
      }
      text.layout_.file_samples[chunk.file] += raw.samples;
      return true;
    }));
    text.bad_lines_ = bad_lines.count();
    if (text.layout_.samples() == 0) return UsageError("\"{}\" has no samples", files);
    return text;
  }

  const TextFormat& format() const { return *format_; }
  const SampleLayout& layout() const { return layout_; }
  uint64_t bad_lines() const { return bad_lines_; }

  // Calls `use` for the samples of a part, in their order, until it returns false.
  using Use = std::function<bool(const Batch& raw, size_t sample)>;
  Status ForEach(const SampleSplit& split, Part part, const Use& use) const {
    size_t block = 0;
    std::vector<uint32_t> samples;
    return ForEachChunk(
        [&](const TextChunk&, const Batch& raw, const std::vector<BadLine>&) -> Result<bool> {
          const uint64_t before = block < layout_.blocks() ? layout_.first_samples[block] : 0;
          const uint64_t parts = BlocksOf(raw.samples);
          for (uint64_t i = 0; i < parts; ++i, ++block) {
            if (block >= layout_.blocks()) return UsageError("the files grew while they were read");
            split.List(part, block, &samples);
            const uint64_t first = layout_.first_samples[block] - before;
            for (const uint32_t sample : samples) {
              if (first + sample >= raw.samples)
                return UsageError("the files shrank while being read");
              if (!use(raw, first + sample)) return false;
            }
          }
          return true;
        });
  }

 private:
  // As a conversion divides a chunk (ConversionOptions::block_samples).
  static uint64_t BlocksOf(uint64_t samples) {
    const uint64_t most = ConversionOptions().block_samples;
    return (samples + most - 1) / most;
  }

  using UseChunk = std::function<Result<bool>(const TextChunk& chunk, const Batch& raw,
                                              const std::vector<BadLine>& bad)>;
  Status ForEachChunk(const UseChunk& use) const {
    ASSIGN_OR_RETURN(TextChunks chunks, TextChunks::Open(files_, format_->records()));
    TextChunk chunk;
    Batch raw;
    for (;;) {
      ASSIGN_OR_RETURN(const bool is_there, chunks.Next(&chunk));
      if (!is_there) return OkStatus();
      std::vector<BadLine> bad;
      RETURN_IF_ERROR(format_->Parse(chunk, &raw, &bad));
      ASSIGN_OR_RETURN(const bool goes_on, use(chunk, raw, bad));
      if (!goes_on) return OkStatus();
    }
  }

  std::vector<std::string> files_;
  std::unique_ptr<TextFormat> format_;
  SampleLayout layout_;
  uint64_t bad_lines_ = 0;
};

// kUsage for what is no text, or leaves nothing to test on.
Status CheckIsTextOfRun(const std::string& source, const DatasetOptions& options) {
  for (const std::string& path : {options.file, options.test_file}) {
    if (!DataDirectory::IsAt(path)) continue;
    return UsageError(
        "data baseline: \"{}\" is a data directory, which has ids of rows, not tokens; give the "
        "text that it was made of",
        path);
  }
  if (options.file.empty()) {
    return UsageError(
        "data baseline: expected FILE ... --test_fraction=F, and --config for text "
        "that is not Criteo's");
  }
  if (!options.test_file.empty() && options.test_fraction > 0) {
    return UsageError(
        "data baseline: --test_data gives the test samples, and --test_fraction={} would hold out "
        "others; give one of them",
        options.test_fraction);
  }
  const std::string why = DeclarationOfDataset(source).why_untested(options);
  return why.empty() ? OkStatus() : UsageError("data baseline: nothing to test on: {}", why);
}

Result<SampleSplit> SplitOf(const RawText& text, const DatasetOptions& options) {
  const bool has_test_file = !options.test_file.empty();
  if (options.test_split == "dlrm" && text.format().drops_lines() &&
      text.layout().file_samples.size() == 1) {
    return UsageError(
        "data baseline: --test_split=dlrm cuts days by lines, also by those that "
        "--data_sub_sample_rate drops, which are not counted here; leave one of the two out");
  }
  return SampleSplit::Make(text.layout(), {.split = has_test_file ? "tail" : options.test_split,
                                           .test_fraction = options.test_fraction,
                                           .seed = options.seed,
                                           .valid_fraction = options.valid_fraction});
}

struct BaselineResult {
  uint64_t train_samples = 0;
  std::vector<float> labels, scores;  // of test samples
};

Result<BaselineResult> LearnAndTest(const RawText& text, const RawText* test,
                                    const DatasetOptions& options) {
  ASSIGN_OR_RETURN(const SampleSplit split, SplitOf(text, options));
  LinearBaseline model;
  RETURN_IF_ERROR(text.ForEach(split, Part::kTrain, [&](const Batch& raw, size_t sample) {
    model.LookAtNumbers(raw, sample);
    return !model.has_all_numbers();
  }));
  BaselineResult result = {
      .train_samples = split.samples(Part::kTrain), .labels = {}, .scores = {}};
  RETURN_IF_ERROR(text.ForEach(split, Part::kTrain, [&](const Batch& raw, size_t sample) {
    model.Learn(raw, sample);
    return true;
  }));
  const auto score = [&](const Batch& raw, size_t sample) {
    result.labels.push_back(raw.labels[sample]);
    result.scores.push_back(model.Score(raw, sample));
    return true;
  };
  if (test == nullptr) {
    RETURN_IF_ERROR(text.ForEach(split, Part::kTest, score));
    return result;
  }
  // Without a fraction, all samples are of the train part.
  ASSIGN_OR_RETURN(const SampleSplit all, SampleSplit::Make(test->layout(), {}));
  RETURN_IF_ERROR(test->ForEach(all, Part::kTrain, score));
  return result;
}

Status RunBaseline(const CommandLine& command_line, const std::vector<std::string>& arguments,
                   const Settings& settings) {
  if (!arguments.empty() && !command_line.Value("data").empty()) {
    return UsageError("data baseline: files are given, and --data too; give one of them");
  }
  DatasetOptions options = settings.data;
  if (!arguments.empty()) options.file = fmt::format("{}", fmt::join(arguments, ","));
  if (!settings.are_tables_given) {
    options.table_rows.clear();
    options.table_names.clear();
  }
  // The model puts numbers into buckets of its own, and takes each token by itself.
  options.schema = WithoutDerived(options.schema);
  const std::string source = TextSourceOf(settings.data_generation, options.schema);
  RETURN_IF_ERROR(CheckIsTextOfRun(source, options));
  DeclarationOfDataset(source).adjust(&options);
  ASSIGN_OR_RETURN(const RawText text, RawText::Open(source, options, options.file));
  std::optional<RawText> test;
  if (!options.test_file.empty()) {
    ASSIGN_OR_RETURN(test, RawText::Open(source, options, options.test_file));
  }
  ASSIGN_OR_RETURN(const BaselineResult result,
                   LearnAndTest(text, test ? &*test : nullptr, options));
  if (result.labels.empty()) {
    return UsageError("data baseline: {} leave none to test on; raise --test_fraction={}",
                      Counted(text.layout().samples(), "sample"), options.test_fraction);
  }
  const Metrics metrics = ComputeMetrics(result.labels, result.scores);
  Figures figures{.json = {{"model", "logistic regression over hashed tokens"},
                           {"train_samples", result.train_samples},
                           {"test_samples", result.labels.size()},
                           {"mean_label", MeanOf(result.labels)},
                           {"bad_lines", text.bad_lines() + (test ? test->bad_lines() : 0)},
                           {"auc", metrics.roc_auc},
                           {"logloss", metrics.logloss},
                           {"accuracy", metrics.accuracy}}};
  figures.Say(
      "logistic regression over hashed tokens (FTRL), one pass over {}\n"
      "test AUC {:.4f} logloss {:.4f} accuracy {:.4f}  {}\n",
      Counted(result.train_samples, "train sample"), metrics.roc_auc, metrics.logloss,
      metrics.accuracy, Counted(result.labels.size(), "test sample"));
  return DeliverFigures(command_line.Value(kJsonFlag), figures);
}

REGISTER_MEMBER(AddDataCommand(
    {.name = "baseline",
     .arguments = "FILE ... --test_fraction=F [--config=FILE]",
     .what = "learns a logistic regression on the train part of text and measures it on the test "
             "part, as a yardstick for models of the same settings",
     .run = RunBaseline}));

}  // namespace
}  // namespace rowhouse
