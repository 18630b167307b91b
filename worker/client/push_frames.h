// PushFrames: the messages of a push: the gradients of a step's rows and bags, for every shard.
// Threads: one.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "worker/client/bag_frames.h"
#include "worker/client/request_frames.h"
#include "worker/client/row_frames.h"

namespace rowhouse {

struct PushOptions {
  float learning_rate = 0.0f;
  uint64_t samples = 0;       // this worker's samples of the step
  bool sends_counts = false;  // how often each row was looked up
};

class PushFrames final : public RequestFrames {
 public:
  // Divides a push of the gradients of all rows of `rows`, and of `bags` (null: none), into parts;
  // a shard that owns none of them gets an empty part. Tables on the workers and frozen tables take
  // no part. `rows`, and the batches of `bags`, stay where they are until all parts are answered.
  std::vector<MessagePart> Divide(const Router& router, const PartLimits& limits,
                                  const PushOptions& options, const std::vector<RowBatch>* rows,
                                  std::shared_ptr<const BagFrames> bags);

  Frames Encode(const Header& header, const MessagePart& part) const override;
  Status TakeReply(const MessagePart& part, const Message& message) override;

 private:
  PushOptions options_;
  const std::vector<RowBatch>* batches_ = nullptr;
  RowFrames rows_;
  std::shared_ptr<const BagFrames> bags_;
};

}  // namespace rowhouse
