// A message as a transport hands it to a shard: over the connection of the worker that it names.
#pragma once

#include <utility>

#include "common/transport/peer_name.h"
#include "common/wire/header.h"
#include "ps/shard/events.h"

namespace rowhouse {

inline MessageArrived Arriving(Frames frames) {
  PeerName name;
  if (frames.size() > 1) {
    const Result<Header> header = DecodeHeader(frames[0].bytes(), frames[1].bytes());
    if (header.ok()) name = {.job_id = header.value().job_id, .worker = header.value().sender};
  }
  return {PeerIdOf(name), std::move(frames)};
}

}  // namespace rowhouse
