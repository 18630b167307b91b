// Message: the unit that workers and shards exchange, a list of frames. Frame 0 is the header
// (header.h), frame 1 the body (a small struct encoded by codec.h; may be empty), frames 2 and up
// are the payload: arrays of numbers, little-endian, as the file of the message's type says.
//
// Payload frames come from a peer: check their sizes (PayloadOf) before use.
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

// kCorruption for fewer than two frames and for a header that DecodeHeader refuses.
Result<Message> Unpack(Frames frames);

// Payload frame `index` as an array of T. kCorruption, naming the message, if there is no such
// frame or if it does not hold exactly `count` elements.
template <typename T>
Result<std::span<const T>> PayloadOf(const Message& message, size_t index, size_t count) {
  const std::string_view name = MessageTypeName(message.header.type);
  if (index >= message.payload.size()) {
    return CorruptionError("{} without payload frame {}: it has {}", name, index,
                           message.payload.size());
  }
  const Frame& frame = message.payload[index];
  // A product could overflow: `count` comes from the peer.
  if (frame.size() % sizeof(T) != 0 || frame.size() / sizeof(T) != count) {
    return CorruptionError("{}: payload frame {} has {} bytes, not {} elements of {}", name, index,
                           frame.size(), count, sizeof(T));
  }
  return frame.As<T>();
}

}  // namespace rowhouse
