// The ways of a worker's messages as a table and as JSON.
//
// Threads: pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <vector>

#include "common/wire/message_log.h"
#include "launch/profile/run_profile.h"

namespace rowhouse {

// A line for each shard and kind of message; of many those that take longest. "" for a shard, or
// without messages. `rank` is one of the profile's.
std::string MessagesText(const RunProfile& profile, const RankProfile& rank);

// [{"kind": "pull" | "push", "shard", "number", "behind_us", "going_us", "served_us",
// "coming_us"}];
// [] likewise.
nlohmann::ordered_json MessagesToJson(const RunProfile& profile, const RankProfile& rank);

// ---- Where the time of a message goes, from both sides' logs of it (common/wire/message_log.h)
// ---

// Of a worker's messages of one kind to one shard: nanoseconds of a mean one.
struct MessageWays {
  size_t shard = 0;
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

// One side: its log, and how far its clock is ahead.
struct MessageSide {
  std::span<const MessageTimes> messages;  // outlive this
  TimeNs clock_offset = 0;
};

// Of the messages that both sides have kept, by shard; pulls first. Where clocks are not the same,
// `going` and `coming` are wrong by the clocks' error, their sum is not.
std::vector<MessageWays> WaysOf(uint32_t worker, const MessageSide& of_worker,
                                const std::vector<MessageSide>& shards);

}  // namespace rowhouse
