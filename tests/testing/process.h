// Processes under test: runs a command under a time limit, or starts one that the test can signal
// while it runs; and runs `rowhouse train` as operators do and reads its report.
//
// Nothing outlives a Process: its destructor, or its time limit, kills the command and all its
// descendants, including mpirun's ranks and PS servers, which have groups and sessions of their
// own. Programs are looked up in PATH; stdin is /dev/null. Threads: one caller each.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/testing/testing.h"

namespace rowhouse {

struct Command {
  std::vector<std::string> arguments;  // [0] is the program
  // Beside (or instead of) what this process has. HOME is an empty directory unless it is here.
  std::map<std::string, std::string> environment;
  std::string directory;  // to run in; "": where this process runs
  std::chrono::milliseconds time_limit{60000};
};

struct ProcessResult {
  int exit_code = -1;      // -1: it did not exit by itself
  int signal = 0;          // that ended it; 0: none
  bool timed_out = false;  // killed at its limit
  std::string out, err;
  double seconds = 0.0;

  // All of it as text, for failed assertions.
  std::string Describe() const;
};

class Process {
 public:
  // A process that descends from the command.
  struct Descendant {
    pid_t pid = 0;
    pid_t parent = 0;
    int rank = -1;  // in MPI_COMM_WORLD; -1: not started by mpirun (PS servers drop the variable)
    std::vector<std::string> arguments;
  };

  // Starts the command. If the program cannot be started, the exit code is 127, as in a shell.
  explicit Process(Command command);
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  pid_t pid() const { return pid_; }
  void Signal(int signal) const;  // to the command itself, not its descendants

  // Parents before children. To find a server: arguments[1] == "ps".
  std::vector<Descendant> Descendants() const;

  // Stdout so far.
  std::string Output() const;

  // Waits until stdout or stderr contains `text` so many times. False if the command ends or
  // reaches its limit first.
  bool WaitForOutput(const std::string& text, size_t times = 1);

  // Waits for the end. At the time limit, counted from the start, kills everything.
  ProcessResult Wait();

 private:
  bool Reap();  // true once the command has ended
  bool IsOverdue() const;
  void KillAll();

  const Command command_;
  const TempDir output_;
  const std::chrono::steady_clock::time_point start_;
  pid_t pid_ = -1;
  bool has_ended_ = false;
  int wait_status_ = 0;
};

// Start and Wait in one.
ProcessResult RunCommand(Command command);

// ---- rowhouse train ---------------------------------------------------------------------------

using Flags = std::vector<std::string>;
inline Flags operator+(Flags left, const Flags& right) {
  left.insert(left.end(), right.begin(), right.end());
  return left;
}

// Of a model with four small tables that each step touches more than once: adagrad, 40 samples a
// step.
inline Flags SmallModelFlags(const Flags& more = {}) {
  return Flags{"--arch_embedding_size=500-40-3-800",
               "--arch_sparse_feature_size=8",
               "--arch_mlp_bot=5-16-8",
               "--arch_mlp_top=16-1",
               "--loss_function=bce",
               "--round_targets",
               "--num_indices_per_lookup=8",
               "--mini_batch_size=40",
               "--optimizer=adagrad",
               "--learning_rate=0.05"} +
         more;
}

struct TrainRun {
  uint32_t ranks = 0;              // under mpirun; 0: without it
  std::vector<std::string> flags;  // after `rowhouse train`
  std::string directory;           // to run in
  std::chrono::milliseconds time_limit{60000};
};

struct TrainResult : ProcessResult {
  std::vector<double> printed_losses;  // of DLRM's lines, 6 decimals
  std::vector<double> losses;          // of the run's part of the report's curve, every bit
  std::string digest;                  // of the line `rows digest:`; "": none
  nlohmann::json report;               // null if none was written

  // A counter of the report, summed over all shards.
  uint64_t OverShards(const std::string& counter) const;
};

Command TrainCommand(const TrainRun& run);

// Adds --report unless the flags have --report or --model_dir.
TrainResult Train(TrainRun run);

}  // namespace rowhouse
