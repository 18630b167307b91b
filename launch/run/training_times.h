// TrainingTimes: how the time of each shard divides from the first step to the last, without what
// it did before (opening) and does afterwards (saving, testing). What lies between steps counts.
//
// Threads: one.
#pragma once

#include <vector>

#include "common/clock.h"
#include "common/transport/transport.h"
#include "common/wire/shard_times.h"
#include "worker/client/ps_client.h"

namespace rowhouse {

class TrainingTimes {
 public:
  // References outlive this.
  TrainingTimes(PsClient& client, Dialer& dialer, const Clock& clock)
      : client_(client), dialer_(dialer), clock_(clock) {}

  // Ask the shards, without making them wait. Where they do not answer, the next operation of the
  // client says why.
  void Begin() { before_ = Ask(); }
  void End() { after_ = Ask(); }

  // Empty if it is not known.
  std::vector<ShardTimes> by_shard() const;

 private:
  std::vector<ShardTimes> Ask();

  PsClient& client_;
  Dialer& dialer_;
  const Clock& clock_;
  std::vector<ShardTimes> before_, after_;
};

}  // namespace rowhouse
