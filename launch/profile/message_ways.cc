#include "launch/profile/message_ways.h"

#include <algorithm>
#include <unordered_map>

namespace rowhouse {

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
