// rowhouse data infer FILE ...: writes a config for files of unknown columns, from a sample of
// their lines.
#include "launch/data/infer.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <cstdio>
#include <vector>

#include "common/clean_text.h"
#include "common/output_path.h"
#include "launch/command_line/verb_flags.h"
#include "launch/data/data_verb.h"
#include "launch/settings/yaml_config.h"
#include "worker/data/infer/inference.h"
#include "worker/data/text/field_text.h"
#include "worker/data/text/text_chunks.h"
#include "worker/data/text/text_format.h"

namespace rowhouse {
namespace {

using Use = InferredColumn::Use;

// Rows of a plain table at most: with 16 floats and Adagrad's state, 4 GB.
constexpr double kMaxPlainRows = 3.2e7;

// What fits data of this many records. A model has to learn them in one pass: a second one costs
// more on tests than it brings (ids are learned by heart). So the fewer there are, the more steps
// are made of them, and larger ones.
struct Shape {
  double records;  // of data of at most this many
  uint32_t dim, hidden, batch;
  double rate;
};
constexpr std::array kShapes = {
    Shape{2e4, 8, 32, 32, 0.04},       Shape{2e5, 16, 64, 128, 0.03},
    Shape{2e6, 16, 128, 512, 0.02},    Shape{2e7, 16, 256, 1024, 0.02},
    Shape{1e300, 16, 256, 2048, 0.02},
};

const Shape& ShapeFor(double records) {
  return *std::ranges::find_if(kShapes, [records](const Shape& s) { return records <= s.records; });
}

bool IsPlainCharacter(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-' || c == '.';
}

// What stands behind # in a line.
std::string Comment(std::string_view text) { return text.empty() ? "" : "  # " + CleanText(text); }

std::string DenseText(const InferredColumn& column) {
  std::string text = "name: " + YamlWord(column.name);
  text += ", transform: " + column.dense.transform;
  if (column.dense.missing != 0) text += fmt::format(", missing: {}", column.dense.missing);
  return text;
}

std::string CategoricalText(const InferredColumn& column) {
  const CategoricalColumn& c = column.categorical;
  std::string text = "name: " + YamlWord(column.name);
  if (c.is_bucket()) return text + ", edges: " + c.edges;  // A word in YAML.
  if (c.token != "string") text += ", token: " + c.token;
  text += ", ids: " + c.ids;
  if (c.min_count > 1) text += fmt::format(", min_count: {}", c.min_count);
  if (c.missing_row) text += ", missing_row: true";
  if (c.rare_row) text += ", rare_row: true";
  if (!c.separator.empty()) text += ", separator: " + YamlWord(c.separator);
  if (!c.weight_separator.empty()) text += ", weight_separator: " + YamlWord(c.weight_separator);
  return text;
}

std::string HeadText(const Inferred& inferred, const std::string& files) {
  const DataSize& size = inferred.size;
  std::string text = fmt::format(
      "# Written by rowhouse data infer {}\n# from {} lines{}. Lines begin with what was "
      "assumed; what was seen is behind #.\n",
      files, WrittenCount(size.surveyed),
      size.is_whole ? ", which are all" : fmt::format(", of about {}", WrittenCount(size.records)));
  if (size.odd_records > 0) {
    text += fmt::format(
        "# Besides, {} cannot be read; to leave them out, train with --max_bad_lines. The first:\n"
        "# {}\n",
        WrittenCount(size.odd_records), CleanText(size.first_odd));
  }
  for (const std::string& note : inferred.notes) text += "# Note: " + CleanText(note) + "\n";
  return text + fmt::format(
                    "#   rowhouse train --config=THIS --data={} --test_fraction=0.2 "
                    "--model_dir=model\n\n",
                    files);
}

template <typename Line>
std::string ListText(const Inferred& inferred, Use use, const char* key, const Line& line) {
  std::vector<std::pair<std::string, std::string>> lines;
  size_t longest = 0;
  for (const InferredColumn& column : inferred.columns) {
    if (column.use != use) continue;
    lines.emplace_back("    - " + line(column), Comment(column.why));
    longest = std::max(longest, std::min<size_t>(lines.back().first.size(), 90));
  }
  if (lines.empty()) return "";
  std::string text = fmt::format("  {}:\n", key);
  for (const auto& [entry, comment] : lines) {
    text += (comment.empty() ? entry : fmt::format("{:{}}{}", entry, longest, comment)) + "\n";
  }
  return text;
}

std::string SchemaText(const Inferred& inferred) {
  const Schema& schema = inferred.schema;
  std::string text = "schema:\n  format: " + schema.format + "\n";
  if (TextFormats().DeclarationOf(schema.format).names_columns) {
    const std::string separator = schema.separator == "\t"  ? "tab"
                                  : schema.separator == " " ? "space"
                                                            : YamlWord(schema.separator);
    text += fmt::format("  separator: {}\n  header: {}{}\n", separator, schema.has_header,
                        schema.has_header ? "" : "  # the first line has values like the others");
    if (!schema.has_quotes) text += "  quotes: false\n";
  }
  if (!schema.columns.empty()) {
    std::vector<std::string> names;
    for (const std::string& name : schema.columns) names.push_back(YamlWord(name));
    text += fmt::format("  columns: [{}]\n", fmt::join(names, ", "));
  }
  if (!schema.label.column.empty()) {
    std::string rule;
    if (!schema.label.compare.empty()) {
      rule = ", rule: " + YamlWord(schema.label.compare + " " + schema.label.value);
    }
    text += fmt::format("  label: {{column: {}{}}}{}\n", YamlWord(schema.label.column), rule,
                        Comment(inferred.why_label));
  }
  if (!schema.weight.empty()) text += fmt::format("  weight: {}\n", YamlWord(schema.weight));
  const auto braced = [](std::string inner) { return "{" + inner + "}"; };
  text += ListText(inferred, Use::kDense, "dense",
                   [&](const InferredColumn& c) { return braced(DenseText(c)); });
  text += ListText(inferred, Use::kCategorical, "categorical",
                   [&](const InferredColumn& c) { return braced(CategoricalText(c)); });
  const std::string ignored = ListText(inferred, Use::kIgnored, "ignored",
                                       [](const InferredColumn& c) { return YamlWord(c.name); });
  text += ignored;
  if (std::ranges::count(schema.ignored, kAllOthers) > 0) {
    text += fmt::format("{}\"*\"  # and columns that other files have besides\n",
                        ignored.empty() ? "  ignored: " : "    - ");
  }
  return text + "\n";
}

std::string TablesText(const Inferred& inferred) {
  std::string text =
      "# One table a categorical column. Rows: its tokens, half as many again for tokens of later "
      "files\n# (--load --grow_dictionaries), and one for missing and one for rare ones.\n"
      "tables:\n  list:\n";
  for (const InferredColumn& column : inferred.columns) {
    if (column.use != Use::kCategorical) continue;
    const auto rows = static_cast<double>(column.categorical.rows);
    text += fmt::format("    - {{name: {}, rows: {}", YamlWord(TableNameOf(column.name)),
                        column.categorical.rows);
    if (rows > kMaxPlainRows) {
      text +=
          fmt::format(", kind: hashed, buckets: {:.0f}}}  # a row each would take more than 4 GB\n",
                      kMaxPlainRows / 2);
    } else {
      text += "}\n";
    }
  }
  return text + "\n";
}

std::string ModelText(const Inferred& inferred, const Shape& shape) {
  const size_t dense = inferred.schema.dense.size();
  return fmt::format(
      "model:\n"
      "  arch_mlp_bot: [{}, {}, {}]  # {}\n"
      "  arch_mlp_top: [{}, {}, 1]\n"
      "  arch_sparse_feature_size: {}  # floats in a row; the last width of arch_mlp_bot\n"
      "  wide: true  # a weight of each token besides: what it says by itself is learned from few "
      "lines\n"
      "  loss_function: bce\n\n",
      std::max<size_t>(dense, 1), shape.hidden, shape.dim,
      dense == 0 ? "no dense column: one input, always 0"
                 : "begins with the number of dense columns",
      2 * shape.hidden, shape.hidden, shape.dim);
}

std::string TrainingText(const Shape& shape, const DataSize& size) {
  const double steps = size.records / shape.batch;
  return fmt::format(
      "data:\n"
      "  data_randomize: blocks  # shuffled again in every epoch; needs no index in memory\n\n"
      "training:\n"
      "  mini_batch_size: {}\n"
      "  test_mini_batch_size: 4096\n"
      "  nepochs: 1  # a second time through the lines mostly makes tests worse\n"
      "  optimizer: adagrad  # large steps for rare tokens, small ones for frequent ones\n"
      "  learning_rate: {}\n"
      "  print_freq: {:.0f}\n"
      "  test_freq: {:.0f}  # with --test_fraction or --test_data: four times or five an epoch\n",
      shape.batch, shape.rate, std::max(1.0, std::floor(steps / 20)),
      std::max(1.0, std::floor(steps / 5)));
}

// A config that is refused when it is used would be a fault of the guess.
Status CheckConfig(const std::string& text) {
  Settings settings;
  RETURN_IF_ERROR(ReadYamlText(text, "the inferred config", &settings));
  settings.Complete();
  return settings.Validate(false);
}

Result<Inferred> InferFiles(const std::vector<std::string>& files, const std::string& label) {
  ASSIGN_OR_RETURN(TextChunks chunks, TextChunks::Open(files, {}, kFirstBytes));
  TextChunk head;
  ASSIGN_OR_RETURN(const bool has_text, chunks.Next(&head));
  const std::string format = has_text && label.empty() ? GuessFormat(files[0], head.bytes) : "";
  if (!format.empty()) return InferByFormat(format, files);
  ASSIGN_OR_RETURN(const TextSurvey survey, SurveyText({.files = files}));
  return InferSchema(survey, label);
}

Status Infer(const CommandLine& command_line, const std::vector<std::string>& arguments,
             const Settings& settings) {
  std::string list = fmt::format("{}", fmt::join(arguments, ","));
  if (list.empty()) list = settings.data.file;
  if (list.empty()) return UsageError("data infer: which file? rowhouse data infer FILE > my.yaml");
  if (list == "-") {
    return UsageError("data infer reads its files more than once: give a file, not standard input");
  }
  ASSIGN_OR_RETURN(const std::vector<std::string> files, ExpandFiles(list));
  ASSIGN_OR_RETURN(const Inferred inferred,
                   InferFiles(files, command_line.Value(kLabelColumnFlag)));
  for (const std::string& note : inferred.notes) {
    fmt::print(stderr, "note: {}\n", CleanText(note));
  }
  const std::string text = ConfigText(inferred, list);
  RETURN_IF_ERROR(CheckConfig(text));
  const std::string out = command_line.Value(kOutFlag);
  if (!out.empty() && out != "-") return WriteOutput(out, text);
  std::fputs(text.c_str(), stdout);
  return OkStatus();
}

REGISTER_MEMBER(AddDataCommand({.name = "infer",
                                .arguments = "FILE ... > my.yaml",
                                .what = "guesses a config from a sample of the files",
                                .run = Infer}));

}  // namespace

std::string YamlWord(std::string_view text) {
  static constexpr std::array<std::string_view, 12> kNoText = {
      "true", "false", "yes", "no", "on", "off", "null", "y", "n", "~", ".nan", ".inf"};
  const bool is_plain = !text.empty() && std::isalpha(static_cast<unsigned char>(text[0])) != 0 &&
                        std::ranges::all_of(text, IsPlainCharacter) &&
                        std::ranges::count(kNoText, LowerCase(text)) == 0;
  if (is_plain) return std::string(text);
  std::string quoted = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      quoted += {'\\', c};
    } else if (byte < ' ' || byte == 0x7f) {
      quoted += fmt::format("\\x{:02x}", byte);
    } else {
      quoted += c;
    }
  }
  return quoted + "\"";
}

std::string ConfigText(const Inferred& inferred, const std::string& files) {
  const DataSize& size = inferred.size;
  const Shape& shape = ShapeFor(size.records);
  return HeadText(inferred, files) + SchemaText(inferred) + TablesText(inferred) +
         ModelText(inferred, shape) + TrainingText(shape, size);
}

}  // namespace rowhouse
