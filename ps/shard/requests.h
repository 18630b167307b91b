// Requests: what a shard makes of its peers' bytes. Every size, row and number is checked here, so
// that a peer's mistake does not become ours; what comes out is sound and needs no more checks,
// except those that depend on the state of a step (Pushes).
//
// Errors: kCorruption for bytes that no sound worker sends, kUnavailable for those of another job,
//         of an earlier server or of another peer than the worker's, kInternal for a step that is
//         out of order, kResourceExhausted where the node's memory limit leaves no room.
// Threads: the shard's thread only.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "common/frame.h"
#include "common/status.h"
#include "common/wire/checkpoint.h"
#include "common/wire/message.h"
#include "common/wire/pull.h"
#include "common/wire/push.h"
#include "ps/shard/bags.h"
#include "ps/shard/local_tables.h"
#include "ps/shard/request_memory.h"
#include "ps/shard/shard_state.h"

namespace rowhouse {

// Workers meet in the dense allreduce of every step, so the step of a pull or push is at most one
// later than the step to be applied. A request that is more than kMaxStepsAhead later comes from a
// broken peer.
inline constexpr uint64_t kMaxStepsAhead = 2;

// Beside its frames a request takes about this many bytes.
inline constexpr uint64_t kRequestBytes = 1024;

// An entry of a list that divides the ids of a message by table: the next `rows` ids belong to
// `table`.
struct LocalRows {
  uint32_t table = 0;  // index into LocalTables
  uint32_t rows = 0;
};

struct PullTask {
  Request request;
  bool eval = false;
  // The tables of `ids`: first the rows that the reply has, then the rows of the bags, which are
  // read like the others unless the cache has them all.
  std::vector<LocalRows> tables;
  Frame ids;
  Frame counts;              // one a row; none for eval
  size_t reply_numbers = 0;  // of the rows of the reply
  std::vector<PulledBags> bags;
  RequestCharge held = {};  // what is above
};

// One part of a worker's push, as received.
struct PushPart {
  std::vector<LocalRows> tables;
  Frame ids;
  Frame gradients;  // in the push's precision
  Frame counts;     // one a row, or empty where no table of the part needs them
  std::vector<TableBags> bags;
  Frame bag_gradients;
  Frame bag_winners;
  Frame body;  // of the message, for the log
  float learning_rate = 0.0f;
  RequestCharge held = {};

  uint64_t rows() const { return ids.size() / sizeof(uint64_t); }
  uint64_t bytes() const {
    return ids.size() + gradients.size() + counts.size() + bag_gradients.size() +
           bag_winners.size() + body.size();
  }
  PushedBags pushed_bags() const {
    return {.parts = bags, .gradients = bag_gradients, .winners = bag_winners};
  }
};

struct PrefetchTask {
  uint64_t step = 0;
  std::vector<LocalRows> tables;
  Frame ids;
};

class Requests {
 public:
  Requests(const ShardState& state, const LocalTables& tables) : state_(state), tables_(tables) {}

  // Whether the message is of this job, for this server, and from one of its workers.
  Status CheckHeader(const Header& header) const;

  Result<PullTask> ReadPull(const PeerId& peer, Message message) const;
  Result<PushPart> ReadPush(Message message) const;
  Result<PrefetchTask> ReadPrefetch(Message message) const;
  Result<CheckpointRequest> ReadCheckpoint(const Message& message) const;
  // Whether what a worker asks between two steps is asked of a step that is near.
  Status CheckControl(const Header& header) const;

 private:
  Result<std::vector<LocalRows>> ReadTables(const std::vector<TableRows>& parts,
                                            const Frame& ids) const;
  Result<const LocalTable*> TableOf(uint32_t table, uint32_t first_column) const;
  Status CheckCounts(const std::vector<LocalRows>& tables, const Frame& counts) const;
  struct BagFrames {
    const Frame& ids;
    const Frame& lengths;
    const Frame& weights;
  };
  Result<std::vector<PulledBags>> ReadBags(const std::vector<TableBags>& parts,
                                           const BagFrames& frames) const;
  Status CheckBagSizes(const std::vector<TableBags>& parts, const BagFrames& frames) const;
  Result<std::vector<uint64_t>> ReadBagRows(const LocalTable& table, uint32_t lookups,
                                            const std::byte** id) const;
  void AddRowsOfBags(PullTask* pull) const;
  Result<uint64_t> ReplyBytes(const PullRequest& body) const;

  const std::string& name() const { return state_.options.name; }

  const ShardState& state_;
  const LocalTables& tables_;
};

}  // namespace rowhouse
