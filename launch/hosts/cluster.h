// Cluster: the MPI side of a run: meeting, agreeing, parting. Rows never travel by MPI.
// The only MPI outside is the workers' dense exchange (worker/mpi/mpi_communicator.h).
//
// MPI_Init is called only under a launcher: a process that nobody started by mpirun is a cluster
// of one without MPI. Every wait has a deadline that names the ranks that did not come.
// Threads: the main thread only.
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

  // MPI_Init and the first meeting, at most `deadline_ms`. A rank that never comes would leave the
  // others inside MPI_Init for ever: a watchdog then ends this process with a sentence and exit
  // code 1.
  static Result<std::unique_ptr<Cluster>> Join(uint32_t deadline_ms);

  virtual ~Cluster() = default;

  virtual int rank() const = 0;
  virtual int size() const = 0;
  virtual const std::vector<HostFacts>& facts() const = 0;    // by rank
  virtual const std::vector<std::string>& hosts() const = 0;  // by rank; their NamesOfHosts()
  const std::string& host() const { return hosts()[static_cast<size_t>(rank())]; }

  // All ranks. Used before training starts and by ranks that do not supervise afterwards.
  virtual Communicator& world() = 0;

  // A communicator of the workers alone; null on other ranks. All ranks must call.
  virtual Result<std::unique_ptr<Communicator>> MakeWorkers(const std::vector<int>& workers,
                                                            uint32_t deadline_ms) = 0;

  // The last meeting: tells all ranks that this one is done. Once.
  virtual void PartNow() = 0;
  // The ranks that have not told so yet, this one left out. Does not wait: ranks that supervise
  // ask now and then instead of waiting inside MPI, which spins.
  virtual std::vector<int> NotParted() = 0;

  // Ends every rank of the run with this exit code. Does not return under mpirun.
  virtual void Abort(int exit_code) = 0;

  // The clean end, once NotParted() is empty; no call may follow.
  virtual void Finalize() = 0;
};

}  // namespace rowhouse
