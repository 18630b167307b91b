#include "launch/profile/message_figures.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>
#include <unordered_map>

namespace rowhouse {
namespace {

using OrderedJson = nlohmann::ordered_json;

// The shards of a profile, and their logs of messages.
struct ShardSides {
  explicit ShardSides(const RunProfile& profile) {
    for (const RankProfile& rank : profile.ranks) {
      if (rank.is_worker) continue;
      names.push_back(rank.name);
      sides.push_back({.messages = rank.messages, .clock_offset = rank.clock_offset});
    }
  }

  std::vector<std::string> names;
  std::vector<MessageSide> sides;
};

// Workers come first, by rank.
std::vector<MessageWays> WaysOfRank(const RunProfile& profile, const RankProfile& worker,
                                    const ShardSides& shards) {
  if (!worker.is_worker) return {};
  return WaysOf(static_cast<uint32_t>(&worker - profile.ranks.data()),
                {.messages = worker.messages, .clock_offset = worker.clock_offset}, shards.sides);
}

}  // namespace

std::string MessagesText(const RunProfile& profile, const RankProfile& rank) {
  constexpr size_t kMaxTold = 16;
  constexpr double kNsPerUs = 1e3;
  const ShardSides shards(profile);
  std::vector<MessageWays> ways = WaysOfRank(profile, rank, shards);
  if (ways.empty()) return "";
  const size_t left_out = ways.size() - std::min(ways.size(), kMaxTold);
  if (left_out > 0) {
    std::ranges::sort(ways, std::greater(), &MessageWays::all);
    ways.resize(kMaxTold);
  }
  std::string text =
      fmt::format("  {:<34}{:>10}{:>10}{:>12}{:>10}{:>10}\n", "messages, us of a mean one",
                  "behind", "going", "served", "coming", "number");
  for (const MessageWays& way : ways) {
    const std::string name =
        fmt::format("{}, {}", way.is_push ? "push" : "pull", shards.names[way.shard]);
    text += fmt::format("  {:<34}{:>10.1f}{:>10.1f}{:>12.1f}{:>10.1f}{:>10}\n", name,
                        way.behind / kNsPerUs, way.going / kNsPerUs, way.served / kNsPerUs,
                        way.coming / kNsPerUs, way.messages);
  }
  if (left_out > 0) text += fmt::format("  {} others take less\n", left_out);
  return text;
}

OrderedJson MessagesToJson(const RunProfile& profile, const RankProfile& rank) {
  const ShardSides shards(profile);
  OrderedJson list = OrderedJson::array();
  for (const MessageWays& way : WaysOfRank(profile, rank, shards)) {
    list.push_back({{"kind", way.is_push ? "push" : "pull"},
                    {"shard", shards.names[way.shard]},
                    {"number", way.messages},
                    {"behind_us", way.behind * 1e-3},
                    {"going_us", way.going * 1e-3},
                    {"served_us", way.served * 1e-3},
                    {"coming_us", way.coming * 1e-3}});
  }
  return list;
}

std::vector<MessageWays> WaysOf(uint32_t worker, const MessageSide& of_worker,
                                const std::vector<MessageSide>& shards) {
  std::unordered_map<uint64_t, const MessageTimes*> sent;
  for (const MessageTimes& one : of_worker.messages) sent.emplace(one.request_id, &one);
  std::vector<MessageWays> ways;
  for (size_t s = 0; s < shards.size(); ++s) {
    MessageWays kinds[] = {{.shard = s, .is_push = false}, {.shard = s, .is_push = true}};
    // From the shard's clock to the worker's.
    const TimeNs shift = of_worker.clock_offset - shards[s].clock_offset;
    for (const MessageTimes& there : shards[s].messages) {
      const auto here = sent.find(there.request_id);
      if (there.worker != worker || here == sent.end()) continue;
      const TimeNs left = here->second->begin, taken = there.begin + shift;
      const TimeNs behind =
          std::clamp<TimeNs>(there.ready + shift - left, 0, std::max<TimeNs>(taken - left, 0));
      MessageWays& kind = kinds[there.is_push != 0 ? 1 : 0];
      ++kind.messages;
      kind.behind += static_cast<double>(behind);
      kind.going += static_cast<double>(taken - left - behind);
      kind.served += static_cast<double>(there.end - there.begin);
      kind.coming += static_cast<double>(here->second->end - (there.end + shift));
    }
    for (MessageWays& kind : kinds) {
      if (kind.messages == 0) continue;
      for (double* const way : {&kind.behind, &kind.going, &kind.served, &kind.coming}) {
        *way /= static_cast<double>(kind.messages);
      }
      ways.push_back(kind);
    }
  }
  return ways;
}

}  // namespace rowhouse
