// Schema: which columns the user's data have, and what the model sees of each. It is section
// `schema` of the YAML file, and part of a model's preprocessing
// (worker/data/mapping/preprocessing.h).
//
// Threads: plain data and pure functions.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "common/status.h"

namespace rowhouse {

// A number of a sample. What is missing (an empty field) is replaced by `missing` first, then
// `transform` is applied:
//   as_is        x
//   log1p        log(max(x, 0) + 1), in float32, as DLRM does for Criteo
//   standardise  (x - mean) / standard deviation, both of the data that the vocabulary was made
//                from; 0 if the deviation is 0
struct DenseColumn {
  std::string name;
  std::string transform = "as_is";
  float missing = 0.0f;

  bool operator==(const DenseColumn&) const = default;
};

// Tokens that become ids of the table of the same name. A token is first made a 64-bit key:
//   string   XXH3-64 of its bytes; two tokens of 10^8 have the same key with probability 3e-4
//   integer  a decimal number of 64 bits, signed or not
//   hex      up to 16 hexadecimal digits, as in Criteo's data
// then the key an id:
//   hash        first + mixed key modulo (rows - first)
//   modulo      first + key modulo (rows - first)
//   dictionary  numbered from `first` in order of first appearance; needs as many rows as there are
//               different tokens that occur at least min_count times
// where `first` is the number of rows kept for others: 1 if missing_row, then 1 if rare_row.
//
// Tokens of two sorts are not in the text (worker/data/buckets.h):
//   edges  buckets of a column of numbers, which may be dense as well. Bucket b has row first + b;
//          a missing number has the missing row, which buckets always have. The table needs one row
//          more than there are buckets
//   cross  pairs of the tokens of two columns of the schema, each pair of a sample one token; keys
//          of pairs become ids as other keys do
struct CategoricalColumn {
  std::string name;
  std::string token = "string";  // string | integer | hex
  std::string ids = "hash";      // hash | modulo | dictionary
  uint64_t rows = 0;             // of its table; Settings::Complete() fills it in
  uint64_t max_ind_range = 0;    // > 0: keys are taken modulo this first
  uint64_t min_count = 1;        // dictionary: rarer tokens are not in it
  bool missing_row = false;      // row 0 is for samples without a token; false: their bag is empty
  // dictionary: the next row is for tokens that are not in it; false: these are left out of the bag
  bool rare_row = false;
  std::string separator = {};         // between the tokens of a sample; "": there is one token
  std::string weight_separator = {};  // between a token and its weight; "": no weights
  std::string edges = {};  // of buckets, as ReadEdges reads them; "": the column is none of buckets
  std::string of = {};     // buckets: the column of the numbers; "": that of this one's name
  // Buckets, in a preprocessing: the edges themselves, ascending.
  std::vector<float> edge_values = {};
  std::vector<std::string> cross = {};  // names of two categorical columns; empty: no cross

  bool is_bucket() const { return !edges.empty(); }
  bool is_cross() const { return !cross.empty(); }
  bool is_derived() const { return is_bucket() || is_cross(); }
  const std::string& numbers() const { return of.empty() ? name : of; }
  bool operator==(const CategoricalColumn&) const = default;
};

// The label of a sample from the text of a column: 1 or 0 by a comparison, or the number as it is,
// which must be in [0, 1].
struct LabelRule {
  std::string column;
  std::string compare = {};  // "", "==", "!=", ">", ">=", "<", "<="
  std::string value = {};    // a number, or, with == and !=, any text

  bool operator==(const LabelRule&) const = default;
};

// Synthetic bags of one-hot columns (worker/data/mapping/multi_hot.h).
struct MultiHot {
  std::vector<uint64_t> sizes = {};  // ids of a bag, of each column that is not derived; empty: off
  std::string distribution = {};     // of the ids that are made up: uniform | pareto

  bool is_on() const { return !sizes.empty(); }
  bool operator==(const MultiHot&) const = default;
};

// In Schema::ignored: all columns that nothing else names.
inline constexpr char kAllOthers[] = "*";

struct Schema {
  std::string format;  // name in TextFormats(): how text becomes columns; "": no schema was given
  // Of format `delimited`.
  std::string separator = ",";       // between fields, one byte
  bool has_quotes = true;            // fields may stand in double quotes, as in RFC 4180
  bool has_header = true;            // the first record of each file names the columns
  std::vector<std::string> columns;  // their names, where no header gives them

  LabelRule label;
  std::string weight;  // column of the sample's weight; "": none
  std::vector<DenseColumn> dense;
  std::vector<CategoricalColumn> categorical;
  // Columns left out. A column that nothing names is an error, unless kAllOthers is among them.
  std::vector<std::string> ignored;
  // Of format `movielens`, in the preprocessing of a model: the greatest id of a movie in the data
  // that it was made from, which decides the ids of user_item. 0: the data say it.
  uint64_t greatest_movie = 0;
  MultiHot multi_hot;  // of Criteo's formats

  // Whether it names columns of the text.
  bool has_columns() const {
    return !dense.empty() || !std::ranges::all_of(categorical, &CategoricalColumn::is_derived);
  }
  bool has_derived() const {
    return std::ranges::any_of(categorical, &CategoricalColumn::is_derived);
  }
  bool operator==(const Schema&) const = default;
};

// kUsage, one sentence, for what contradicts itself: a column with two uses, a row for rare tokens
// without a dictionary. Needs no file; sets no limit to names.
Status CheckColumns(const Schema& schema);

// Of the crosses of a schema that has all columns: kUsage as CheckColumns.
Status CheckCrosses(const Schema& schema);

// kUsage if raw samples of text are not of the shape that a given preprocessing maps.
Status CheckSameColumns(const Schema& text, const Schema& given);

// Rows of a table that are kept for others than tokens: 0, 1 or 2. The missing row is the first of
// them.
inline uint64_t KeptRows(const CategoricalColumn& column) {
  return (column.missing_row ? 1u : 0u) + (column.rare_row ? 1u : 0u);
}

// Name of the table that a categorical column is looked up in: the column's, in which one _ stands
// for each run of characters that a table's name cannot have.
std::string TableNameOf(const std::string& column);

// Names of the model's dense inputs. A model has one at least: without a dense column it is
// "none", a 0 in every sample.
std::vector<std::string> DenseInputs(const Schema& schema);

}  // namespace rowhouse
