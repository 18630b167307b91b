// Message: what travels, in frames. Frame 0 is the header (header.h), frame 1 the body (small,
// written by codec.h, may be empty), frames 2 and up are the payload: ids as u64, rows as f32,
// little-endian, in the order the message's own header documents.
//
// Payload frames come from a peer: their sizes are checked (PayloadOf) before they are used.
#pragma once

#include <span>

#include "common/frame.h"
#include "common/status.h"
#include "common/wire/header.h"

namespace rowhouse {

struct Message {
  Header header;
  Frame body;
  Frames payload;
};

Frames Pack(const Header& header, Frame body, Frames payload);

// kCorruption for fewer than two frames and for whatever DecodeHeader refuses.
Result<Message> Unpack(Frames frames);

// Payload frame `index` as an array of T; kCorruption, naming the message, if there is no such
// frame or it is not `count` elements long.
template <typename T>
Result<std::span<const T>> PayloadOf(const Message& message, size_t index, size_t count) {
  const std::string_view name = MessageTypeName(message.header.type);
  if (index >= message.payload.size()) {
    return CorruptionError("{} without payload frame {}: it has {}", name, index,
                           message.payload.size());
  }
  const Frame& frame = message.payload[index];
  // Division, because a peer may have said any count.
  if (frame.size() % sizeof(T) != 0 || frame.size() / sizeof(T) != count) {
    return CorruptionError("{}: payload frame {} has {} bytes, not {} elements of {}", name, index,
                           frame.size(), count, sizeof(T));
  }
  return frame.As<T>();
}

}  // namespace rowhouse
