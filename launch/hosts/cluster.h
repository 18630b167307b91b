// Cluster: the ranks of a run by MPI: they meet, exchange facts about their hosts, and part. Rows
// never travel by MPI; the workers' communicator does (worker/mpi/mpi_communicator.h).
//
// MPI_Init is called only under mpirun; any other process is a cluster of one without MPI. Every
// wait has a deadline; its error names the missing ranks. Threads: the main thread only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
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

  virtual ~Cluster() = default;

  virtual int rank() const = 0;
  virtual int size() const = 0;
  virtual const std::vector<HostFacts>& facts() const = 0;    // by rank
  virtual const std::vector<std::string>& hosts() const = 0;  // by rank; their NamesOfHosts()
  const std::string& host() const { return hosts()[static_cast<size_t>(rank())]; }

  // The communicator of all ranks, for use before training starts.
  virtual Communicator& world() = 0;

  // A communicator of the workers alone; null on other ranks. All ranks must call.
  virtual Result<std::unique_ptr<Communicator>> MakeWorkers(const std::vector<int>& workers,
                                                            uint32_t deadline_ms) = 0;

  // Tells all ranks that this one is done. Called once.
  virtual void PartNow() = 0;
  // The other ranks that have not parted yet. Returns at once: supervisors ask now and then, as
  // waiting inside MPI spins.
  virtual std::vector<int> NotParted() = 0;

  // Ends every rank of the run with this exit code. Does not return under mpirun.
  virtual void Abort(int exit_code) = 0;

  // The clean end, once NotParted() is empty; no call may follow.
  virtual void Finalize() = 0;
};

// Whether a person watches what this process prints: stdout is a terminal. Under mpirun, whose
// ranks always have a pseudo-terminal, it is mpirun's stdout that counts, if mpirun runs on this
// host.
bool IsWatchedOnTerminal();

}  // namespace rowhouse
