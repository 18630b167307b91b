#include "worker/client/request_frames.h"

#include <utility>

#include "common/wire/pull.h"
#include "common/wire/push.h"

namespace rowhouse {

std::vector<MessagePart> PullFrames::Divide(const Router& router, const PartLimits& limits,
                                            bool eval, std::vector<RowBatch>* rows,
                                            std::vector<BagBatch>* bags) {
  eval_ = eval;
  has_waited_ = false;
  batches_ = rows;
  bags_ = std::make_shared<BagFrames>(router, bags);
  PartDivider parts(router.plan().shards(), rows_.Limit(limits));
  rows_.Route(router, *rows, /*trained_only=*/false, &parts);
  bags_->AddTo(&parts, /*trained_only=*/false);
  return parts.Take(/*to_every_shard=*/false);
}

Frames PullFrames::Encode(const Header& header, const MessagePart& part) const {
  Frames payload;
  payload.push_back(rows_.Ids(*batches_, part));
  payload.push_back(eval_ ? Frame() : rows_.Counts(*batches_, part));
  if (!part.bags.empty()) bags_->EncodeLookups(part, &payload);
  const PullRequest request{
      .eval = eval_, .tables = RowFrames::TablesOf(*batches_, part), .bags = bags_->TablesOf(part)};
  return EncodeMessage(header, request, std::move(payload));
}

Status PullFrames::TakeReply(const MessagePart& part, const Message& message) {
  PullReply reply;
  RETURN_IF_ERROR(DecodeReply(message, &reply));
  const size_t bytes = rows_.BytesOf(part);
  const size_t frames = part.bags.empty() ? 1 : 3;
  if (message.payload.size() != frames || message.payload[0].size() != bytes) {
    return CorruptionError("the answer does not hold the {} bytes of rows asked for", bytes);
  }
  has_waited_ = has_waited_ || reply.has_waited;
  if (!part.bags.empty()) {
    RETURN_IF_ERROR(bags_->CopyPooled(part, message.payload[1], message.payload[2]));
  }
  rows_.CopyValues(part, message.payload[0], batches_);
  return OkStatus();
}

std::vector<MessagePart> PushFrames::Divide(const Router& router, const PartLimits& limits,
                                            const PushOptions& options, std::vector<RowBatch>* rows,
                                            std::shared_ptr<const BagFrames> bags) {
  options_ = options;
  batches_ = rows;
  kept_ = std::make_shared<KeptGradients>();
  bags_ = std::move(bags);
  PartDivider parts(router.plan().shards(), rows_.Limit(limits));
  rows_.Route(router, *rows, /*trained_only=*/true, &parts);
  if (bags_ != nullptr) bags_->AddTo(&parts, /*trained_only=*/true);
  return parts.Take(/*to_every_shard=*/true);
}

Frames PushFrames::Encode(const Header& header, const MessagePart& part) const {
  Frames payload;
  payload.push_back(rows_.Ids(*batches_, part));
  payload.push_back(rows_.Gradients(*batches_, part, kept_));
  payload.push_back(options_.sends_counts ? rows_.Counts(*batches_, part) : Frame());
  PushRequest request{.learning_rate = options_.learning_rate,
                      .samples = options_.samples,
                      .tables = RowFrames::TablesOf(*batches_, part),
                      .bags = {}};
  if (!part.bags.empty()) {
    bags_->EncodeGradients(part, &payload);
    request.bags = bags_->TablesOf(part);
  }
  return EncodeMessage(header, request, std::move(payload));
}

void PushFrames::KeepLent() {
  if (kept_ == nullptr || kept_.use_count() == 1) return;
  for (RowBatch& batch : *batches_) kept_->push_back(std::move(batch.gradients));
  kept_.reset();
}

Status PushFrames::TakeReply(const MessagePart& /*part*/, const Message& message) {
  PushReply reply;
  return DecodeReply(message, &reply);
}

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
