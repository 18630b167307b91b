#include "sharding/lab/simulator/step_work.h"

#include <algorithm>

#include "sharding/lab/cost/machine.h"
#include "sharding/lab/simulator/ps_queues.h"
#include "sharding/lab/traffic/step_traffic.h"

namespace rowhouse {
namespace {

// What the whole cluster's step asks of each PS node, divided by the workers.
std::vector<PsWork> PsWorkOf(const StepCost& cost, const ClusterShape& cluster) {
  const double workers = cluster.workers;
  const double shards = std::max(1u, cluster.shards_per_ps);
  std::vector<PsWork> works;
  for (const RankCost& node : cost.ps) {
    const double push_bytes = node.bytes_in + node.bytes_out - node.pull_bytes;
    const double request_bytes = std::max(0.0, node.bytes_in - push_bytes);
    works.push_back({.pull_ms = node.pull_ms / workers / shards,
                     .push_ms = node.push_ms / workers / shards,
                     .apply_ms = node.apply_ms / shards,
                     .store_ms = node.ahead_ms / shards,
                     .merge_ms = (node.store_ms - node.ahead_ms) / shards,
                     .pull_request_bytes = request_bytes / workers,
                     .pull_reply_bytes = (node.pull_bytes - request_bytes) / workers,
                     .push_bytes = push_bytes / workers,
                     .rows_pulled = node.rows_pulled / workers,
                     .rows_pushed = node.rows_pushed / workers});
  }
  return works;
}

// All of `work` but the times.
StepWork ShapeOf(const ClusterShape& cluster, const Machine& machine, double samples) {
  StepWork work{.workers = cluster.workers,
                .samples = samples,
                .threads = static_cast<double>(std::max(1u, cluster.threads)),
                .shards = static_cast<double>(std::max(1u, cluster.shards_per_ps)),
                .cores = cluster.cores_per_host > 0 ? cluster.cores_per_host : machine.cores,
                .network_gbits = cluster.hosts > 1 ? cluster.network_gbits : 0,
                .round_trip_us = cluster.hosts > 1 ? cluster.round_trip_us : 0};
  work.ps.resize(cluster.ps);
  DealRanks(cluster.hosts, &work);
  return work;
}

// Of the pull and the push of a worker alone, what links and PS nodes take.
struct Served {
  double pull_ms = 0, push_ms = 0;
};
Served ServedAlone(const StepWork& work) {
  const RankSpeed speed(/*seed=*/1, /*jitter=*/0);
  HostLinks links(work.hosts, work.network_gbits, work.round_trip_us);
  HostCores cores(work.cores, std::vector<uint32_t>(work.hosts));
  PsQueues nodes(work, speed, links, cores);
  const uint32_t host = work.host_of_worker[0];
  Served served;
  served.pull_ms = nodes.Pull(host, 0, 0);
  served.push_ms = nodes.Push(host, served.pull_ms, 0) - served.pull_ms;
  return served;
}

bool PoolsOnShards(const Workload& workload, const Plan& plan) {
  return std::ranges::any_of(workload.tables.physical, [&](const TableSpec& table) {
    return workload.lookups[Raw(table.id)] > 0 && plan.pools_on_shards(table.id);
  });
}

// Of a worker that waits for the rest of the time.
double ThreadsOf(double core_ms, double ms) { return ms > 0 ? std::min(1.0, core_ms / ms) : 1; }

}  // namespace

void DealRanks(uint32_t hosts, StepWork* work) {
  work->hosts = hosts;
  work->host_of_ps.clear();
  work->host_of_worker.clear();
  uint32_t rank = 0;
  for (size_t p = 0; p < work->ps.size(); ++p) work->host_of_ps.push_back(rank++ % hosts);
  for (uint32_t w = 0; w < work->workers; ++w) work->host_of_worker.push_back(rank++ % hosts);
}

Result<StepWork> StepWorkOf(const Workload& workload, const Plan& plan, const ClusterShape& cluster,
                            const Machine& machine) {
  // PredictStep counts the workers by the workload.
  Workload whole = workload, share = workload;
  SetStep(workload.step.samples, cluster.workers, &whole);
  ASSIGN_OR_RETURN(const StepCost all, PredictStep(whole, plan, cluster, machine));
  SetStep(std::max<uint64_t>(1, workload.step.samples / cluster.workers), /*workers=*/1, &share);
  ClusterShape alone = cluster;
  alone.workers = 1;
  ASSIGN_OR_RETURN(const StepCost one, PredictStep(share, plan, alone, machine));

  StepWork of_one = ShapeOf(alone, machine, static_cast<double>(share.step.samples));
  of_one.ps = PsWorkOf(one, alone);
  const Served served = ServedAlone(of_one);
  const double pull_ms = std::max(0.0, one.phases.pull + one.beside_pull_ms - one.parked_ms);
  const double push_ms = one.phases.push + one.beside_push_ms - one.crowded_ms;

  StepWork work = ShapeOf(cluster, machine, static_cast<double>(workload.step.samples));
  work.ps = PsWorkOf(all, cluster);
  work.phases = one.phases;
  if (all.beside_pull_ms > 0) work.beside_pull_ms = one.beside_pull_ms;
  if (all.beside_push_ms > 0) work.beside_push_ms = one.beside_push_ms;
  work.phases.mlp -= work.beside_pull_ms + work.beside_push_ms;
  // What PredictStep says of pull and push beyond these is the worker's own; also its wait for rows
  // that the store has not read yet. Nodes add what they read for other workers.
  work.phases.pull = std::max(0.0, pull_ms - served.pull_ms);
  work.phases.push = std::max(0.0, push_ms - served.push_ms);
  // Rows that were prefetched are read, but not waited for.
  if (served.pull_ms > pull_ms) {
    for (PsWork& node : work.ps) node.pull_ms *= pull_ms / served.pull_ms;
  }
  work.pull_threads = ThreadsOf(one.workers[0].pull_ms, work.phases.pull);
  work.push_threads = ThreadsOf(one.workers[0].push_ms, work.phases.push);
  // Waiting for slower workers comes of the simulation's own jitter.
  work.phases.allreduce = all.phases.allreduce - all.wait_ms;
  // As PredictStep has it: rows and gradients of bags are moved more than worked on, but pooling
  // bags is work.
  const double busy_cores = work.cores * InStep::Of(machine).exchange_cores;
  work.exchange_load = work.cores / std::max(1.0, busy_cores);
  work.answer_load = PoolsOnShards(workload, plan) ? 1 : work.exchange_load;
  return work;
}

}  // namespace rowhouse
