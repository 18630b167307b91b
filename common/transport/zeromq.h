// A Transport over TCP and Unix sockets, by ZeroMQ. Threads: see transport.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "common/transport/security.h"
#include "common/transport/transport.h"

namespace rowhouse {

// The largest piece of a frame on the wire: a large frame travels in pieces, so that a receiver
// bounds what it must take before it has looked at anything. A frame of this many bytes or more is
// several pieces, copied on both sides, which makes pulls a fifth slower, and pushes an eighth.
// Parts of pulls and pushes are smaller: 4 MB, and 20,000 rows of 256 bytes where only rows bound
// them.
inline constexpr int64_t kMaxPieceBytes = 6 << 20;

// What a sound peer has on its way in one direction: a window of 4 parts, and something beside it.
inline constexpr size_t kWindowBytes = 5 * kMaxPieceBytes;

struct ZeroMqOptions {
  int io_threads = 1;
  int64_t max_message_bytes = kMaxPieceBytes;  // larger pieces of frames close the connection
  // A message with a larger one, or of more than 256 pieces, arrives without frames.
  size_t max_frame_bytes = kMaxFrameBytes;
  int high_water_mark = 32;                   // messages to a peer that wait inside ZeroMQ
  size_t peer_queue_messages = 10000;         // further messages to a peer, in our own queue
  size_t peer_queue_bytes = size_t{1} << 30;  // bytes of all that wait for a peer, anywhere
  // Of all that wait, for all peers. Beyond it a listener sends only to a peer for which less than
  // kWindowBytes wait, or nothing; and beyond twice as much to nobody.
  size_t queue_bytes = size_t{1} << 30;
  // Of a server: what its process may take. Connections that send more than is read are closed when
  // it comes near, and each beyond 256 MiB at once (flood_guard.h). 0: they are not watched.
  uint64_t process_bytes = 0;
  // Time between heartbeats; 0: there are none. Dialers send them, and a dialer drops a listener
  // that was silent for five such times. A listener uses TCP's keepalive instead, and drops a
  // dialer whose host was silent for as long.
  int heartbeat_ms = 2000;
  // A listener hangs up on a peer to which nothing could be sent for so long, as it does not read;
  // 0: it waits. Then a host that vanished is found after this time, too. TCP only: listeners with
  // a time have no local_endpoint().
  int unread_ms = 0;
  // A dialer gives up a listener when the connection to it broke and none could be made for so
  // long; where the listener's host says that nobody listens there any more, after a second.
  int lost_ms = 60000;
  int linger_ms = 1000;  // how long closing waits for what is still to be sent
  Security security = {};
};

// A transport. Each listener on TCP also has a Unix socket in the abstract namespace, of which no
// file stays behind. Its listeners and dialers may outlive it. Raises the process's soft limit
// of open files to the hard one, as every connection needs one.
std::unique_ptr<Transport> MakeZeroMqTransport(const ZeroMqOptions& options);

}  // namespace rowhouse
