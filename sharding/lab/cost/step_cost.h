// PredictStep: what a step costs under a plan: time by phase, and load, bytes, hit rate and memory
// of each rank. The slowest rank decides.
//
// Threads: pure functions.
#pragma once

#include <string_view>
#include <vector>

#include "common/status.h"
#include "common/step_phases.h"
#include "sharding/lab/cost/machine.h"
#include "sharding/lab/traffic/workload.h"
#include "sharding/plans/plan.h"

namespace rowhouse {

struct RankCost {
  double rows_pulled = 0;  // a step; from a PS node or by a worker
  double rows_pushed = 0;
  double accesses = 0;                 // lookups that end here, before merging
  double bytes_in = 0, bytes_out = 0;  // a step, headers included
  double hit_rate = 1;                 // of pulled rows
  double memory_bytes = 0;             // PS node: bytes of caches (store=memory: all rows)
  double disk_bytes = 0;
  // Milliseconds of a core, a step. Of a PS node: answering pulls, taking pushes, summing and
  // updating, and the store's threads.
  double busy_ms = 0;  // their sum; of a worker: all that it does
  double pull_ms = 0, push_ms = 0, apply_ms = 0;
  double store_ms = 0;    // of busy_ms: the store's threads, beside pulls
  double ahead_ms = 0;    // serial part of store_ms; if longer than a step, pulls wait
  double pull_bytes = 0;  // of bytes_in + bytes_out; the rest is pushes
};

struct TableCost {
  double rows_pulled = 0, rows_pushed = 0, bytes = 0, hit_rate = 1;
  double read_share = 0;  // of rows_pulled: from the store
  // About what a step would save without the table: its lookups, its share of pull and push by
  // bytes, and of allreduce and update by the floats that it has on the workers.
  double ms = 0;
};

enum class Bound { kCompute, kPull, kPush, kStore, kWire, kAllreduce, kData, kCalls };
std::string_view BoundName(Bound bound);  // "compute", "pull", "network", ...

struct StepCost {
  double ms = 0;
  StepPhases phases;              // milliseconds, of the slowest worker; allreduce waits included
  std::vector<RankCost> ps;       // each PS node
  std::vector<RankCost> workers;  // one entry: they are alike
  std::vector<TableCost> tables;  // each physical table
  double parked_ms = 0;   // part of phases.pull spent waiting for the update of the previous step
  double crowded_ms = 0;  // part of phases.push spent waiting for cores that updating shards use
  // Computing while rows and gradients are on their way, which is in neither phases.pull nor push.
  double beside_pull_ms = 0, beside_push_ms = 0;
  double wait_ms = 0;     // part of phases.allreduce spent waiting for slower workers of the host
  double wire_bytes = 0;  // a step, over all workers, both ways (report: wire_bytes_per_step)
  double hit_rate = 1;    // of all pulled rows
  Bound bound = Bound::kCompute;
  // The most threads of a host that want a core at once. Phases alternate: either its workers
  // compute, each with its compute threads, or its shards serve, each with one; the larger number
  // counts. Threads that overlap where phases meet, and those of ZeroMQ and the store, are not
  // counted: their work is in the times.
  double busy_threads = 0;
  bool is_oversubscribed = false;  // more of them than cores: the time is a guess
};

// kUsage, naming what is missing, if the machine lacks a kernel that the run needs.
Result<StepCost> PredictStep(const Workload& workload, const Plan& plan,
                             const ClusterShape& cluster, const Machine& machine);

}  // namespace rowhouse
