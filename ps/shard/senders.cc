#include "ps/shard/senders.h"

#include "common/transport/peer_name.h"

namespace rowhouse {
namespace {

Result<PeerName> NameOf(const PeerId& peer, const Header& header) {
  ASSIGN_OR_RETURN(PeerName name, ReadPeerId(peer));
  if (name.job_id == header.job_id && name.worker == header.sender) return name;
  return CorruptionError(
      "a message of worker {} of job {:016x} over the connection of worker {} of job {:016x}",
      header.sender, header.job_id, name.worker, name.job_id);
}

}  // namespace

Status CheckNames(const PeerId& peer, const Header& header) {
  return NameOf(peer, header).status();
}

Status Senders::Check(const PeerId& peer, const Header& header) {
  ASSIGN_OR_RETURN(const PeerName name, NameOf(peer, header));
  if (sessions_.try_emplace(name.worker, name.session).first->second == name.session) {
    return OkStatus();
  }
  return MakeStatus(StatusCode::kUnavailable,
                    "worker {} of job {:016x} is another process already: the rank is taken",
                    name.worker, name.job_id);
}

}  // namespace rowhouse
