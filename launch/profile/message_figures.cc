#include "launch/profile/message_figures.h"

#include <algorithm>
#include <functional>
#include <unordered_map>

#include "launch/figures/figure_text.h"

namespace rowhouse {

std::vector<MessageWays> WaysOf(const RunProfile& profile, const RankProfile& rank) {
  std::vector<MessageWays> ways;
  if (!rank.is_worker) return ways;
  const auto worker = static_cast<uint32_t>(&rank - profile.ranks.data());
  std::unordered_map<uint64_t, const MessageTimes*> sent;
  for (const MessageTimes& one : rank.messages) sent.emplace(one.request_id, &one);
  for (const RankProfile& shard : profile.ranks) {
    if (shard.is_worker) continue;
    MessageWays kinds[] = {{.shard = shard.name, .is_push = false},
                           {.shard = shard.name, .is_push = true}};
    // From the shard's clock to the worker's.
    const TimeNs shift = rank.clock_offset - shard.clock_offset;
    for (const MessageTimes& there : shard.messages) {
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
      ways.push_back(std::move(kind));
    }
  }
  return ways;
}

FigureTable MessagesTable(const RunProfile& profile, const RankProfile& rank) {
  constexpr size_t kMany = 16;
  FigureTable table{.columns = {{"kind", "messages"},
                                {"shard", "shard"},
                                {"number", "number", &CountText},
                                {"behind_us", "behind us", &FixedText<1>},
                                {"going_us", "going us", &FixedText<1>},
                                {"served_us", "served us", &FixedText<1>},
                                {"coming_us", "coming us", &FixedText<1>}}};
  std::vector<MessageWays> all = WaysOf(profile, rank);
  if (all.size() > kMany) std::ranges::sort(all, std::greater(), &MessageWays::all);
  for (const MessageWays& ways : all) {
    table.rows.push_back({ways.is_push ? "push" : "pull", ways.shard, ways.messages,
                          ways.behind * 1e-3, ways.going * 1e-3, ways.served * 1e-3,
                          ways.coming * 1e-3});
  }
  return table;
}

}  // namespace rowhouse
