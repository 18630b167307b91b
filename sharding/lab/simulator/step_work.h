// StepWork: the numbers of a step that a simulation replays: how long each part takes when nothing
// else is under way, and what it asks of links and cores. Waiting is what the simulation adds.
//
// Threads: plain data, pure functions.
#pragma once

#include <cstdint>
#include <vector>

#include "common/status.h"
#include "sharding/lab/cost/step_cost.h"

namespace rowhouse {

// What the requests of one worker's step cost one PS node.
struct PsWork {
  double pull_ms = 0;   // of the node, whose shards share it, to answer the pull
  double push_ms = 0;   // likewise, to take the push
  double apply_ms = 0;  // to update the rows of all workers' pushes, once a step
  // Beside these, once a step: reading and writing for rows to come, for which the next step but
  // one waits; and RocksDB's own writes and merges, for which nobody does. Both take cores.
  double store_ms = 0, merge_ms = 0;
  double pull_request_bytes = 0, pull_reply_bytes = 0, push_bytes = 0;
  double rows_pulled = 0, rows_pushed = 0;
};

struct StepWork {
  uint32_t workers = 1;
  double samples = 0;  // of a step, over all workers
  double threads = 1;  // cores that a worker's compute phases keep busy
  double shards = 1;   // of a PS node: cores that its requests keep busy
  // Of each worker. `pull` and `push` are its own share of them: encoding requests and decoding
  // replies. `allreduce`: from when the last worker has come.
  StepPhases phases;
  // Computed while messages are on their way; not in `phases`.
  double beside_pull_ms = 0, beside_push_ms = 0;
  double pull_threads = 1, push_threads = 1;  // cores that its own share of them keeps busy
  std::vector<PsWork> ps;                     // each PS node
  // How much more of the cores messages take on a host that has fewer cores than threads.
  // exchange_load: pushes and a worker's part of pulls; answer_load: answering pulls, if bags are
  // not pooled there.
  double exchange_load = 1, answer_load = 1;

  std::vector<uint32_t> host_of_ps, host_of_worker;
  uint32_t hosts = 1;
  uint32_t cores = 1;        // of a host
  double network_gbits = 0;  // of a host, each way; 0: the network takes no time
  double round_trip_us = 0;  // between hosts

  double read_ms() const {
    return phases.data + phases.SumBetween(StepPhase::kData, StepPhase::kPull);
  }
  // Between pull and push.
  double compute_ms() const { return phases.SumBetween(StepPhase::kPull, StepPhase::kPush); }
};

// Puts ranks on hosts in turn, PS nodes first. Requires hosts > 0.
void DealRanks(uint32_t hosts, StepWork* work);

// By PredictStep, taken apart: load, bytes and updates are those of the whole cluster, phases those
// of a worker alone with its share of the samples. kUsage as PredictStep.
Result<StepWork> StepWorkOf(const Workload& workload, const Plan& plan, const ClusterShape& cluster,
                            const Machine& machine);

}  // namespace rowhouse
