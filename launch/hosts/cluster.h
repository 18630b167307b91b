// Cluster: the ranks of a run by MPI: they meet, exchange facts about their hosts, and part. Rows
// never travel by MPI; the workers' communicator does (worker/mpi/mpi_communicator.h).
//
// MPI_Init is called only under mpirun; any other process is a cluster of one without MPI. Every
// wait has a deadline; its error names the missing ranks. Threads: the main thread only.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "common/status.h"
#include "launch/hosts/host_facts.h"
#include "worker/mpi/communicator.h"

namespace rowhouse {

class Cluster {
 public:
  // True if this process was started by mpirun.
  static bool IsUnderMpirun();

  // MPI_Init, and the exchange of host facts, within `deadline_ms`. If a rank does not come,
  // MPI_Init never returns; a watchdog then ends this process with a message and exit code 1.
  static Result<std::unique_ptr<Cluster>> Join(uint32_t deadline_ms);

  int rank() const { return rank_; }
  int size() const { return size_; }
  const std::vector<HostFacts>& facts() const { return facts_; }    // by rank
  const std::vector<std::string>& hosts() const { return hosts_; }  // by rank; their NamesOfHosts()
  const std::string& host() const { return hosts_[static_cast<size_t>(rank_)]; }

  // The communicator of all ranks, for use before training starts.
  Communicator& world() { return *world_; }

  // A communicator of the workers alone; null on other ranks. All ranks must call. Requires mpirun.
  Result<std::unique_ptr<Communicator>> MakeWorkers(const std::vector<int>& workers,
                                                    uint32_t deadline_ms);

  // A communicator of all ranks that returns errors, for messages that are no collectives; the
  // caller's. All ranks must call. Requires mpirun.
  Result<MPI_Comm> Duplicate(uint32_t deadline_ms);

  // Tells all ranks that this one is done. Called once.
  void PartNow();
  // The other ranks that have not parted yet. Returns at once: supervisors ask now and then, as
  // waiting inside MPI spins.
  std::vector<int> NotParted();

  // Ends every rank of the run with this exit code. Does not return.
  [[noreturn]] void Abort(int exit_code);

  // The clean end, once NotParted() is empty; no call may follow.
  void Finalize();

 private:
  Cluster() = default;
  // Exchanges the facts of hosts; under mpirun.
  Status Meet(uint32_t deadline_ms);

  int rank_ = 0, size_ = 1;
  std::vector<HostFacts> facts_;
  std::vector<std::string> hosts_;
  std::unique_ptr<Communicator> world_;
  std::vector<MPI_Request> partings_;  // by rank; null once the rank has parted
};

// Whether a person watches what this process prints: stdout is a terminal. Under mpirun, whose
// ranks always have a pseudo-terminal, it is mpirun's stdout that counts, if mpirun runs on this
// host.
bool IsWatchedOnTerminal();

// Whether hosts share a directory.

// Collective. Whether all ranks find in `directory` what rank 0 makes there for a moment: they are
// on one host, or the directory lies on storage that all hosts see. While it does not exist, the
// nearest directory above it is asked. False, too, where rank 0 can make no file.
Result<bool> DoAllSee(const std::string& directory, Communicator& ranks);

}  // namespace rowhouse
