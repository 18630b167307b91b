// SampleFields: what the fields of a record become: a label, a weight, dense values and tokens, by
// the schema. All formats whose columns have names use it.
//
// Dense column. A number (field_text.h); a field that says that there is none is NaN.
// Categorical column. A token, or with a separator several, of which empty ones are passed over; a
//   field without a token is an empty bag. If tokens are integers or hexadecimal, so is a
//   field that says that there is no number. With a weight separator, the number behind the last
//   one in a token is its weight, which is 1 where there is none.
// Label. By the schema's rule: LabelReader, which libsvm uses, too. All formats use BadRecords.
//
// Threads: const after construction; any thread. A BadRecords: one.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/status.h"
#include "worker/data/batch.h"
#include "worker/data/mapping/token_key.h"
#include "worker/data/schema.h"
#include "worker/data/text/text_format.h"

namespace rowhouse {

// The label of a sample from a field, by the schema's rule. The rule's value and the field are
// compared as numbers if both are, else as texts, which can only be equal or not. Without a
// comparison the field is a number in [0, 1].
class LabelReader {
 public:
  // kUsage for a comparison that there is not.
  static Result<LabelReader> Make(const LabelRule& rule);

  // Nothing for a field that is no label by the rule.
  std::optional<float> Of(std::string_view field) const;

  // What a label must be, as the rest of "expected ...".
  std::string expected() const;

 private:
  LabelRule rule_;
  std::optional<double> value_;  // of the rule, if it is a number
};

// What is wrong with a record, and where.
struct FieldFault {
  size_t field = 0;     // number of the field
  std::string message;  // `label is "x", expected ...`
};

class SampleFields {
 public:
  // For records whose fields are the columns `names`. `where`, for messages, is what gives the
  // names: "FILE:1". kUsage for a column of the schema that is not there, with the nearest name;
  // for names that are there twice; and, with `are_all_named`, for a column that nothing in the
  // schema names. Without needs_label, columns of label and weight may be missing.
  static Result<SampleFields> Make(const Schema& schema, const std::vector<std::string>& names,
                                   const std::string& where, bool needs_label, bool are_all_named);

  size_t fields() const { return names_.size(); }
  const std::vector<std::string>& names() const { return names_; }

  // Empties *batch.
  void Begin(Batch* batch) const;

  // Adds a sample. A fault leaves *batch as it was.
  std::optional<FieldFault> Add(std::span<const std::string_view> fields, Batch* batch) const;

 private:
  struct Token {
    size_t field;
    TokenType type;
    std::string separator, weight_separator;
  };

  std::optional<FieldFault> AddAll(std::span<const std::string_view> fields, Batch* batch) const;
  std::optional<FieldFault> AddTokens(const Token& column, std::string_view field,
                                      Bags* bags) const;
  std::optional<FieldFault> AddToken(const Token& column, std::string_view text, Bags* bags) const;
  FieldFault Fault(size_t field, std::string_view text, std::string_view expected) const;

  std::vector<std::string> names_;
  std::optional<LabelReader> label_reader_;
  std::optional<size_t> label_, weight_;
  std::vector<size_t> dense_;
  std::vector<Token> tokens_;
};

// What is wrong with a line, and at which of its bytes.
struct LineFault {
  size_t position = 0;
  std::string message;
};

// Bad records of a chunk as messages: "FILE:LINE:COLUMN: what is wrong; mend or remove the line".
class BadRecords {
 public:
  BadRecords(const TextChunk& chunk, std::vector<BadLine>* bad) : chunk_(chunk), bad_(*bad) {}

  // `record` and `position`: bytes of the chunk, where the record begins and where the mistake is.
  // Calls come in the order of records. `message` says what is wrong; the first record of a file
  // gets a guess of what the file is.
  void Add(size_t record, size_t position, std::string_view message);

  // An empty line before other lines.
  void AddEmpty(size_t record);

 private:
  // The line in the file that a byte of the chunk is on.
  uint64_t LineOf(size_t position);

  const TextChunk& chunk_;
  std::vector<BadLine>& bad_;
  size_t counted_to_ = 0;  // line ends before this byte are in lines_
  uint64_t lines_ = 0;
};

}  // namespace rowhouse
