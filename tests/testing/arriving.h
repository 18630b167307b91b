// A message as a transport hands it to a shard, over the connection of the worker that it names;
// and all that the shard does.
#pragma once

#include <iterator>
#include <utility>
#include <variant>
#include <vector>

#include "common/transport/peer_name.h"
#include "common/wire/header.h"
#include "ps/shard/shard.h"

namespace rowhouse {

inline MessageArrived Arriving(Frames frames) {
  PeerName name;
  if (frames.size() > 1) {
    const Result<Header> header = DecodeHeader(frames[0].bytes(), frames[1].bytes());
    if (header.ok()) name = {.job_id = header.value().job_id, .worker = header.value().sender};
  }
  return {PeerIdOf(name), std::move(frames)};
}

// Handles an event and, as often as the shard asks for it, Continue. Returns all actions, in order.
inline std::vector<ShardAction> HandleAll(Shard& shard, ShardEvent event, TimeMs now) {
  std::vector<ShardAction> all = shard.Handle(std::move(event), now);
  while (!all.empty() && std::holds_alternative<CallAgain>(all.back())) {
    all.pop_back();
    std::vector<ShardAction> more = shard.Handle(Continue{}, now);
    std::move(more.begin(), more.end(), std::back_inserter(all));
  }
  return all;
}

}  // namespace rowhouse
