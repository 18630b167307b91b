// WaitingForRoom: extends a worker's deadline for the other workers while the disk of a shard is
// full.
//
// A worker that has its rows waits for the other workers in a collective operation, in which no
// shard can tell it BUSY. When that deadline passes, this worker asks the shards whether a disk is
// full, or was full while the worker waited (PsClient::StartProbe). If so, the other workers may
// still be waiting for their rows, and the deadline begins anew. Threads: the worker's one.
#pragma once

#include "common/clock.h"
#include "common/transport/transport.h"
#include "worker/client/ps_client.h"
#include "worker/mpi/communicator.h"

namespace rowhouse {

class WaitingForRoom {
 public:
  // While this lives, `workers` asks it whether to wait on (Communicator::set_patience). All
  // arguments outlive this, and `client` is not busy while the worker waits for the others.
  WaitingForRoom(Communicator& workers, PsClient& client, Dialer& dialer, const Clock& clock);
  ~WaitingForRoom();
  WaitingForRoom(const WaitingForRoom&) = delete;
  WaitingForRoom& operator=(const WaitingForRoom&) = delete;

 private:
  Communicator& workers_;
};

}  // namespace rowhouse
