// FloodGuard: keeps what peers send, and nobody has read yet, from filling a server's memory.
//
// libzmq reads whatever arrives: a limit at which it stops reading lets it abort (zeromq.cc). So
// the guard counts what libzmq reads. Near the process's limit it asks the kernel how many bytes
// came by each TCP connection (those of Unix sockets it counts itself), and estimates the memory
// that those take which no listener has taken: small messages take a multiple of their bytes, as
// those of the same connection did that were taken last, and libzmq keeps a buffer for what one
// read brought, however little, while a message of it is there. While that exceeds the limit less
// all other memory of the process, connections of which more than a little is unread get nothing to
// read; the others, newcomers among them, go on. If a second passes and nothing was taken, because
// messages are incomplete, the guard hangs up, first on the connection with the most unread. What
// that sent is thrown away, and free memory is given back.
//
// It counts what came, so it sees messages that never end, too; but not in how many frames, of
// which each takes 64 bytes.
//
// libzmq has no hook where it reads: flood_guard.cc defines recv() for the whole program.
//
// Threads: one of its own, which looks a hundred times a second; CountRead, MayRead and OnRead may
//          be called on any.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <thread>
#include <vector>

#include "common/clock.h"
#include "common/mutex.h"

namespace rowhouse {

class FloodGuard {
 public:
  // Sound peers have a window of pulls and one of pushes on their way.
  static constexpr uint64_t kSoundBytes = uint64_t{40} << 20;
  // Too much in any case.
  static constexpr uint64_t kMaxBytes = uint64_t{256} << 20;

  // `process_bytes`: what the process may take.
  explicit FloodGuard(uint64_t process_bytes);
  ~FloodGuard();
  FloodGuard(const FloodGuard&) = delete;
  FloodGuard& operator=(const FloodGuard&) = delete;

  // A listener has taken a message that came by the connection `fd`: its bytes on the wire, and the
  // memory that it took. False: it was hung up on, so nobody has to look at the message.
  [[nodiscard]] bool CountRead(int fd, uint64_t bytes, uint64_t memory_bytes);

  // The message that a listener handles now has `bytes`; the one before had `before_bytes`. 0: no
  // message. Nobody else counts the memory of these messages.
  void CountInHand(uint64_t before_bytes, uint64_t bytes);

  // How many of `bytes` the calling thread may read of the connection `fd` now. 0: it is to ask
  // again; it may have waited for a moment here.
  static size_t MayRead(int fd, size_t bytes);
  // From now on this process listens on a Unix socket, too, whose bytes OnRead is to count: the
  // kernel does not.
  static void NoteLocalListener();
  // It has read this many bytes of the connection `fd`.
  static void OnRead(int fd, uint64_t bytes);

 private:
  // By the kernel's number of a socket: descriptors are used again.
  using SocketId = uint64_t;
  // Of some messages or reads, the last for instance: bytes on the wire, and the memory that they
  // take.
  struct Last {
    uint64_t bytes = 0, memory_bytes = 0;
    // Of the last `window_bytes` or so.
    void Add(uint64_t more, uint64_t more_memory, uint64_t window_bytes);
    // That unread messages take if they are like these.
    uint64_t MemoryOf(uint64_t unread_bytes) const;
  };
  struct Taken {
    uint64_t bytes = 0;
    Last last = {};
  };
  struct Unread {
    int fd = -1;
    SocketId id = 0;
    uint64_t bytes = 0;         // on the wire
    uint64_t memory_bytes = 0;  // estimated
  };

  void Run();
  // What comes before a flood is noticed and stopped has to fit into the rest.
  bool IsNear(uint64_t resident_bytes) const {
    constexpr uint64_t kRoom = uint64_t{64} << 20;
    const uint64_t room = std::max(process_bytes_ / 8, std::min(process_bytes_ / 2, kRoom));
    return resident_bytes > process_bytes_ - room;
  }
  // Those with any, the one with the most memory first.
  std::vector<Unread> FindUnread() REQUIRES(looking_);
  void HangUp(const Unread& one);
  // Memory that may be unread of all connections together.
  uint64_t MaxUnread(uint64_t resident_bytes, uint64_t unread_memory_bytes) const;
  void LookNow() REQUIRES(looking_);
  // `in_vain`: it was waited for listeners to take what is there.
  void Look(uint64_t resident_bytes, bool in_vain) REQUIRES(looking_);
  void SetUnread(const std::vector<Unread>& all, bool forgets_ended);
  void Count(uint64_t bytes);
  // Of unread bytes: the more of what messages as those of `last` take, and of libzmq's buffers.
  uint64_t MemoryOf(uint64_t unread_bytes, const Last& last) const REQUIRES(mutex_) {
    return std::max(last.MemoryOf(unread_bytes), last_reads_.MemoryOf(unread_bytes));
  }
  // Whether more is unread than may be.
  bool IsFull();
  // Bytes that may be read of the connection now.
  size_t Admits(int fd);
  bool HasWaitedInVain();

  const uint64_t process_bytes_;
  const SystemClock clock_;
  Mutex looking_;  // taken before mutex_
  uint64_t resident_at_look_ GUARDED_BY(looking_) = 0, trimmed_to_ GUARDED_BY(looking_) = 0;
  TimeMs looked_at_ GUARDED_BY(looking_) = 0, trimmed_at_ GUARDED_BY(looking_) = 0,
                    trims_until_ GUARDED_BY(looking_) = 0, forgave_at_ GUARDED_BY(looking_) = 0;
  Mutex mutex_;
  CondVar stopped_;
  bool is_stopping_ GUARDED_BY(mutex_) = false;
  std::map<SocketId, Taken> taken_ GUARDED_BY(mutex_);
  std::map<int, SocketId> hung_up_ GUARDED_BY(mutex_);  // until another has the descriptor
  // What FindUnread would find, and of connections that have ended.
  int64_t unread_bytes_ GUARDED_BY(mutex_) = 0;
  uint64_t in_hand_bytes_ GUARDED_BY(mutex_) = 0;
  Last last_ GUARDED_BY(mutex_);            // messages of all connections
  Last last_reads_ GUARDED_BY(mutex_);      // reads of all connections, by libzmq's buffers
  Last found_ GUARDED_BY(mutex_);           // what FindUnread found last
  TimeMs ended_at_ GUARDED_BY(mutex_) = 0;  // when it last was no more than FindUnread found
  uint64_t not_looked_bytes_ GUARDED_BY(mutex_) = 0;  // read since IsFull last looked
  bool is_full_ GUARDED_BY(mutex_) = false;
  // Since it is full: the least that was unread, and when it last became less.
  int64_t least_unread_ GUARDED_BY(mutex_) = 0;
  TimeMs least_at_ GUARDED_BY(mutex_) = 0;
  uint64_t spared_bytes_ GUARDED_BY(mutex_);  // a connection with less unread may go on
  std::thread thread_;
};

}  // namespace rowhouse
