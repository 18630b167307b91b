// The ways of a worker's messages (launch/profile/message_ways.h), as a table and as JSON.
//
// Threads: pure functions.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "launch/profile/run_profile.h"

namespace rowhouse {

// A line for each shard and kind of message; of many those that take longest. "" for a shard, or
// without messages. `rank` is one of the profile's.
std::string MessagesText(const RunProfile& profile, const RankProfile& rank);

// [{"kind": "pull" | "push", "shard", "number", "behind_us", "going_us", "served_us",
// "coming_us"}];
// [] likewise.
nlohmann::ordered_json MessagesToJson(const RunProfile& profile, const RankProfile& rank);

}  // namespace rowhouse
