// RequestFrames: the content of an operation's messages: how a part is encoded, and what becomes of
// its reply. One implementation for pull, push, and the control requests each.
#pragma once

#include "common/frame.h"
#include "common/status.h"
#include "common/wire/message.h"
#include "worker/client/message_part.h"

namespace rowhouse {

class RequestFrames {
 public:
  virtual ~RequestFrames() = default;

  // The whole message. Sets the header's type.
  virtual Frames Encode(const Header& header, const MessagePart& part) const = 0;

  // The shard's error, or kCorruption if the reply does not fit the part.
  virtual Status TakeReply(const MessagePart& part, const Message& message) = 0;
};

}  // namespace rowhouse
