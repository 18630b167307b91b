// PUSH: one worker's gradients of step header.step for one shard, in header.parts parts.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/wire/pull.h"

namespace rowhouse {

// Payload: ids u64 (rows unique, per table and first column, within a worker's push of a step),
// then gradients f32 of those columns, row after row, then lookup counts u32: one a row, each at
// least 1, if any table of the part has scale_grad_by_freq; otherwise they may be left empty. A
// worker that touched nothing sends one part without rows. header.sender: worker rank.
struct PushRequest {
  static constexpr MessageType kType = MessageType::kPush;
  float learning_rate = 0.0f;  // of this step; the same from every worker
  uint64_t samples = 0;        // this worker's samples in the step
  std::vector<TableRows> tables;
  std::vector<TableBags> bags;

  template <class Archive>
  void serialize(Archive& archive) {
    archive(learning_rate, samples, tables, bags);
  }
};

// Sent when the part has arrived, not when the step is applied.
struct PushReply {
  static constexpr MessageType kType = MessageType::kPushReply;
  uint8_t code = 0;  // StatusCode
  std::string message;

  template <class Archive>
  void serialize(Archive& archive) {
    archive(code, message);
  }
};

}  // namespace rowhouse
