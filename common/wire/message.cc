#include "common/wire/message.h"

#include <iterator>

namespace rowhouse {

Frames Pack(const Header& header, Frame body, Frames payload) {
  Frames frames;
  frames.reserve(2 + payload.size());
  frames.push_back(EncodeHeader(header, body.bytes()));
  frames.push_back(std::move(body));
  for (Frame& frame : payload) frames.push_back(std::move(frame));
  return frames;
}

Result<Message> Unpack(Frames frames) {
  if (frames.size() < 2) {
    return CorruptionError("message of {} frames, without header and body", frames.size());
  }
  ASSIGN_OR_RETURN(const Header header, DecodeHeader(frames[0].bytes(), frames[1].bytes()));
  Message message{.header = header, .body = std::move(frames[1]), .payload = {}};
  message.payload.assign(std::make_move_iterator(frames.begin() + 2),
                         std::make_move_iterator(frames.end()));
  return message;
}

}  // namespace rowhouse
