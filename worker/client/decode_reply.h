// DecodeReply: the body of a shard's reply, or the error that the shard sent in it.
#pragma once

#include "common/status.h"
#include "common/wire/codec.h"
#include "common/wire/message.h"

namespace rowhouse {

// Reply: a body with `code` (StatusCode) and `message`.
template <typename Reply>
Status DecodeReply(const Message& message, Reply* reply) {
  ASSIGN_OR_RETURN(*reply, DecodeBody<Reply>(message));
  if (reply->code != 0) return Status(static_cast<StatusCode>(reply->code), reply->message);
  return OkStatus();
}

}  // namespace rowhouse
