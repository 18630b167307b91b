// FloodGuard: keeps what peers send, and nobody has read yet, from filling a server's memory.
//
// libzmq reads whatever arrives: a limit at which it stops reading lets it abort (zeromq.cc). So a
// thread looks at the process's memory, a hundred times a second. Where it comes near the limit, or
// has grown, the guard asks the kernel how many bytes came by each TCP connection, and hangs up on
// the one of which the most was not taken by its listener, if that is more than any sound peer has
// on its way. libzmq then frees what is not a whole message. Afterwards free memory is given back.
//
// It counts what came, so it sees messages that never end, too. A peer can send some megabytes
// between two looks.
// Threads: one of its own; CountRead may be called on any.
#pragma once

#include <cstdint>
#include <map>
#include <thread>

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

  // A listener has taken a message of so many bytes, which came by the connection `fd`.
  void CountRead(int fd, uint64_t bytes);

 private:
  void Run();
  void Look(uint64_t resident_bytes);

  const uint64_t process_bytes_;
  const SystemClock clock_;
  uint64_t resident_at_look_ = 0;
  TimeMs looked_at_ = 0, trimmed_at_ = 0, trims_until_ = 0;
  Mutex mutex_;
  CondVar stopped_;
  bool is_stopping_ GUARDED_BY(mutex_) = false;
  std::map<int, uint64_t> read_ GUARDED_BY(mutex_);  // bytes taken, by connection
  std::thread thread_;
};

}  // namespace rowhouse
