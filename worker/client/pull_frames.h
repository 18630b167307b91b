// PullFrames: the messages of a pull: which rows and bags each shard is asked for, and where their
// values go.
// Threads: one.
#pragma once

#include <memory>
#include <vector>

#include "worker/client/bag_frames.h"
#include "worker/client/request_frames.h"
#include "worker/client/row_frames.h"

namespace rowhouse {

class PullFrames final : public RequestFrames {
 public:
  // Divides a pull of all rows of `rows` and bags of `bags` (null: none) into parts; both stay
  // where they are until all parts are answered. `eval`: the pull leaves no trace on the shards.
  std::vector<MessagePart> Divide(const Router& router, const PartLimits& limits, bool eval,
                                  std::vector<RowBatch>* rows, std::vector<BagBatch>* bags);

  Frames Encode(const Header& header, const MessagePart& part) const override;
  // Writes the values of the rows and the pooled vectors and winners of the bags.
  Status TakeReply(const MessagePart& part, const Message& message) override;

  // Whether a shard had to read its store for the last pull.
  bool has_waited() const { return has_waited_; }

  // The bags of the last pull, for the push of the same step; null before the first.
  std::shared_ptr<const BagFrames> bags() const { return bags_; }

 private:
  bool eval_ = false;
  bool has_waited_ = false;
  std::vector<RowBatch>* batches_ = nullptr;
  RowFrames rows_;
  std::shared_ptr<BagFrames> bags_;
};

}  // namespace rowhouse
