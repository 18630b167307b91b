// Inference: a schema guessed from a look at text, with the reason of each guess in words.
//
// Text of unknown columns is looked at first: what separates its fields, whether a header names
// them, and what each column's fields look like. Small files are read whole. Of large ones the
// beginning is read, and pieces spread over the rest; of compressed ones the beginning only. Text
// of a known form is read by its format. Threads: one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "common/status.h"
#include "worker/data/infer/column_look.h"
#include "worker/data/schema.h"
#include "worker/data/text/text_chunks.h"

namespace rowhouse {

// ---- The look -------------------------------------------------------------------------------

// How much was looked at.
struct DataSize {
  double records = 0;  // in all, estimated unless is_whole
  uint64_t looked_at = 0;
  bool is_whole = true;
  uint64_t odd_records = 0;    // besides, that could not be read
  std::string first_odd = {};  // what is wrong with the first of them
};

struct TextLookOptions {
  std::vector<std::string> files;            // paths, without patterns
  uint64_t most_bytes = uint64_t{64} << 20;  // of text, that are read from the beginning
  uint64_t pieces = 32;                      // of the rest
  uint64_t piece_bytes = uint64_t{1} << 19;
};

struct TextLook {
  char separator = ',';
  bool has_header = true;
  bool has_quotes = true;
  std::vector<ColumnLook> columns;  // without a header they are named c1, c2, ...
  DataSize size;  // odd records: of another number of fields, or with stray quotes
  std::string first_file;
};

// kUsage if a file cannot be read, is no text, is empty, has no separator, or has a column name
// twice.
Result<TextLook> LookAtText(const TextLookOptions& options);

// Hands the chunks of the first `most_bytes` of text to `add`, which counts size->looked_at; then
// sets size->is_whole and size->records.
Status ReadBeginning(TextChunks* chunks, uint64_t most_bytes,
                     const std::function<Status(const TextChunk&)>& add, DataSize* size);

// ---- The guess ------------------------------------------------------------------------------

struct InferredColumn {
  enum class Use { kLabel, kWeight, kDense, kCategorical, kIgnored };
  Use use = Use::kIgnored;
  std::string name;
  DenseColumn dense;              // of use kDense
  CategoricalColumn categorical;  // of use kCategorical; rows: of its table
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
Result<Inferred> InferSchema(const TextLook& look, const std::string& label);

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
Result<LabelGuess> GuessLabel(const TextLook& look, const std::string& name);

// Chooses a dictionary or hashing, and rows, for a column with these tokens in the records looked
// at; says so in column->why. Keeps column->categorical's other members.
void ChooseIds(const DistinctTokens& tokens, const DataSize& size, InferredColumn* column);

// Puts the column where the schema has columns of its use.
void AddToSchema(const InferredColumn& column, Schema* schema);

}  // namespace rowhouse
