// PeerName: what the identity of a worker's dialer says. Nobody else can take over a worker's
// connection, as nobody else knows its session.
#pragma once

#include <cstdint>
#include <string>

#include "common/status.h"
#include "common/transport/transport.h"

namespace rowhouse {

struct PeerName {
  uint64_t job_id = 0;
  uint32_t worker = 0;       // rank
  uint64_t session = 0;      // a random number, of this process and this job
  std::string use = "rows";  // what the dialer is for; two of one process differ in it
};

// For PeerName::session.
uint64_t NewSession();

// "000000000000004d-w3-5e0fd1a2b3c4d5e6-rows".
PeerId PeerIdOf(const PeerName& name);

// kCorruption for what is not of that form.
Result<PeerName> ReadPeerId(const PeerId& peer);

}  // namespace rowhouse
