// Message: the unit that workers and shards exchange, a list of frames. Frame 0 is the header
// (header.h), frame 1 the body (a small struct encoded by codec.h; may be empty), frames 2 and up
// are the payload: arrays of numbers, little-endian, as the file of the message's type says.
//
// Payload frames come from a peer: check their sizes before use (ps/shard/requests.h).
#pragma once

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

}  // namespace rowhouse
