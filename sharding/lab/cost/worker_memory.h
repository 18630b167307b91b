// WorkerMemory: what rows that live on a worker, and the dense part, take of its memory. Threads:
// pure functions.
#pragma once

#include "sharding/lab/cost/machine.h"
#include "sharding/lab/traffic/workload.h"
#include "sharding/plans/plan.h"

namespace rowhouse {

// So many rows of a table: records with optimizer state, as shards have them, and gradients. The
// sum over workers takes three copies of the gradients more: sent, received and gathered
// (worker/mpi/mpi_communicator.h).
double BytesOnWorker(const TableSpec& table, double rows);

// Parameters, optimizer state, and gradients, which are summed likewise.
double BytesOfDensePart(const DenseShape& dense);

// All of it under a plan.
double BytesOnWorker(const Workload& workload, const Plan& plan);

// What a worker may have of memory: what the cluster says, or else an equal part of its host's, of
// PS nodes and workers there, as far as the machine knows it; 0: any.
uint64_t WorkerMemoryLimit(const ClusterShape& cluster, const Machine& machine);

// Of a table on each worker: all, the hot ones, or none.
double RowsOnWorker(const TableSpec& table, const Plan& plan);

}  // namespace rowhouse
