#include "common/transport/peer_name.h"

#include <fmt/format.h>
#include <glog/logging.h>
#include <sys/random.h>

#include <charconv>
#include <string_view>

namespace rowhouse {
namespace {

// Takes a number and `end` off the front of `*text`.
template <typename Number>
bool Take(std::string_view* text, int base, std::string_view end, Number* number) {
  const auto [last, error] =
      std::from_chars(text->data(), text->data() + text->size(), *number, base);
  if (error != std::errc()) return false;
  text->remove_prefix(static_cast<size_t>(last - text->data()));
  if (!text->starts_with(end)) return false;
  text->remove_prefix(end.size());
  return true;
}

}  // namespace

uint64_t NewSession() {
  uint64_t session = 0;
  PCHECK(getrandom(&session, sizeof(session), 0) == sizeof(session)) << "getrandom";
  return session;
}

PeerId PeerIdOf(const PeerName& name) {
  return fmt::format("{:016x}-w{}-{:016x}-{}", name.job_id, name.worker, name.session, name.use);
}

Result<PeerName> ReadPeerId(const PeerId& peer) {
  PeerName name;
  std::string_view rest = peer;
  if (Take(&rest, 16, "-w", &name.job_id) && Take(&rest, 10, "-", &name.worker) &&
      Take(&rest, 16, "-", &name.session)) {
    name.use = rest;
    return name;
  }
  return CorruptionError("the identity of this connection names no worker");
}

}  // namespace rowhouse
