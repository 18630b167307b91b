// The text is read four times: to count samples, on which the split depends; for the quantiles of
// numbers, a beginning of the train samples; to learn; to test.
#include "worker/data/convert/text_baseline.h"

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "common/counted.h"
#include "worker/data/baseline.h"
#include "worker/data/blocks/data_directory.h"
#include "worker/data/blocks/sample_order.h"
#include "worker/data/convert/passes.h"
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
                              const std::string& files, const BaselineLimits& limits) {
    RawText text(limits.stop);
    ASSIGN_OR_RETURN(text.files_, ExpandFiles(files));
    RETURN_IF_ERROR(CheckFiles(text.files_, limits.most_bytes));
    ASSIGN_OR_RETURN(text.format_, MakeTextFormat(source, options, text.files_));
    BadLineCount bad_lines(options.text.max_bad_lines);
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
  explicit RawText(const std::atomic<bool>* stop) : stop_(stop) {}

  // A pipe that nobody writes to any more would not even open.
  static Status CheckFiles(const std::vector<std::string>& files, uint64_t most_bytes) {
    uint64_t bytes = 0;
    for (const std::string& file : files) {
      std::error_code ignored;
      const auto status = std::filesystem::status(file, ignored);
      if (file == "-" || std::filesystem::is_fifo(status) || std::filesystem::is_socket(status)) {
        return UsageError("the text is read more than once, and \"{}\" is a pipe; give files",
                          file);
      }
      if (std::filesystem::is_regular_file(status)) {
        bytes += std::filesystem::file_size(file, ignored);
      }
    }
    if (bytes <= most_bytes) return OkStatus();
    return UsageError("the files have {} MB, and up to {} MB are read", bytes / 1000000,
                      most_bytes / 1000000);
  }

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
      if (stop_ != nullptr && *stop_) return MakeStatus(StatusCode::kUnavailable, "stopped");
      ASSIGN_OR_RETURN(const bool is_there, chunks.Next(&chunk));
      if (!is_there) return OkStatus();
      std::vector<BadLine> bad;
      RETURN_IF_ERROR(format_->Parse(chunk, &raw, &bad));
      ASSIGN_OR_RETURN(const bool goes_on, use(chunk, raw, bad));
      if (!goes_on) return OkStatus();
    }
  }

  const std::atomic<bool>* stop_;
  std::vector<std::string> files_;
  std::unique_ptr<TextFormat> format_;
  SampleLayout layout_;
  uint64_t bad_lines_ = 0;
};

// kUsage for what is no text, or leaves nothing to test on.
Status CheckIsTextOfRun(const std::string& source, const DatasetOptions& options) {
  for (const std::string& path : {options.file, options.held_out.test_file}) {
    if (!DataDirectory::IsAt(path)) continue;
    return UsageError(
        "\"{}\" is a data directory, which has ids of rows, not tokens; give the "
        "text that it was made of",
        path);
  }
  if (!options.held_out.test_file.empty() && options.held_out.test_fraction > 0) {
    return UsageError(
        "--test_data gives the test samples, and --test_fraction={} would hold out "
        "others; give one of them",
        options.held_out.test_fraction);
  }
  const std::string why = DeclarationOfDataset(source).why_untested(options);
  return why.empty() ? OkStatus() : UsageError("nothing to test on: {}", why);
}

Result<SampleSplit> SplitOf(const RawText& text, const DatasetOptions& options) {
  const HeldOut& held_out = options.held_out;
  const bool has_test_file = !held_out.test_file.empty();
  if (held_out.test_split == "dlrm" && text.format().drops_lines() &&
      text.layout().file_samples.size() == 1) {
    return UsageError(
        "--test_split=dlrm cuts days by lines, also by those that "
        "--data_sub_sample_rate drops, which are not counted here; leave one of the two out");
  }
  return SampleSplit::Make(text.layout(), {.split = has_test_file ? "tail" : held_out.test_split,
                                           .test_fraction = held_out.test_fraction,
                                           .seed = options.seed,
                                           .valid_fraction = held_out.valid_fraction,
                                           .index = held_out.split_index});
}

}  // namespace

Result<BaselineResult> MeasureBaseline(const std::string& source, const DatasetOptions& given,
                                       const BaselineLimits& limits) {
  DatasetOptions options = given;
  // The model puts numbers into buckets of its own, and takes each token by itself.
  options.text.schema = WithoutDerived(options.text.schema);
  RETURN_IF_ERROR(CheckIsTextOfRun(source, options));
  DeclarationOfDataset(source).adjust(&options);
  ASSIGN_OR_RETURN(const RawText text, RawText::Open(source, options, options.file, limits));
  std::optional<RawText> test;
  if (!options.held_out.test_file.empty()) {
    ASSIGN_OR_RETURN(test, RawText::Open(source, options, options.held_out.test_file, limits));
  }
  ASSIGN_OR_RETURN(const SampleSplit split, SplitOf(text, options));
  LinearBaseline model;
  RETURN_IF_ERROR(text.ForEach(split, Part::kTrain, [&](const Batch& raw, size_t sample) {
    model.LookAtNumbers(raw, sample);
    return !model.has_all_numbers();
  }));
  RETURN_IF_ERROR(text.ForEach(split, Part::kTrain, [&](const Batch& raw, size_t sample) {
    model.Learn(raw, sample);
    return true;
  }));
  std::vector<float> labels, scores;
  const auto score = [&](const Batch& raw, size_t sample) {
    labels.push_back(raw.labels[sample]);
    scores.push_back(model.Score(raw, sample));
    return true;
  };
  if (test) {
    // Without a fraction, all samples are of the train part.
    ASSIGN_OR_RETURN(const SampleSplit all, SampleSplit::Make(test->layout(), {}));
    RETURN_IF_ERROR(test->ForEach(all, Part::kTrain, score));
  } else {
    RETURN_IF_ERROR(text.ForEach(split, Part::kTest, score));
  }
  if (labels.empty()) {
    return UsageError("{} leave none to test on; raise --test_fraction={}",
                      Counted(text.layout().samples(), "sample"), options.held_out.test_fraction);
  }
  return BaselineResult{.train_samples = split.samples(Part::kTrain),
                        .test_samples = labels.size(),
                        .bad_lines = text.bad_lines() + (test ? test->bad_lines() : 0),
                        .mean_label = MeanOf(labels),
                        .metrics = ComputeMetrics(labels, scores)};
}

}  // namespace rowhouse
