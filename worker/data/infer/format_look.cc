#include <algorithm>
#include <cmath>

#include "worker/data/dataset.h"
#include "worker/data/infer/inference.h"
#include "worker/data/text/text_format.h"

namespace rowhouse {
namespace {

using Use = InferredColumn::Use;

// What the samples of one format have in each column.
class FormatLooker {
 public:
  FormatLooker(std::string format, std::vector<std::string> files, uint64_t most_bytes)
      : name_(std::move(format)), files_(std::move(files)), most_bytes_(most_bytes) {}

  Result<Inferred> Look() {
    ASSIGN_OR_RETURN(format_, Make(Schema{.format = name_}));
    schema_ = format_->schema();
    if (!declaration_.beside.empty()) RETURN_IF_ERROR(AddColumnsBeside());
    tokens_.resize(schema_.categorical.size());
    missing_.resize(schema_.categorical.size());
    missing_numbers_.resize(schema_.dense.size());
    RETURN_IF_ERROR(Read());
    if (size_.looked_at == 0) return UsageError("\"{}\" has no sample", files_.front());
    if (ones_ == 0 || ones_ == size_.looked_at) {
      return UsageError(
          "\"{}\": the label is {} in all {} lines, so there is nothing to learn: give a file that "
          "has other samples, too",
          files_.front(), ones_ == 0 ? 0 : 1, size_.looked_at);
    }
    return Describe();
  }

 private:
  Result<std::unique_ptr<TextFormat>> Make(const Schema& schema) const {
    DatasetOptions options;
    options.schema = schema;
    return MakeTextFormat(name_, options, files_);
  }

  // Columns of files that need not lie beside the data.
  Status AddColumnsBeside() {
    std::erase_if(schema_.categorical, [&](const auto& column) {
      return std::ranges::count(declaration_.not_guessed, column.name) > 0;
    });
    for (const std::string& name : declaration_.beside) {
      Schema more = schema_;
      more.categorical.push_back({.name = name});
      if (Make(more).ok()) schema_ = more;
    }
    ASSIGN_OR_RETURN(format_, Make(schema_));
    return OkStatus();
  }

  Status Read() {
    ASSIGN_OR_RETURN(TextChunks chunks, TextChunks::Open(files_, format_->has_quotes()));
    Batch raw;
    std::vector<BadLine> bad;
    const auto add = [&](const TextChunk& chunk) {
      RETURN_IF_ERROR(format_->Parse(chunk, &raw, &bad));
      if (size_.looked_at + raw.samples == 0 && !bad.empty()) {
        return UsageError("{}", bad.front().message);
      }
      Add(raw);
      return OkStatus();
    };
    RETURN_IF_ERROR(ReadBeginning(&chunks, most_bytes_, add, &size_));
    size_.odd_records = bad.size();
    if (!bad.empty()) size_.first_odd = bad.front().message;
    return OkStatus();
  }

  void Add(const Batch& raw) {
    size_.looked_at += raw.samples;
    for (const float label : raw.labels) ones_ += label >= 0.5f;
    for (size_t i = 0; i < raw.dense.size(); ++i) {
      if (std::isnan(raw.dense[i])) ++missing_numbers_[i % schema_.dense.size()];
    }
    for (size_t k = 0; k < raw.features.size(); ++k) {
      const Bags& bags = raw.features[k];
      for (const uint64_t key : bags.ids) tokens_[k].AddKey(key);
      for (size_t s = 0; s < bags.samples(); ++s) {
        missing_[k] += bags.offsets[s] == bags.offsets[s + 1];
      }
    }
  }

  Inferred Describe() const {
    Inferred found{.schema = schema_, .size = size_};
    found.schema.dense.clear();
    found.schema.categorical.clear();
    found.why_label = fmt::format("{:.3g} % are 1", 100.0 * static_cast<double>(ones_) /
                                                        static_cast<double>(size_.looked_at));
    for (size_t i = 0; i < schema_.dense.size(); ++i) {
      InferredColumn column{.use = Use::kDense, .name = schema_.dense[i].name};
      column.dense = schema_.dense[i];
      if (missing_numbers_[i] > 0)
        column.why = fmt::format("missing {} times", missing_numbers_[i]);
      AddToSchema(column, &found.schema);
      found.columns.push_back(column);
    }
    for (size_t k = 0; k < schema_.categorical.size(); ++k) {
      InferredColumn column{.use = Use::kCategorical, .name = schema_.categorical[k].name};
      column.categorical = schema_.categorical[k];
      if (!declaration_.beside.empty() && tokens_[k].occurrences() == 0) continue;
      column.categorical.missing_row = missing_[k] > 0 && column.categorical.separator.empty();
      ChooseIds(tokens_[k], size_, &column);
      if (missing_[k] > 0) column.why += fmt::format("; missing {} times", missing_[k]);
      AddToSchema(column, &found.schema);
      found.columns.push_back(column);
    }
    return found;
  }

  const std::string name_;
  const TextFormatDeclaration& declaration_ = TextFormats().DeclarationOf(name_);
  const std::vector<std::string> files_;
  const uint64_t most_bytes_;
  std::unique_ptr<TextFormat> format_;
  Schema schema_;
  DataSize size_;
  uint64_t ones_ = 0;
  std::vector<DistinctTokens> tokens_;
  std::vector<uint64_t> missing_, missing_numbers_;
};

}  // namespace

std::string GuessFormat(const std::string& file, std::string_view head) {
  std::string_view line = head.substr(0, head.find('\n'));
  if (line.ends_with('\r')) line.remove_suffix(1);
  for (const std::string& format : TextFormats().Names()) {
    const auto looks_so = TextFormats().DeclarationOf(format).looks_so;
    if (looks_so != nullptr && looks_so(file, line)) return format;
  }
  return "";
}

Result<Inferred> InferByFormat(const std::string& format, const std::vector<std::string>& files,
                               uint64_t most_bytes) {
  return FormatLooker(format, files, most_bytes).Look();
}

}  // namespace rowhouse
