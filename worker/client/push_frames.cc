#include "worker/client/push_frames.h"

#include <utility>

#include "common/wire/push.h"
#include "worker/client/decode_reply.h"

namespace rowhouse {

std::vector<MessagePart> PushFrames::Divide(const Router& router, const PartLimits& limits,
                                            const PushOptions& options,
                                            const std::vector<RowBatch>* rows,
                                            std::shared_ptr<const BagFrames> bags) {
  options_ = options;
  batches_ = rows;
  bags_ = std::move(bags);
  PartDivider parts(router.plan().shards(), limits);
  rows_.Route(router, *rows, /*trained_only=*/true, &parts);
  if (bags_ != nullptr) bags_->AddTo(&parts, /*trained_only=*/true);
  return parts.Take(/*to_every_shard=*/true);
}

Frames PushFrames::Encode(const Header& header, const MessagePart& part) const {
  Frames payload;
  payload.push_back(rows_.Ids(*batches_, part));
  payload.push_back(rows_.Gradients(*batches_, part));
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

Status PushFrames::TakeReply(const MessagePart& /*part*/, const Message& message) {
  PushReply reply;
  return DecodeReply(message, &reply);
}

}  // namespace rowhouse
