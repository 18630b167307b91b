#include "worker/client/waiting_for_room.h"

#include <glog/logging.h>

namespace rowhouse {

WaitingForRoom::WaitingForRoom(Communicator& workers, PsClient& client, Dialer& dialer,
                               const Clock& clock)
    : workers_(workers) {
  workers_.set_patience([&](uint32_t waited_ms, const std::string& phase) {
    if (client.busy() || !client.status().ok()) return false;  // It has failed.
    client.StartProbe(waited_ms);
    const Status looked = RunClient(client, dialer, clock);
    if (!looked.ok() || client.busy_message().empty()) {
      VLOG_IF(1, !looked.ok()) << looked.message();
      return false;
    }
    LOG(WARNING) << "worker " << Raw(workers.rank()) << ": " << phase
                 << ": waits on for the others, because " << client.busy_message();
    return true;
  });
}

WaitingForRoom::~WaitingForRoom() { workers_.set_patience(nullptr); }

}  // namespace rowhouse
