// PULL: the weights of rows as they are after step header.step - 1.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/wire/header.h"

namespace rowhouse {

// How many of the following rows belong to a table, and from which column on: up to the end of the
// slice that begins there. A table may appear more than once.
struct TablePart {
  uint32_t table = 0;
  uint32_t rows = 0;
  uint32_t first_column = 0;

  template <class Archive>
  void serialize(Archive& archive) {
    archive(table, rows, first_column);
  }
};

// Payload: ids u64 (all tables' rows, in order), then lookup counts u32 (one a row, or empty for
// an eval pull). header.step: the step the rows are for; the shard parks the request until step
// header.step - 1 is applied.
struct PullRequest {
  static constexpr MessageType kType = MessageType::kPull;
  bool eval = false;  // leaves no trace: no frequency, no place in the cache
  std::vector<TablePart> tables;

  template <class Archive>
  void serialize(Archive& archive) {
    archive(eval, tables);
  }
};

// Payload when code is 0: weights f32 of the columns asked for, row after row, in the order asked.
struct PullReply {
  static constexpr MessageType kType = MessageType::kPullReply;
  uint8_t code = 0;  // StatusCode
  std::string message;

  template <class Archive>
  void serialize(Archive& archive) {
    archive(code, message);
  }
};

}  // namespace rowhouse
