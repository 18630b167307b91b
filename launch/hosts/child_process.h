// ChildProcess: a program that this process starts, watches and ends. posix_spawn starts it,
// because a process that has called MPI_Init must not fork.
//
// Threads: one per object.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/status.h"

namespace rowhouse {

struct ChildCommand {
  std::string program = "/proc/self/exe";                    // by default this program
  std::vector<std::string> arguments;                        // its name first
  std::optional<std::vector<std::string>> environment = {};  // nullopt: this process's
  int in = -1, out = -1, err = -1;                           // descriptors; -1: this process's
  // Descriptors passed on; the child sees them as kFirstInherited, +1, ...
  std::vector<int> inherited = {};
  // In a session of its own, so that Ctrl-C and mpirun's signals do not reach it. Signals that this
  // process blocks or handles have their defaults there.
  bool has_own_session = false;
};

// How it ended.
struct ChildEnd {
  int exit_code = -1;  // -1: by a signal
  int signal = 0;
};

class ChildProcess {
 public:
  // Above every open descriptor, so dup2 overwrites none that is still to be copied.
  static constexpr int kFirstInherited = 1000;

  // kResourceExhausted if this process may not have this many descriptors open; kIoError.
  static Result<std::unique_ptr<ChildProcess>> Start(const ChildCommand& command);
  ~ChildProcess();  // kills it if it still runs
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  pid_t pid() const { return pid_; }
  void Signal(int signal) const;
  // How it ended; nullopt if it still runs after `wait`.
  std::optional<ChildEnd> Wait(std::chrono::milliseconds wait);

 private:
  explicit ChildProcess(pid_t pid) : pid_(pid) {}

  const pid_t pid_;
  std::optional<ChildEnd> end_;
};

struct CommandOutput {
  int exit_code = -1;  // -1: a signal ended it
  std::string out, err;
};

// Runs the program, without input, to its end. It is asked to end (SIGTERM), and soon killed, at
// the deadline (kDeadlineExceeded) and when `check`, which is called all the while, fails.
Result<CommandOutput> RunToItsEnd(ChildCommand command, std::chrono::milliseconds deadline,
                                  const std::function<Status()>& check = &OkStatus);

}  // namespace rowhouse
