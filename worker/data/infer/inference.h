// Inference: a schema guessed from a sample of text, with the reason of each guess in words.
//
// Text of unknown columns is surveyed first: what separates its fields, whether a header names
// them, and what each column's fields look like. Small files are read whole. Of large ones the
// beginning is read, and pieces spread over the rest; of compressed ones the beginning only. Text
// of a known form is read by its format. Threads: one thread.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "common/status.h"
#include "worker/data/schema.h"
#include "worker/data/text/text_chunks.h"

namespace rowhouse {

// ---- The survey -----------------------------------------------------------------------------

// How many different tokens there are, and how many occur once, in bounded memory: exact up to
// kMaxKept different ones. Beyond, tokens are kept whose hash ends in d zero bits, and d grows as
// they become too many (adaptive sampling: Wegman; Flajolet, Computing 43, 1990); the standard
// error of an estimate is then about 1.2 / sqrt(kMaxKept), 0.5 %.
class DistinctTokens {
 public:
  static constexpr size_t kMaxKept = size_t{1} << 16;

  void Add(std::string_view token);
  void AddKey(uint64_t key);  // of tokens that are numbers already

  uint64_t occurrences() const { return occurrences_; }
  uint64_t distinct() const { return kept_.size() << depth_; }
  uint64_t once() const;  // tokens that occur once
  bool is_exact() const { return depth_ == 0; }

  // The different tokens to expect among `occurrences`, if they go on as before: by Heaps' law,
  // d(n) proportional to n^b, with b from the second half of what was added. distinct() if fewer.
  double DistinctAmong(double occurrences) const;

 private:
  void AddHash(uint64_t hash);

  std::unordered_map<uint64_t, uint32_t> kept_;  // hash, occurrences
  int depth_ = 0;
  uint64_t occurrences_ = 0;
  std::vector<std::pair<uint64_t, uint64_t>> history_;  // distinct() after 2^k occurrences
};

// What the fields of one column look like: numbers, tokens, lists of tokens, dates.
struct ColumnSurvey {
  // Texts that may stand between the tokens of a field.
  static constexpr std::string_view kInnerSeparators = "|;,/^ ";

  // How fields split at one of kInnerSeparators.
  struct Pieces {
    uint64_t fields = 0;    // that have the separator
    uint64_t pieces = 0;    // of all fields
    uint64_t weighted = 0;  // pieces such as "token:0.5"
    DistinctTokens tokens;  // the pieces without their weights
  };

  explicit ColumnSurvey(std::string of_name) : name(std::move(of_name)) {}

  // `line`: of its file; 0: not known.
  void Add(std::string_view field, uint64_t line = 0);
  // A number of a format that reads its own: what is known of numbers, and nothing of their text.
  void AddNumber(double value);

  // Numbers, but for strays: infinities, or, among numbers with fractions, one field in a hundred.
  bool are_numbers() const;
  bool are_integers() const { return are_numbers() && integers == numbers; }  // 3.0 is one, too
  // Integers of 64 bits that stay the same when they are read and written as numbers: no 007, +1 or
  // 3.0.
  bool are_plain_integers() const { return values > 0 && integers == values && !has_odd_integers; }
  uint64_t strays() const { return values - numbers; }  // fields that are no finite numbers
  // Numbers such as 3,5, with or without whole ones among them.
  bool are_decimal_commas() const {
    return decimal_commas > 0 && numbers + decimal_commas == values;
  }
  bool are_dates() const { return values > 0 && dates == values; }
  double mean() const { return numbers == 0 ? 0 : sum / static_cast<double>(numbers); }
  double Quantile(double share) const;  // of the numbers, from an even sample of them
  // The third standardised moment of that sample, of log(max(x, 0) + 1) if after_log1p; 0 of equal
  // numbers.
  double Skewness(bool after_log1p) const;

  std::string name;
  uint64_t values = 0;   // fields that are not missing
  uint64_t missing = 0;  // IsMissingNumber (worker/data/text/field_text.h)
  // Of the values.
  uint64_t numbers = 0, integers = 0, infinities = 0, decimal_commas = 0, dates = 0, not_utf8 = 0;
  std::string first_stray;
  uint64_t first_stray_line = 0;  // 0: not known
  bool has_odd_integers = false;
  bool is_ascending = true;          // numbers, each greater than the one before
  double min = 0, max = 0, sum = 0;  // of the numbers
  DistinctTokens tokens;
  // The first different texts, at most 33, and how often each occurs.
  std::map<std::string, uint64_t> texts;
  std::array<Pieces, kInnerSeparators.size()> pieces;

 private:
  void AddNumber(std::string_view field, double value);
  void AddPieces(std::string_view field);

  double last_ = 0;
  std::vector<double> sample_;  // every stride_-th number
  uint64_t stride_ = 1;
};

// How much was surveyed.
struct DataSize {
  double records = 0;  // in all, estimated unless is_whole
  uint64_t surveyed = 0;
  bool is_whole = true;
  uint64_t odd_records = 0;    // besides, that could not be read
  std::string first_odd = {};  // what is wrong with the first of them
};

struct TextSurveyOptions {
  std::vector<std::string> files;            // paths, without patterns
  uint64_t most_bytes = uint64_t{64} << 20;  // of text, that are read from the beginning
  uint64_t pieces = 32;                      // of the rest
  uint64_t piece_bytes = uint64_t{1} << 19;
};

struct TextSurvey {
  char separator = ',';
  bool has_header = true;
  bool has_quotes = true;
  std::vector<ColumnSurvey> columns;  // without a header they are named c1, c2, ...
  DataSize size;  // odd records: of another number of fields, or with stray quotes
  std::string first_file;
};

// kUsage if a file cannot be read, is no text, is empty, has no separator, or has a column name
// twice.
Result<TextSurvey> SurveyText(const TextSurveyOptions& options);

// Hands the chunks of the first `most_bytes` of text to `add`, which counts size->surveyed; then
// sets size->is_whole and size->records.
Status ReadBeginning(TextChunks* chunks, uint64_t most_bytes,
                     const std::function<Status(const TextChunk&)>& add, DataSize* size);

// ---- The guess ------------------------------------------------------------------------------

struct InferredColumn {
  enum class Use { kLabel, kWeight, kDense, kCategorical, kIgnored };
  Use use = Use::kIgnored;
  std::string name;
  DenseColumn dense;              // of use kDense
  CategoricalColumn categorical;  // of use kCategorical, or buckets of a number; rows: of its table
  double distinct = 0;            // of use kCategorical: tokens to expect in all of the data
  std::string why;                // "3 distinct in 200,000 lines"
};

struct Inferred {
  Schema schema;
  std::string why_label;
  std::vector<InferredColumn> columns;  // in the order of the file
  DataSize size;
  std::vector<std::string> notes = {};  // sentences for the one who asked
};

// Of delimited text. `label`: name of the label's column, "" to guess it. kUsage as GuessLabel, and
// if no column is categorical.
Result<Inferred> InferSchema(const TextSurvey& survey, const std::string& label);

// The format that says that it looks like the file, by the file's name and first line
// (TextFormatDeclaration::looks_so); "" if none does.
std::string GuessFormat(const std::string& file, std::string_view head);

// The format's columns, with ids and rows chosen by the samples in the first most_bytes of text.
// kUsage if the files cannot be read by the format.
Result<Inferred> InferByFormat(const std::string& format, const std::vector<std::string>& files,
                               uint64_t most_bytes = uint64_t{256} << 20);

// ---- Parts of it ----------------------------------------------------------------------------

// "12,345" and, from a million on, "1.2 million".
std::string WrittenCount(double count);
inline std::string WrittenCount(uint64_t count) { return WrittenCount(static_cast<double>(count)); }

// The words of a name in lower case: `age_group` is age, group; `userId` is user, id.
std::vector<std::string> WordsOfName(std::string_view name);

// Which column is the label, and by which rule it becomes 0 or 1.
struct LabelGuess {
  size_t column = 0;
  LabelRule rule;
  std::string why;  // "0 or 1; 23 % are 1"
};
// `name`: of the column, "" to guess it: by name first, then the one with two values. kUsage if
// there is no such column, if none looks like a label, or if its values can be none.
Result<LabelGuess> GuessLabel(const TextSurvey& survey, const std::string& name);

}  // namespace rowhouse
