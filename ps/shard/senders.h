// Senders: which process speaks as which worker of a job. A rank belongs to the process that spoke
// as it first, as long as the job lasts: that process may connect again, no other takes its rank.
// Threads: one.
#pragma once

#include <cstdint>
#include <unordered_map>

#include "common/status.h"
#include "common/transport/transport.h"
#include "common/wire/header.h"

namespace rowhouse {

class Senders {
 public:
  // Whether a message with `header` may come from `peer`: an identity that names the same job and
  // worker (kCorruption if not), and the process that this worker is (kUnavailable if not).
  // Requires that the job has such a worker, which bounds what is kept.
  Status Check(const PeerId& peer, const Header& header);

 private:
  std::unordered_map<uint32_t, uint64_t> sessions_;  // by rank
};

// The first half of it.
Status CheckNames(const PeerId& peer, const Header& header);

}  // namespace rowhouse
