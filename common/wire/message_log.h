// MessageLog: when the pulls and pushes of a profiled run were sent and answered, as a worker or a
// shard saw it. Both sides' logs of one message say what its time went to
// (launch/profile/run_profile.h).
//
// Threads: one. Reads no clock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "common/clock.h"
#include "common/frame.h"
#include "common/serialized.h"
#include "common/transport/transport.h"

namespace rowhouse {

// One request and its answer. On a worker: when it was handed to the transport, and when its answer
// was taken from there. On a shard: since when the shard looked for a message (`ready`; a worker's
// is its `begin`), when it took the request from the transport, and when it handed over the answer.
struct MessageTimes {
  uint64_t request_id = 0;  // one of the worker's
  uint32_t worker = 0;      // its rank
  uint8_t is_push = 0;      // else a pull
  TimeNs ready = 0, begin = 0, end = 0;
  SERIALIZED(request_id, worker, is_push, ready, begin, end);
};

class MessageLog {
 public:
  static constexpr size_t kMaxMessages = size_t{1} << 14;  // kept: the last ones

  // Messages of other types, and frames that are no message, are passed over. `peer`: who asks; on
  // a worker "".
  void OnRequest(const PeerId& peer, const Frames& frames, TimeNs ready, TimeNs at);
  void OnAnswer(const PeerId& peer, const Frames& frames, TimeNs at);

  // Those that were answered.
  std::vector<MessageTimes> Answered() const;
  void Clear();

 private:
  std::map<std::pair<PeerId, uint64_t>, MessageTimes> under_way_;
  std::vector<MessageTimes> answered_;  // a ring
  size_t next_ = 0;
};

}  // namespace rowhouse
