// WorkerMemory: what rows that live on a worker, and the dense part, take of its memory. Threads:
// pure functions.
#pragma once

#include "sharding/lab/cost/machine.h"
#include "sharding/lab/traffic/workload.h"
#include "sharding/plans/plan.h"

namespace rowhouse {

// What this many rows of a table take: records with optimizer state, as shards have them, and
// gradients. The sum over workers takes three copies of the gradients more: sent, received and
// gathered (worker/mpi/mpi_communicator.h).
double BytesOnWorker(const TableSpec& table, double rows);

// Parameters, optimizer state, and gradients, which are summed likewise.
double BytesOfDensePart(const DenseShape& dense);

// All of it under a plan.
double BytesOnWorker(const Workload& workload, const Plan& plan);

// Bytes of memory that a worker may use: the cluster's limit, if it has one; else its host's memory
// divided equally among the PS nodes and workers on it. 0: no limit is known.
uint64_t WorkerMemoryLimit(const ClusterShape& cluster, const Machine& machine);

// Of a table on each worker: all, the hot ones, or none.
double RowsOnWorker(const TableSpec& table, const Plan& plan);

}  // namespace rowhouse
