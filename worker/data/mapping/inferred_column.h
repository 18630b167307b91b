// What was guessed of one column, and how ids are chosen for one with tokens.
//
// Threads: plain data and pure functions.
#pragma once

#include <cstdint>
#include <string>

#include "worker/data/mapping/distinct_tokens.h"
#include "worker/data/mapping/schema.h"

namespace rowhouse {

struct InferredColumn {
  enum class Use { kLabel, kWeight, kDense, kCategorical, kIgnored };
  Use use = Use::kIgnored;
  std::string name;
  DenseColumn dense;              // of use kDense
  CategoricalColumn categorical;  // of use kCategorical; rows: of its table
  double distinct = 0;            // of use kCategorical: tokens to expect in all of the data
  std::string why;                // "3 distinct in 200,000 lines"
};

// How much was looked at.
struct DataSize {
  double records = 0;  // in all, estimated unless is_whole
  uint64_t looked_at = 0;
  bool is_whole = true;
  uint64_t odd_records = 0;    // besides, that could not be read
  std::string first_odd = {};  // what is wrong with the first of them
};

// "12,345" and, from a million on, "1.2 million".
std::string WrittenCount(double count);

// Chooses a dictionary or hashing, and rows, for a column with these tokens in the records looked
// at; says so in column->why. Keeps column->categorical's other members.
void ChooseIds(const DistinctTokens& tokens, const DataSize& size, InferredColumn* column);

}  // namespace rowhouse
