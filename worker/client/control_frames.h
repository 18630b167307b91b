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

class ControlFrames final : public RequestFrames {
 public:
  explicit ControlFrames(size_t shards)
      : checkpoints_(shards), digests_(shards), stats_(shards), profiles_(shards) {}

  // One part a shard. type: kFlush, kCheckpoint, kDigest, kStats or kProfile.
  std::vector<MessagePart> Divide(MessageType type);
  // What the next CHECKPOINT asks for.
  void set_checkpoint(CheckpointRequest checkpoint) { checkpoint_ = std::move(checkpoint); }

  // What the next PROFILE wishes.
  void set_profile_wish(ProfileWish wish) { profile_wish_ = wish; }

  Frames Encode(const Header& header, const MessagePart& part) const override;
  Status TakeReply(const MessagePart& part, const Message& message) override;

  // By shard, as last answered.
  const std::vector<CheckpointReply>& checkpoints() const { return checkpoints_; }
  const std::vector<DigestReply>& digests() const { return digests_; }
  const std::vector<StatsReply>& stats() const { return stats_; }
  const std::vector<ProfileReply>& profiles() const { return profiles_; }

 private:
  MessageType type_ = MessageType::kFlush;
  CheckpointRequest checkpoint_;
  std::vector<CheckpointReply> checkpoints_;
  std::vector<DigestReply> digests_;
  std::vector<StatsReply> stats_;
  ProfileWish profile_wish_ = ProfileWish::kClock;
  std::vector<ProfileReply> profiles_;
};

}  // namespace rowhouse
