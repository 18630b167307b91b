#include "worker/client/control_frames.h"

#include "worker/client/decode_reply.h"

namespace rowhouse {

std::vector<MessagePart> ControlFrames::Divide(MessageType type) {
  type_ = type;
  std::vector<MessagePart> parts;
  for (size_t shard = 0; shard < replies_.digests.size(); ++shard) {
    parts.push_back({.shard = shard, .rows = {}, .bags = {}});
  }
  return parts;
}

Frames ControlFrames::Encode(const Header& header, const MessagePart& /*part*/) const {
  if (type_ == MessageType::kFlush) return EncodeMessage(header, FlushRequest{});
  if (type_ == MessageType::kCheckpoint) return EncodeMessage(header, checkpoint_);
  if (type_ == MessageType::kDigest) return EncodeMessage(header, DigestRequest{});
  if (type_ == MessageType::kProfile) {
    return EncodeMessage(header, ProfileRequest{.wish = static_cast<uint8_t>(profile_wish_)});
  }
  return EncodeMessage(header, StatsRequest{});
}

Status ControlFrames::TakeReply(const MessagePart& part, const Message& message) {
  if (type_ == MessageType::kFlush) return DecodeReply(message, &replies_.flushes[part.shard]);
  if (type_ == MessageType::kCheckpoint)
    return DecodeReply(message, &replies_.checkpoints[part.shard]);
  if (type_ == MessageType::kDigest) return DecodeReply(message, &replies_.digests[part.shard]);
  if (type_ == MessageType::kProfile) return DecodeReply(message, &replies_.profiles[part.shard]);
  return DecodeReply(message, &replies_.stats[part.shard]);
}

}  // namespace rowhouse
