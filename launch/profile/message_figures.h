// Where the time of a worker's messages goes, from both sides' logs (common/wire/message_log.h).
//
// Threads: pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "launch/figures/figures.h"
#include "launch/profile/run_profile.h"

namespace rowhouse {

// Of a worker's messages of one kind to one shard: nanoseconds of a mean one.
struct MessageWays {
  std::string shard;
  bool is_push = false;
  uint64_t messages = 0;
  // The shard was at other work when the message was sent: until it looked for the next one.
  double behind = 0;
  // Then until the shard took it: ZeroMQ's queues and threads on both sides, and the network.
  double going = 0;
  double served = 0;  // until the shard handed over the answer; parked messages wait here
  double coming = 0;  // until the worker took the answer: ZeroMQ's queues and the network again

  double all() const { return behind + going + served + coming; }
};

// Of the messages that both sides have kept, by shard; pulls first. `rank` is one of the profile's,
// whose workers come first, by rank; none for a shard. Where clocks are not the same, `going` and
// `coming` are wrong by the clocks' error, their sum is not.
std::vector<MessageWays> WaysOf(const RunProfile& profile, const RankProfile& rank);

// A line for each shard and kind of message, if there are many those that take longest first.
// [{"kind": "pull" | "push", "shard", "number", "behind_us", "going_us", "served_us", "coming_us"}]
FigureTable MessagesTable(const RunProfile& profile, const RankProfile& rank);

}  // namespace rowhouse
