// PULL: the weights of rows as they are after step header.step - 1.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/wire/header.h"

namespace rowhouse {

// How many of the following rows belong to a table, and from which column on: up to the end of the
// slice that begins there. A table may appear more than once.
struct TableRows {
  uint32_t table = 0;
  uint32_t rows = 0;
  uint32_t first_column = 0;

  template <class Archive>
  void serialize(Archive& archive) {
    archive(table, rows, first_column);
  }
};

// Bags that the shard pools: those [bag_begin, bag_begin + bags) of one list, which is one part of
// one feature; lists are numbered in the order their gradients are added. The shard keeps them
// until the push of the step, which says the same bags.
struct TableBags {
  uint32_t table = 0;
  uint32_t first_column = 0;
  uint32_t list = 0;
  uint32_t bag_begin = 0;
  uint32_t bags = 0;
  uint32_t lookups = 0;      // in all of them, of rows that lie on this shard
  bool is_max = false;       // else sum
  bool is_exact = false;     // sum: as the table's pooling_sum says
  bool is_partial = false;   // sum: other shards have lookups of the same bags; f64 is wanted
  bool has_weights = false;  // sum: one a lookup

  bool operator==(const TableBags&) const = default;

  template <class Archive>
  void serialize(Archive& archive) {
    archive(table, first_column, list, bag_begin, bags, lookups, is_max, is_exact, is_partial,
            has_weights);
  }
};

// Payload: ids u64 (all tables' rows, in order), then lookup counts u32 (one a row, or empty for
// an eval pull); then, if there are bags, of them in order: ids (of each lookup: u32 where the
// table has at most 2^32 rows, else u64), lengths u32 (one a bag), weights f32 (of parts that have
// them). header.step: the step the rows are for; the shard parks the request until step header.step
// - 1 is applied.
struct PullRequest {
  static constexpr MessageType kType = MessageType::kPull;
  bool eval = false;  // leaves no trace: no frequency, no place in the cache
  std::vector<TableRows> tables;
  std::vector<TableBags> bags;

  template <class Archive>
  void serialize(Archive& archive) {
    archive(eval, tables, bags);
  }
};

// Payload when code is 0: weights f32 of the columns asked for, row after row, in the order asked;
// then of the bags, in order: sums or maxima of those columns (f32; f64 where partial); then, of
// maxima, u32 winners: the number of the lookup among those sent of its bag, 2^32 - 1 for a bag of
// none.
struct PullReply {
  static constexpr MessageType kType = MessageType::kPullReply;
  uint8_t code = 0;  // StatusCode
  std::string message;
  bool has_waited = false;  // for rows from the store

  template <class Archive>
  void serialize(Archive& archive) {
    archive(code, message, has_waited);
  }
};

}  // namespace rowhouse
