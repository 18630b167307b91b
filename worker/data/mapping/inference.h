// Inference: a schema guessed from a look at text, with the reason of each guess in words.
//
// Threads: pure functions.
#pragma once

#include <string>
#include <vector>

#include "common/status.h"
#include "worker/data/mapping/inferred_column.h"
#include "worker/data/mapping/text_look.h"

namespace rowhouse {

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

// Puts the column where the schema has columns of its use.
void AddToSchema(const InferredColumn& column, Schema* schema);

}  // namespace rowhouse
