// RequestFrames: the content of an operation's messages: how a part is encoded, and what becomes of
// its reply. One implementation for pull, push, and the control requests each. Threads: one.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "common/frame.h"
#include "common/status.h"
#include "common/wire/checkpoint.h"
#include "common/wire/codec.h"
#include "common/wire/control.h"
#include "common/wire/message.h"
#include "common/wire/profile.h"
#include "worker/client/bag_frames.h"
#include "worker/client/message_part.h"
#include "worker/client/row_frames.h"

namespace rowhouse {

class RequestFrames {
 public:
  virtual ~RequestFrames() = default;

  // The whole message. Sets the header's type.
  virtual Frames Encode(const Header& header, const MessagePart& part) const = 0;

  // The shard's error, or kCorruption if the reply does not fit the part.
  virtual Status TakeReply(const MessagePart& part, const Message& message) = 0;
};

// The body of a shard's reply, or the error that the shard sent in it. Reply: a body with `code`
// (StatusCode) and `message`.
template <typename Reply>
Status DecodeReply(const Message& message, Reply* reply) {
  ASSIGN_OR_RETURN(*reply, DecodeBody<Reply>(message));
  if (reply->code != 0) return Status(static_cast<StatusCode>(reply->code), reply->message);
  return OkStatus();
}

// The messages of a pull: which rows and bags each shard is asked for, and where their values go.
class PullFrames final : public RequestFrames {
 public:
  explicit PullFrames(Precision precision) : rows_(precision) {}

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

struct PushOptions {
  float learning_rate = 0.0f;
  uint64_t samples = 0;       // this worker's samples of the step
  bool sends_counts = false;  // how often each row was looked up
};

// The messages of a push: the gradients of a step's rows and bags, for every shard.
class PushFrames final : public RequestFrames {
 public:
  explicit PushFrames(Precision precision) : rows_(precision) {}

  // Divides a push of the gradients of all rows of `rows`, and of `bags` (null: none), into parts;
  // a shard that owns none of them gets an empty part. Tables on the workers and frozen tables take
  // no part. `rows`, and the batches of `bags`, stay where they are until all parts are answered.
  std::vector<MessagePart> Divide(const Router& router, const PartLimits& limits,
                                  const PushOptions& options, std::vector<RowBatch>* rows,
                                  std::shared_ptr<const BagFrames> bags);

  // Takes the gradients from the batches if messages that are not answered may still lend them.
  void KeepLent();

  Frames Encode(const Header& header, const MessagePart& part) const override;
  Status TakeReply(const MessagePart& part, const Message& message) override;

 private:
  PushOptions options_;
  std::vector<RowBatch>* batches_ = nullptr;
  std::shared_ptr<KeptGradients> kept_;  // shared with messages on their way
  RowFrames rows_;
  std::shared_ptr<const BagFrames> bags_;
};

// Answers of control requests by shard, as last answered.
struct ControlReplies {
  explicit ControlReplies(size_t shards)
      : flushes(shards), checkpoints(shards), digests(shards), stats(shards), profiles(shards) {}

  std::vector<FlushReply> flushes;
  std::vector<CheckpointReply> checkpoints;
  std::vector<DigestReply> digests;
  std::vector<StatsReply> stats;
  std::vector<ProfileReply> profiles;
};

// The messages of FLUSH, CHECKPOINT, DIGEST, STATS and PROFILE, which every shard is asked alike.
class ControlFrames final : public RequestFrames {
 public:
  explicit ControlFrames(size_t shards) : replies_(shards) {}

  // One part a shard. type: kFlush, kCheckpoint, kDigest, kStats or kProfile.
  std::vector<MessagePart> Divide(MessageType type);
  // What the next CHECKPOINT asks for.
  void set_checkpoint(CheckpointRequest checkpoint) { checkpoint_ = std::move(checkpoint); }

  // What the next PROFILE wishes.
  void set_profile_wish(ProfileWish wish) { profile_wish_ = wish; }

  Frames Encode(const Header& header, const MessagePart& part) const override;
  Status TakeReply(const MessagePart& part, const Message& message) override;

  const ControlReplies& replies() const { return replies_; }

 private:
  MessageType type_ = MessageType::kFlush;
  CheckpointRequest checkpoint_;
  ProfileWish profile_wish_ = ProfileWish::kClock;
  ControlReplies replies_;
};

}  // namespace rowhouse
