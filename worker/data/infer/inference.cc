#include "worker/data/infer/inference.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>

#include "worker/data/dataset.h"
#include "worker/data/text/text_format.h"

namespace rowhouse {
namespace {

using Use = InferredColumn::Use;

// Different integers of a categorical column, unless it is named one.
constexpr uint64_t kMaxCodes = 16;
constexpr double kMaxInDictionary = 1e6;  // tokens; more are hashed
constexpr double kFewTokens = 100;        // a dictionary of fewer keeps tokens that occur once
constexpr uint64_t kBuckets = 32;         // of a column of numbers
constexpr uint64_t kMinBucketed = 1000;   // numbers; of fewer nobody knows how they are spread
// On few lines the dense layers learn little of a number whose effect does not simply rise with it,
// or that is missing in many lines; a weight for each of a few buckets is learned. Chosen on 10,000
// and 30,000 of Criteo's lines (docs/your_data.md); more were not tried.
constexpr double kFewRecords = 5e4;
constexpr uint64_t kBucketsOfFew = 16;
constexpr double kRoomOfHash = 1.3;      // rows for each token of a hashed column
constexpr double kRoomOfEstimate = 1.2;  // rows for each token of a dictionary, if they are guessed
constexpr double kRoomToGrow = 1.5;      // rows for each token of a dictionary

// What whole numbers are names of.
constexpr std::array<std::string_view, 14> kIdWords = {
    "id",    "ids", "uid",      "user", "customer", "item", "product",
    "movie", "ad",  "campaign", "site", "code",     "zip",  "category"};

// Chooses a dictionary or hashing, and rows, for a column with these tokens in the surveyed
// records; says so in column->why. Keeps column->categorical's other members.
void ChooseIds(const DistinctTokens& tokens, const DataSize& size, InferredColumn* column) {
  const double seen = static_cast<double>(tokens.distinct());
  const double all =
      static_cast<double>(tokens.occurrences()) * size.records / static_cast<double>(size.surveyed);
  column->distinct = size.is_whole ? seen : tokens.DistinctAmong(all);
  column->why = fmt::format("{}{} distinct in {} lines", tokens.is_exact() ? "" : "about ",
                            WrittenCount(seen), WrittenCount(size.surveyed));
  if (!size.is_whole) {
    column->why += fmt::format(", about {} in all", WrittenCount(column->distinct));
  }
  CategoricalColumn& made = column->categorical;
  if (column->distinct > kMaxInDictionary) {
    made.ids = "hash";
    made.rows = static_cast<uint64_t>(column->distinct * kRoomOfHash) + KeptRows(made);
    return;
  }
  made.ids = "dictionary";
  made.rare_row = true;
  double kept = column->distinct;
  if (column->distinct > kFewTokens && tokens.once() > 0) {
    // So that the row of rare tokens is trained, too.
    made.min_count = 2;
    if (size.is_whole) kept -= static_cast<double>(tokens.once());
    column->why += fmt::format(", {} of them once", WrittenCount(tokens.once()));
  }
  // Tokens beyond a guess that was too low share the row of rare ones. A column without any token
  // has room for one: a table has a row beside those that are kept.
  const double guessed = size.is_whole && tokens.is_exact() ? 1.0 : kRoomOfEstimate;
  made.rows =
      std::max<uint64_t>(1, static_cast<uint64_t>(kept * guessed * kRoomToGrow)) + KeptRows(made);
}

bool MeansId(const ColumnSurvey& column) {
  return std::ranges::any_of(WordsOfName(column.name), [](const std::string& word) {
    return std::ranges::count(kIdWords, word) > 0;
  });
}

bool MeansWeight(const ColumnSurvey& column) {
  const std::string name = fmt::format("{}", fmt::join(WordsOfName(column.name), "_"));
  return name == "weight" || name == "sample_weight";
}

InferredColumn Ignored(std::string why) { return {.use = Use::kIgnored, .why = std::move(why)}; }

// Seconds or milliseconds since 1970, of years 1990 to 2060.
bool AreEpochTimes(const ColumnSurvey& column) {
  if (!column.are_integers()) return false;
  return (column.min > 6.3e8 && column.max < 2.9e9) || (column.min > 6.3e11 && column.max < 2.9e12);
}

bool NumbersTheLines(const ColumnSurvey& column) {
  const double values = static_cast<double>(column.values);
  return column.are_integers() && column.is_ascending && values > 20 &&
         column.max - column.min < 1.5 * values;
}

bool IsDense(const ColumnSurvey& column) {
  if (!column.are_numbers()) return false;
  if (!column.are_integers()) return true;
  // Numbers too long for a quantity are names of something.
  return column.tokens.distinct() > kMaxCodes && !MeansId(column) &&
         std::max(column.max, -column.min) < 1e9;
}

InferredColumn Dense(const ColumnSurvey& column) {
  InferredColumn found{.use = Use::kDense};
  const double median = column.Quantile(0.5), high = column.Quantile(0.99);
  // A long tail: a few numbers are far above most.
  const bool has_tail = column.min >= 0 && high > 10 * std::max(median, 0.1);
  found.dense.transform = has_tail ? "log1p" : "standardise";
  found.why = fmt::format("numbers from {:.6g} to {:.6g}, half of them up to {:.6g}", column.min,
                          column.max, median);
  if (column.missing > 0) {
    found.dense.missing = static_cast<float>(std::round(median * 1000) / 1000);
    found.why += fmt::format("; missing {} times: the median", column.missing);
  }
  if (column.strays() > 0) {
    found.why += fmt::format("; {} lines have no number here, such as \"{}\"",
                             WrittenCount(column.strays()), column.first_stray);
  }
  return found;
}

// Buckets of a column of numbers of few lines, or of numbers that are skewed whatever is made of
// them; |skewness| above 1 is high (Bulmer, Principles of Statistics, 1979). Else a column without
// edges.
InferredColumn Buckets(const ColumnSurvey& column, const DataSize& size) {
  InferredColumn found{.use = Use::kCategorical, .name = column.name};
  const double skewness = column.Skewness(false), of_log = column.Skewness(true);
  const bool is_skewed = std::min(std::abs(skewness), std::abs(of_log)) > 1;
  const bool are_few = size.records <= kFewRecords;
  if (!(is_skewed || are_few) || column.numbers < kMinBucketed) return found;
  CategoricalColumn& made = found.categorical;
  made.name = column.name;
  made.missing_row = true;
  const uint64_t buckets = are_few ? kBucketsOfFew : kBuckets;
  made.edges = fmt::format("quantiles({})", buckets);
  made.rows = buckets + KeptRows(made);
  found.why = is_skewed ? fmt::format("numbers that are skewed ({:.2g}), after log1p, too ({:.2g})",
                                      skewness, of_log)
                        : "few lines: a weight for each range of these numbers";
  return found;
}

// The buckets of a dense column that was just added, where it should have some.
void AddBuckets(const ColumnSurvey& column, Inferred* found) {
  InferredColumn buckets = Buckets(column, found->size);
  if (!buckets.categorical.is_bucket()) return;
  found->schema.categorical.push_back(buckets.categorical);
  found->columns.push_back(std::move(buckets));
}

// Which of kInnerSeparators stands between the tokens of a field, or -1. Lists are made of tokens
// that come back in other lists; texts are not.
int SeparatorOf(const ColumnSurvey& column) {
  int best = -1;
  double fewest = 0;
  for (size_t i = 0; i < ColumnSurvey::kInnerSeparators.size(); ++i) {
    const ColumnSurvey::Pieces& pieces = column.pieces[i];
    const double share = static_cast<double>(pieces.fields) / static_cast<double>(column.values);
    const double tokens = static_cast<double>(pieces.tokens.distinct());
    const double fields = static_cast<double>(column.tokens.distinct());
    const char separator = ColumnSurvey::kInnerSeparators[i];
    const bool is_usual = separator == '|' || separator == ';';
    if (share < (is_usual ? 0.05 : 0.2) || tokens > (is_usual ? 2.0 : 0.5) * fields) continue;
    if (best >= 0 && tokens >= fewest) continue;
    best = static_cast<int>(i);
    fewest = tokens;
  }
  return best;
}

InferredColumn Categorical(const ColumnSurvey& column, const DataSize& size, int separator) {
  InferredColumn found{.use = Use::kCategorical};
  CategoricalColumn& made = found.categorical;
  const DistinctTokens* tokens = &column.tokens;
  if (separator >= 0) {
    const ColumnSurvey::Pieces& pieces = column.pieces[static_cast<size_t>(separator)];
    tokens = &pieces.tokens;
    made.separator = std::string(1, ColumnSurvey::kInnerSeparators[static_cast<size_t>(separator)]);
    if (pieces.weighted * 20 >= pieces.pieces * 19) made.weight_separator = ":";
  } else if (column.are_plain_integers()) {
    made.token = "integer";
  }
  made.missing_row = column.missing > 0;
  ChooseIds(*tokens, size, &found);
  if (separator >= 0) found.why += fmt::format("; lists between \"{}\"", made.separator);
  if (!made.weight_separator.empty()) found.why += ", each token with a weight";
  if (made.missing_row) found.why += fmt::format("; missing {} times", column.missing);
  return found;
}

InferredColumn InferColumn(const ColumnSurvey& column, const TextSurvey& survey, bool has_weight) {
  const double distinct = static_cast<double>(column.tokens.distinct());
  const double values = static_cast<double>(column.values);
  if (column.values == 0 && column.name.empty()) {
    return Ignored("has neither name nor values: lines end with a separator");
  }
  if (column.values == 0) return Ignored("empty in all lines");
  if (column.name.empty()) return Ignored("has no name; it numbers the lines, as pandas writes");
  if (column.are_dates()) return Ignored("dates");
  if (distinct == 1 && column.missing == 0) return Ignored("the same in all lines");
  if (AreEpochTimes(column)) return Ignored("times since 1970");
  const bool is_weight = !has_weight && MeansWeight(column) && column.are_numbers() &&
                         column.min >= 0 && column.missing == 0;
  if (is_weight) return {.use = Use::kWeight};
  if (NumbersTheLines(column)) return Ignored("numbers the lines");
  if (IsDense(column)) return Dense(column);
  if (column.are_decimal_commas() && !MeansId(column)) {
    return Ignored(fmt::format("numbers with decimal commas, such as {}, which are not read",
                               column.texts.begin()->first));
  }
  const int separator = SeparatorOf(column);
  if (separator < 0 && values >= 1000 && distinct > 0.95 * values) {
    return Ignored(fmt::format("different in nearly every line: {} in {} lines",
                               WrittenCount(distinct), WrittenCount(values)));
  }
  return Categorical(column, survey.size, separator);
}

// What a reader of the config's comments alone might overlook.
void AddNotes(const ColumnSurvey& column, const InferredColumn& inferred, Inferred* found) {
  const auto note = [&](const std::string& what) {
    found->notes.push_back(fmt::format("column \"{}\": {}", column.name, what));
  };
  if (inferred.use == Use::kDense && column.strays() > 0) {
    note(fmt::format(
        "{} of {} lines have \"{}\" or the like in place of a number, which cannot be "
        "read: mend them, or leave them out by --max_bad_lines",
        WrittenCount(column.strays()), WrittenCount(found->size.surveyed), column.first_stray));
  }
  // A slip of the pen in a column of whole numbers makes tokens of them all.
  if (inferred.use == Use::kCategorical && column.strays() > 0 &&
      column.strays() * 100 <= column.values) {
    note(fmt::format(
        "all but {} of {} values are whole numbers, and \"{}\"{} is none, so all are tokens: if "
        "they are numbers, mend it and infer again",
        WrittenCount(column.strays()), WrittenCount(column.values), column.first_stray,
        column.first_stray_line == 0 ? "" : fmt::format(" in line {}", column.first_stray_line)));
  }
  if (inferred.use == Use::kIgnored && column.are_decimal_commas()) {
    note(
        "numbers with decimal commas are not read, so it is left out: write points (3.5) to use "
        "it");
  }
  if (column.not_utf8 > 0) {
    note(
        fmt::format("{} fields are not UTF-8, Latin-1 perhaps: they are tokens byte by byte, and "
                    "others than the same text in UTF-8; iconv -f latin1 -t utf-8 converts a file",
                    WrittenCount(column.not_utf8)));
  }
}

Status NothingCategorical(const TextSurvey& survey, const Schema& schema) {
  std::vector<std::string> numbers;
  for (const DenseColumn& column : schema.dense) numbers.push_back(column.name);
  return UsageError(
      "\"{}\": no column looks categorical, and a model has one table at least: {}. If one of them "
      "is a name of something (a user, an article, a place), write the config by hand with it in "
      "categorical (configs/own_data.yaml)",
      survey.first_file,
      schema.ignored.empty()
          ? fmt::format("all but the label are numbers, {}", fmt::join(numbers, ", "))
          : fmt::format("numbers are {}; left out are {}",
                        numbers.empty() ? "none" : fmt::format("{}", fmt::join(numbers, ", ")),
                        fmt::join(schema.ignored, ", ")));
}

// ---- By a format -----------------------------------------------------------------------------

// What the samples of one format have in each column.
class FormatSurveyor {
 public:
  FormatSurveyor(std::string format, std::vector<std::string> files, uint64_t most_bytes)
      : name_(std::move(format)), files_(std::move(files)), most_bytes_(most_bytes) {}

  Result<Inferred> Survey() {
    ASSIGN_OR_RETURN(format_, Make(Schema{.format = name_}));
    schema_ = format_->schema();
    if (!declaration_.beside.empty()) RETURN_IF_ERROR(AddColumnsBeside());
    tokens_.resize(schema_.categorical.size());
    missing_.resize(schema_.categorical.size());
    for (const DenseColumn& column : schema_.dense) numbers_.emplace_back(column.name);
    RETURN_IF_ERROR(Read());
    if (size_.surveyed == 0) return UsageError("\"{}\" has no sample", files_.front());
    if (ones_ == 0 || ones_ == size_.surveyed) {
      return UsageError(
          "\"{}\": the label is {} in all {} lines, so there is nothing to learn: give a file that "
          "has other samples, too",
          files_.front(), ones_ == 0 ? 0 : 1, size_.surveyed);
    }
    return Describe();
  }

 private:
  Result<std::unique_ptr<TextFormat>> Make(const Schema& schema) const {
    DatasetOptions options;
    options.text.schema = schema;
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
    ASSIGN_OR_RETURN(TextChunks chunks, TextChunks::Open(files_, format_->records()));
    Batch raw;
    std::vector<BadLine> bad;
    const auto add = [&](const TextChunk& chunk) {
      RETURN_IF_ERROR(format_->Parse(chunk, &raw, &bad));
      if (size_.surveyed + raw.samples == 0 && !bad.empty()) {
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
    size_.surveyed += raw.samples;
    for (const float label : raw.labels) ones_ += label >= 0.5f;
    for (size_t i = 0; i < raw.dense.size(); ++i) {
      ColumnSurvey& column = numbers_[i % numbers_.size()];
      if (std::isnan(raw.dense[i])) {
        ++column.missing;
      } else {
        column.AddNumber(raw.dense[i]);
      }
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
    found.why_label = fmt::format(
        "{:.3g} % are 1", 100.0 * static_cast<double>(ones_) / static_cast<double>(size_.surveyed));
    for (size_t i = 0; i < schema_.dense.size(); ++i) {
      InferredColumn column{.use = Use::kDense, .name = schema_.dense[i].name};
      column.dense = schema_.dense[i];
      if (numbers_[i].missing > 0)
        column.why = fmt::format("missing {} times", numbers_[i].missing);
      found.schema.dense.push_back(column.dense);
      found.columns.push_back(column);
      AddBuckets(numbers_[i], &found);
    }
    for (size_t k = 0; k < schema_.categorical.size(); ++k) {
      InferredColumn column{.use = Use::kCategorical, .name = schema_.categorical[k].name};
      column.categorical = schema_.categorical[k];
      if (!declaration_.beside.empty() && tokens_[k].occurrences() == 0) continue;
      column.categorical.missing_row = missing_[k] > 0 && column.categorical.separator.empty();
      ChooseIds(tokens_[k], size_, &column);
      if (missing_[k] > 0) column.why += fmt::format("; missing {} times", missing_[k]);
      found.schema.categorical.push_back(column.categorical);
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
  std::vector<uint64_t> missing_;
  std::vector<ColumnSurvey> numbers_;  // of each dense column
};

}  // namespace

std::string WrittenCount(double count) {
  if (count >= 1e9) return fmt::format("{:.1f} billion", count / 1e9);
  if (count >= 1e6) return fmt::format("{:.1f} million", count / 1e6);
  const std::string digits = fmt::format("{:.0f}", count);
  std::string text;
  for (size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % 3 == 0) text += ',';
    text += digits[i];
  }
  return text;
}

std::vector<std::string> WordsOfName(std::string_view name) {
  std::vector<std::string> words(1);
  bool was_lower = false;
  for (const char c : name) {
    const auto letter = static_cast<unsigned char>(c);
    const bool begins = std::isupper(letter) != 0 && was_lower;
    if (std::isalnum(letter) == 0 || begins) words.emplace_back();
    if (std::isalnum(letter) != 0) words.back() += static_cast<char>(std::tolower(letter));
    was_lower = std::islower(letter) != 0;
  }
  std::erase(words, "");
  return words;
}

Result<Inferred> InferSchema(const TextSurvey& survey, const std::string& label) {
  ASSIGN_OR_RETURN(const LabelGuess guess, GuessLabel(survey, label));
  Inferred found{.why_label = guess.why, .size = survey.size};
  Schema& schema = found.schema;
  schema.format = "delimited";
  schema.separator = std::string(1, survey.separator);
  schema.has_quotes = survey.has_quotes;
  schema.has_header = survey.has_header;
  schema.label = guess.rule;
  for (size_t i = 0; i < survey.columns.size(); ++i) {
    const ColumnSurvey& column = survey.columns[i];
    if (!survey.has_header) schema.columns.push_back(column.name);
    InferredColumn inferred = i == guess.column
                                  ? InferredColumn{.use = Use::kLabel}
                                  : InferColumn(column, survey, !schema.weight.empty());
    inferred.name = inferred.dense.name = inferred.categorical.name = column.name;
    if (inferred.use == Use::kWeight) schema.weight = column.name;
    if (inferred.use == Use::kDense) schema.dense.push_back(inferred.dense);
    if (inferred.use == Use::kCategorical) schema.categorical.push_back(inferred.categorical);
    if (inferred.use == Use::kIgnored) schema.ignored.push_back(column.name);
    AddNotes(column, inferred, &found);
    found.columns.push_back(std::move(inferred));
    if (found.columns.back().use == Use::kDense) AddBuckets(column, &found);
  }
  if (std::ranges::all_of(schema.categorical, &CategoricalColumn::is_derived))
    return NothingCategorical(survey, schema);
  // A column that tomorrow's file has besides is no reason to stop.
  if (survey.has_header) schema.ignored.push_back(kAllOthers);
  return found;
}

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
  return FormatSurveyor(format, files, most_bytes).Survey();
}

}  // namespace rowhouse
