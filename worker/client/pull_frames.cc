#include "worker/client/pull_frames.h"

#include <utility>

#include "common/wire/pull.h"
#include "worker/client/decode_reply.h"

namespace rowhouse {

std::vector<MessagePart> PullFrames::Divide(const Router& router, const PartLimits& limits,
                                            bool eval, std::vector<RowBatch>* rows,
                                            std::vector<BagBatch>* bags) {
  eval_ = eval;
  has_waited_ = false;
  batches_ = rows;
  bags_ = std::make_shared<BagFrames>(router, bags);
  PartDivider parts(router.plan().shards(), limits);
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
  const size_t bytes = RowFrames::BytesOf(part);
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

}  // namespace rowhouse
