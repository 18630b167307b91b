// PUSH: one worker's gradients of step header.step for one shard, sent in header.parts parts.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/serialized.h"
#include "common/wire/pull.h"

namespace rowhouse {

// A worker that has no gradients for a shard sends one part without rows. header.sender: its rank.
// Payload frames:
//   0  ids u64, of the rows of `tables`, in order. In one worker's push of a step, all parts
//      together, a row occurs once for each slice of it on this shard
//   1  gradients, f32 or, with push_precision bf16 (job description), bf16, of the columns of each
//      entry, row after row
//   2  lookup counts u32, one for each row, at least 1; may be empty if no table of the part has
//      scale_grad_by_freq
// and, if `bags` has entries, in their order:
//   3  gradients f32 of the pooled columns, bag after bag
//   4  winners u32 of entries that take the maximum, as in the pull's reply
struct PushRequest {
  static constexpr MessageType kType = MessageType::kPush;
  float learning_rate = 0.0f;  // of this step; the same from every worker
  uint64_t samples = 0;        // this worker's samples in the step
  std::vector<TableRows> tables;
  std::vector<TableBags> bags;
  SERIALIZED(learning_rate, samples, tables, bags);
};

// Sent when the part has arrived, before the step is applied.
struct PushReply {
  static constexpr MessageType kType = MessageType::kPushReply;
  uint8_t code = 0;  // StatusCode
  std::string message;
  SERIALIZED(code, message);
};

}  // namespace rowhouse
