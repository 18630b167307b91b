// PULL: the weights of rows as they are after step header.step - 1.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/serialized.h"
#include "common/wire/header.h"

namespace rowhouse {

// An entry of a message's list of rows. The next `rows` ids of the payload are rows of `table`. The
// message carries the columns of the slice that begins at first_column, and no others. A table may
// have several entries.
struct TableRows {
  uint32_t table = 0;
  uint32_t rows = 0;
  uint32_t first_column = 0;
  SERIALIZED(table, rows, first_column);
};

// An entry of a message's list of bags that the shard pools: bags [bag_begin, bag_begin + bags) of
// one list. A list holds the bags of one feature in one physical table; lists are numbered in the
// order in which the shard adds their gradients. The shard keeps the bags of a pull until the push
// of the same step, which names the same bags.
struct TableBags {
  uint32_t table = 0;
  uint32_t first_column = 0;
  uint32_t list = 0;
  uint32_t bag_begin = 0;
  uint32_t bags = 0;
  uint32_t lookups = 0;      // of all these bags, in rows that this shard owns
  bool is_max = false;       // pooling: max, else sum
  bool is_exact = false;     // sum: the table has pooling_sum "exact"
  bool is_partial = false;   // sum: other shards own rows of the same bags; the reply is f64
  bool has_weights = false;  // sum: one weight for each lookup

  bool operator==(const TableBags&) const = default;
  SERIALIZED(table, first_column, list, bag_begin, bags, lookups, is_max, is_exact, is_partial,
             has_weights);
};

// header.step: the step that will use the rows; the shard parks the request until step
// header.step - 1 is applied. Payload frames:
//   0  ids u64, of the rows of `tables`, in order
//   1  lookup counts u32, one for each row; empty for an eval pull
// and, if `bags` has entries, in their order:
//   2  ids of the lookups: u32 where the table has at most 2^32 rows, else u64
//   3  lengths u32, one for each bag
//   4  weights f32, of the lookups of entries that have weights
struct PullRequest {
  static constexpr MessageType kType = MessageType::kPull;
  bool eval = false;  // leaves no trace: does not count as access, brings no row into the cache
  std::vector<TableRows> tables;
  std::vector<TableBags> bags;
  SERIALIZED(eval, tables, bags);
};

// Payload frames when code is 0:
//   0  weights, f32 or, with pull_precision bf16 (job description), bf16, of the columns asked for,
//      row after row, in the order of the request
// and, if the request had bags, in their order:
//   1  pooled columns, bag after bag: f32, or f64 where the entry is partial
//   2  winners u32 of entries that take the maximum, one for each pooled value: the number of the
//      lookup that has the maximum. The lookups that the request has of a bag are numbered from 0.
//      2^32 - 1 for a bag without lookups
struct PullReply {
  static constexpr MessageType kType = MessageType::kPullReply;
  uint8_t code = 0;  // StatusCode
  std::string message;
  bool has_waited = false;  // some rows had to be read from the store
  SERIALIZED(code, message, has_waited);
};

// PREFETCH: rows that a worker will pull in step header.step. The shard may read them from its
// store before that step and keep them in its cache until then. It does not answer, may ignore the
// message, and returns the same values to the pull in either case. Payload: ids u64, of the rows of
// `tables`, in order.
struct PrefetchRequest {
  static constexpr MessageType kType = MessageType::kPrefetch;
  std::vector<TableRows> tables;
  SERIALIZED(tables);
};

}  // namespace rowhouse
