// "libsvm": lines of a label and of the features that are not 0:
//
//   LABEL [qid:QUERY] INDEX:VALUE INDEX:VALUE ... [# COMMENT]
//
// Schema. Its own, unless one is given: label 1 if LABEL > 0; one categorical column "features" (or
// by the name of the model's table, if there is one) whose tokens are the indices and whose weights
// are the values, an index without a value with weight 1; ids are indices modulo the table's rows.
// A schema may take indices out of the bag: a dense column named "3" is the value of index 3,
// missing where the line has none. It may have no categorical column; the indices that are not
// dense ones are then left out. Queries are left out.
#include <algorithm>
#include <limits>
#include <regex>
#include <unordered_map>

#include "worker/data/convert/prepared_text.h"
#include "worker/data/mapping/token_key.h"
#include "worker/data/text/field_text.h"
#include "worker/data/text/sample_fields.h"

namespace rowhouse {
namespace {

constexpr std::string_view kBlanks = " \t";

Schema LibsvmSchema(const TextFormatOptions& options) {
  Schema schema;
  schema.format = "libsvm";
  schema.has_quotes = schema.has_header = false;
  schema.label = {.column = "label", .compare = ">", .value = "0"};
  CategoricalColumn& column = schema.categorical.emplace_back();
  column.name = options.table_names.size() == 1 ? options.table_names[0] : "features";
  column.token = "integer";
  column.ids = "modulo";
  column.rows = options.table_rows.size() == 1 ? options.table_rows[0] : 0;
  column.separator = " ";
  column.weight_separator = ":";
  return schema;
}

class LibsvmFormat final : public TextFormat {
 public:
  LibsvmFormat(Schema schema, LabelReader label, bool needs_label)
      : schema_(std::move(schema)), label_(std::move(label)), needs_label_(needs_label) {
    for (size_t i = 0; i < schema_.dense.size(); ++i) {
      dense_.emplace(*TokenKey(TokenType::kInteger, schema_.dense[i].name), i);
    }
  }

  const Schema& schema() const override { return schema_; }

  Status Parse(const TextChunk& chunk, Batch* raw, std::vector<BadLine>* bad) const override {
    raw->Clear(schema_.dense.size(), schema_.categorical.size());
    BadRecords faults(chunk, bad);
    const std::string_view bytes = chunk.bytes;
    const bool has_label = needs_label_ || HasLabel(*chunk.first_record);
    for (size_t begin = 0; begin < bytes.size();) {
      const size_t end = std::min(bytes.find('\n', begin), bytes.size());
      std::string_view line = bytes.substr(begin, end - begin);
      if (line.ends_with('\r')) line.remove_suffix(1);
      line = line.substr(0, line.find('#'));
      if (line.find_first_not_of(kBlanks) != std::string_view::npos) {
        if (const auto fault = Add(line, has_label, raw)) {
          raw->Truncate(raw->samples);
          faults.Add(begin, begin + fault->position, fault->message);
        }
      } else if (bytes[begin] != '#') {  // A line may be a comment.
        faults.AddEmpty(begin);
      }
      begin = end + 1;
    }
    return OkStatus();
  }

 private:
  static bool HasLabel(std::string_view first) {
    size_t at = 0;
    return NextWord(first.substr(0, first.find('#')), &at).find(':') == std::string_view::npos;
  }

  // The next word from byte *at on, which is then behind it; empty at the end.
  static std::string_view NextWord(std::string_view line, size_t* at) {
    const size_t begin = std::min(line.find_first_not_of(kBlanks, *at), line.size());
    *at = std::min(line.find_first_of(kBlanks, begin), line.size());
    return line.substr(begin, *at - begin);
  }

  std::optional<LineFault> Add(std::string_view line, bool has_label, Batch* raw) const {
    size_t at = 0;
    if (has_label) {
      const std::string_view word = NextWord(line, &at);
      const std::optional<float> label = label_.Of(word);
      if (!label) {
        return LineFault{at - word.size(), fmt::format("the label is \"{}\", expected {}",
                                                       ShownField(word), label_.expected())};
      }
      raw->labels.push_back(*label);
    }
    raw->dense.resize(raw->dense.size() + schema_.dense.size(),
                      std::numeric_limits<float>::quiet_NaN());
    for (std::string_view word = NextWord(line, &at); !word.empty(); word = NextWord(line, &at)) {
      if (word.starts_with("qid:")) continue;
      const size_t colon = word.find(':');
      const std::optional<uint64_t> index = TokenKey(TokenType::kInteger, word.substr(0, colon));
      const std::optional<float> value =
          colon == std::string_view::npos ? 1.0f : FloatOf(word.substr(colon + 1));
      if (!index || !value) {
        return LineFault{
            at - word.size(),
            fmt::format("a feature is \"{}\", expected INDEX:VALUE, an integer and a number",
                        ShownField(word))};
      }
      AddFeature(*index, *value, raw);
    }
    for (Bags& bags : raw->features) bags.EndBag();
    ++raw->samples;
    return std::nullopt;
  }

  void AddFeature(uint64_t index, float value, Batch* raw) const {
    if (const auto dense = dense_.find(index); dense != dense_.end()) {
      raw->dense[raw->samples * schema_.dense.size() + dense->second] = value;
    } else if (!raw->features.empty()) {
      raw->features[0].ids.push_back(index);
      raw->features[0].weights.push_back(value);
    }
  }

  const Schema schema_;
  const LabelReader label_;
  const bool needs_label_;
  std::unordered_map<uint64_t, size_t> dense_;  // index -> dense column
};

Result<std::unique_ptr<TextFormat>> OpenLibsvm(const TextFormatOptions& options) {
  Schema schema = options.schema.has_columns() ? options.schema : LibsvmSchema(options);
  if (schema.categorical.size() > 1) {
    return UsageError(
        "section schema has {} categorical columns, and libsvm data have one, the bag of the "
        "indices that are not dense columns",
        schema.categorical.size());
  }
  for (const CategoricalColumn& column : schema.categorical) {
    if (column.token == "integer") continue;
    return UsageError(
        "section schema: column \"{}\" has tokens of type {}; libsvm's indices are "
        "of type integer",
        column.name, column.token);
  }
  for (const DenseColumn& column : schema.dense) {
    if (TokenKey(TokenType::kInteger, column.name)) continue;
    return UsageError(
        "section schema: dense column \"{}\" of libsvm data is not an index, such as \"3\"",
        column.name);
  }
  if (!schema.weight.empty()) {
    return UsageError("section schema: libsvm data have no column \"{}\" for samples' weights",
                      schema.weight);
  }
  ASSIGN_OR_RETURN(LabelReader label, LabelReader::Make(schema.label));
  return std::unique_ptr<TextFormat>(
      std::make_unique<LibsvmFormat>(std::move(schema), std::move(label), options.needs_label));
}

// A number, then pairs such as 3:0.5.
bool LooksLikeLibsvm(const std::string&, std::string_view line) {
  static const std::regex kLine(
      "[+-]?[0-9.eE+-]+([ \\t]+qid:[0-9]+)?([ \\t]+[0-9]+:[0-9.eE+-]+)+[ \\t]*(#.*)?\\r?");
  return line.size() < 10000 && std::regex_match(line.begin(), line.end(), kLine);
}

REGISTER_MEMBER(TextFormats().Add("libsvm", OpenLibsvm, {}, {.looks_so = &LooksLikeLibsvm}) &&
                AddTextDataset("libsvm"));

}  // namespace
}  // namespace rowhouse
