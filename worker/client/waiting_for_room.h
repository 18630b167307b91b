// WaitingForRoom: what lets a worker wait longer for the others while the disk of a shard is full.
//
// A worker whose rows have come waits for the others in an exchange, which no shard can tell BUSY.
// When that wait expires, the worker asks the shards whether any of them is, or was meanwhile, kept
// from going on by a full disk (PsClient::StartProbe); if so, the others may come yet, and the wait
// begins anew.
// Threads: the worker's one.
#pragma once

#include "common/clock.h"
#include "common/transport/transport.h"
#include "worker/client/ps_client.h"
#include "worker/mpi/communicator.h"

namespace rowhouse {

class WaitingForRoom {
 public:
  // Is the patience of `workers` while it lives. No exchange is made while `client` is busy; all
  // outlive this.
  WaitingForRoom(Communicator& workers, PsClient& client, Dialer& dialer, const Clock& clock);
  ~WaitingForRoom();
  WaitingForRoom(const WaitingForRoom&) = delete;
  WaitingForRoom& operator=(const WaitingForRoom&) = delete;

 private:
  Communicator& workers_;
};

}  // namespace rowhouse
