// ControlFrames: the messages of FLUSH, CHECKPOINT, DIGEST, STATS and PROFILE, which every shard is
// asked alike. Threads: one.
#pragma once

#include <utility>
#include <vector>

#include "common/wire/checkpoint.h"
#include "common/wire/control.h"
#include "common/wire/profile.h"
#include "worker/client/request_frames.h"

namespace rowhouse {

// By shard, as last answered.
struct ControlReplies {
  explicit ControlReplies(size_t shards)
      : flushes(shards), checkpoints(shards), digests(shards), stats(shards), profiles(shards) {}

  std::vector<FlushReply> flushes;
  std::vector<CheckpointReply> checkpoints;
  std::vector<DigestReply> digests;
  std::vector<StatsReply> stats;
  std::vector<ProfileReply> profiles;
};

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
