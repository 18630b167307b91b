#include "sharding/lab/simulator/simulator.h"

#include <glog/logging.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <queue>
#include <tuple>

#include "common/counted.h"
#include "sharding/lab/simulator/ps_queues.h"
#include "sharding/lab/simulator/simulated_hosts.h"
#include "sharding/lab/simulator/step_work.h"

namespace rowhouse {
namespace {

constexpr uint32_t kMaxRanks = 4096;
constexpr uint64_t kMaxSteps = 1'000'000;

Status Check(const ClusterShape& cluster, const SimulatorOptions& options) {
  const uint64_t ranks = uint64_t{cluster.ps} + cluster.workers;
  if (cluster.ps < 1 || cluster.workers < 1 || ranks > kMaxRanks) {
    return UsageError("a simulation of {} and {}: expected 1 or more of each, and at most {} ranks",
                      Counted(cluster.ps, "PS node"), Counted(cluster.workers, "worker"),
                      kMaxRanks);
  }
  if (cluster.hosts < 1) return UsageError("a simulation on 0 hosts: expected 1 or more");
  if (options.steps < 1 || options.steps > kMaxSteps) {
    return UsageError("a simulation of {} steps: expected 1 to {}", options.steps, kMaxSteps);
  }
  if (!(options.jitter >= 0 && options.jitter <= 2)) {
    return UsageError("a jitter of {}: expected a share of the time, 0 to 2", options.jitter);
  }
  return OkStatus();
}

// Events come out by time, and those of equal times in the order in which they were added, so that
// runs repeat.
struct SimulatedEvent {
  double ms = 0;  // since the run began
  uint64_t number = 0;
  uint32_t worker = 0;
  uint8_t phase = 0;

  bool operator>(const SimulatedEvent& other) const {
    return std::tie(ms, number) > std::tie(other.ms, other.number);
  }
};

// Workers that go through the phases of their steps, and what they wait for: replies of PS nodes,
// and the slowest worker in the allreduce. Steps are synchronous, as Rowhouse trains: a pull sees
// the step before, and a worker ends a step when all have summed.
class ClusterSimulation {
 public:
  // `work` outlives it.
  ClusterSimulation(const StepWork& work, const SimulatorOptions& options);

  // To be called once.
  SimulatedRun Run();

 private:
  enum Phase : uint8_t {
    kRead,
    kAsk,
    kSendPull,
    kDecode,
    kCompute,
    kEncode,
    kSendPush,
    kMeet,
    kEnd
  };
  struct Worker {
    uint64_t step = 0;
    double since_ms = 0;  // when the phase under way began
    double busy_ms = 0;
  };

  void Add(double ms, uint32_t worker, Phase phase);
  // Adds the event that ends `ms` of work on the worker's cores.
  void Work(uint32_t worker, double now_ms, double ms, double threads, Phase next);
  void Handle(const SimulatedEvent& event);
  void Meet(uint32_t worker, double now_ms);
  void Update(uint32_t worker, double now_ms);
  void EndStep(uint32_t worker, double now_ms);
  double Slowness(uint32_t worker, Phase phase) const;
  StepPhases PhasesOfStep() const;
  SimulatedRun Summary() const;

  const StepWork& work_;
  const SimulatorOptions options_;
  RankSpeed speed_;
  HostLinks links_;
  HostCores cores_;
  PsQueues nodes_;
  std::priority_queue<SimulatedEvent, std::vector<SimulatedEvent>, std::greater<>> events_;
  uint64_t added_ = 0;  // events
  std::vector<Worker> workers_;
  std::vector<uint32_t> in_allreduce_;  // workers that wait for the others
  std::vector<double> step_ends_ms_;    // of each step, on the slowest worker
  StepPhases phases_;                   // summed; mlp: all of compute; data: merge as well
};

// The most threads of each host that want a core at once.
std::vector<uint32_t> BusyThreads(const StepWork& work) {
  std::vector<double> threads(work.hosts);
  for (const uint32_t host : work.host_of_ps) threads[host] += work.shards;
  for (const uint32_t host : work.host_of_worker) threads[host] += work.threads;
  return {threads.begin(), threads.end()};
}

double At(const std::vector<double>& sorted, double share) {
  const double at = share * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<size_t>(at);
  const size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (at - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

ClusterSimulation::ClusterSimulation(const StepWork& work, const SimulatorOptions& options)
    : work_(work),
      options_(options),
      speed_(options.seed, options.jitter),
      links_(work.hosts, work.network_gbits, work.round_trip_us),
      cores_(work.cores, BusyThreads(work)),
      nodes_(work, speed_, links_, cores_),
      workers_(work.workers),
      step_ends_ms_(options.steps) {}

double ClusterSimulation::Slowness(uint32_t worker, Phase phase) const {
  static_assert(kEnd < RankSpeed::kPhases);
  return speed_.Jitter(static_cast<uint32_t>(work_.ps.size()) + worker, workers_[worker].step,
                       phase);
}

SimulatedRun ClusterSimulation::Run() {
  for (uint32_t w = 0; w < work_.workers; ++w) Add(0, w, kRead);
  while (!events_.empty()) {
    const SimulatedEvent next = events_.top();
    events_.pop();
    Handle(next);
  }
  for (const Worker& worker : workers_) CHECK_EQ(worker.step, options_.steps);
  return Summary();
}

void ClusterSimulation::Add(double ms, uint32_t worker, Phase phase) {
  events_.push({.ms = ms, .number = added_++, .worker = worker, .phase = phase});
}

void ClusterSimulation::Work(uint32_t worker, double now_ms, double ms, double threads,
                             Phase next) {
  ms *= Slowness(worker, next);
  workers_[worker].busy_ms += ms;
  Add(cores_.RunWorker(work_.host_of_worker[worker], now_ms, ms, threads), worker, next);
}

void ClusterSimulation::Handle(const SimulatedEvent& event) {
  const uint32_t w = event.worker;
  const double now_ms = event.ms;
  Worker& worker = workers_[w];
  const double spent_ms = now_ms - worker.since_ms;
  // The phase that an event names is the one that begins.
  switch (static_cast<Phase>(event.phase)) {
    case kRead:
      worker.since_ms = now_ms;
      return Work(w, now_ms, work_.read_ms(), work_.threads, kAsk);
    case kAsk:
      phases_.data += spent_ms;
      worker.since_ms = now_ms;
      return Work(w, now_ms, work_.phases.pull / 2, work_.pull_threads * work_.exchange_load,
                  kSendPull);
    case kSendPull:
      return Add(nodes_.Pull(work_.host_of_worker[w], now_ms, worker.step), w, kDecode);
    case kDecode:
      return Work(w, now_ms, work_.phases.pull / 2, work_.pull_threads * work_.exchange_load,
                  kCompute);
    case kCompute:
      phases_.pull += spent_ms;
      worker.since_ms = now_ms;
      return Work(w, now_ms, work_.compute_ms(), work_.threads, kEncode);
    case kEncode:
      phases_.mlp += spent_ms;
      worker.since_ms = now_ms;
      return Work(w, now_ms, work_.phases.push, work_.push_threads * work_.exchange_load,
                  kSendPush);
    case kSendPush:
      return Add(nodes_.Push(work_.host_of_worker[w], now_ms, worker.step), w, kMeet);
    case kMeet:
      phases_.push += spent_ms;
      worker.since_ms = now_ms;
      return Meet(w, now_ms);
    case kEnd:
      phases_.dense_update += spent_ms;
      return EndStep(w, now_ms);
  }
}

void ClusterSimulation::Meet(uint32_t w, double now_ms) {
  in_allreduce_.push_back(w);
  if (in_allreduce_.size() < work_.workers) return;
  // Of one worker there is none, whatever its phases say.
  const double ms = work_.workers > 1 ? work_.phases.allreduce *
                                            speed_.Jitter(UINT32_MAX, workers_[w].step, kMeet)
                                      : 0;
  double summed_ms = now_ms + ms;
  // Workers need their cores for it, which shards may have.
  for (const uint32_t host : work_.host_of_worker) {
    summed_ms = std::max(summed_ms, cores_.RunWorker(host, now_ms, ms, 1));
  }
  for (const uint32_t other : in_allreduce_) Update(other, summed_ms);
  in_allreduce_.clear();
}

void ClusterSimulation::Update(uint32_t w, double now_ms) {
  Worker& worker = workers_[w];
  phases_.allreduce += now_ms - worker.since_ms;
  worker.since_ms = now_ms;
  Work(w, now_ms, work_.phases.dense_update, work_.threads, kEnd);
}

void ClusterSimulation::EndStep(uint32_t w, double now_ms) {
  Worker& worker = workers_[w];
  step_ends_ms_[worker.step] = std::max(step_ends_ms_[worker.step], now_ms);
  if (++worker.step < options_.steps) Add(now_ms, w, kRead);
}

// Means over workers and steps.
StepPhases ClusterSimulation::PhasesOfStep() const {
  const double each = 1 / (work_.workers * static_cast<double>(options_.steps));
  const auto share = [](double part, double whole) { return whole > 0 ? part / whole : 0; };
  StepPhases mean;
  // Of phases that are simulated as one, each has its share.
  const StepPhases& alone = work_.phases;
  for (uint32_t p = 0; p < std::size(kNamedStepPhases); ++p) {
    double StepPhases::*const value = kNamedStepPhases[p].value;
    const auto phase = static_cast<StepPhase>(p);
    double ms = phases_.*value;
    if (phase < StepPhase::kPull) {
      ms = phases_.data * share(alone.*value, work_.read_ms());
    } else if (phase > StepPhase::kPull && phase < StepPhase::kPush) {
      ms = phases_.mlp * share(alone.*value, work_.compute_ms());
    }
    mean.*value = ms * each;
  }
  mean.mlp += work_.beside_pull_ms + work_.beside_push_ms;
  mean.pull -= work_.beside_pull_ms;
  mean.push -= work_.beside_push_ms;
  return mean;
}

SimulatedRun ClusterSimulation::Summary() const {
  SimulatedRun run;
  // A step ends when the slowest worker has done it.
  std::vector<double> step_ms;
  double before_ms = 0;
  for (const double end_ms : step_ends_ms_) {
    step_ms.push_back(end_ms - before_ms);
    before_ms = end_ms;
  }
  const double total_ms = step_ends_ms_.back();
  std::ranges::sort(step_ms);
  const auto steps = static_cast<double>(options_.steps);
  run.median_step_ms = At(step_ms, 0.5);
  run.p95_step_ms = At(step_ms, 0.95);
  run.mean_step_ms = total_ms / steps;
  run.samples_per_second = work_.samples / run.mean_step_ms * 1e3;

  run.phases = PhasesOfStep();

  double bytes_of_worker = 0, rows_of_worker = 0;
  const auto requests = static_cast<double>(nodes_.requests());
  for (size_t p = 0; p < work_.ps.size(); ++p) {
    const PsWork& node = work_.ps[p];
    const PsTotals& totals = nodes_.totals()[p];
    const double of_each = node.pull_request_bytes + node.pull_reply_bytes + node.push_bytes;
    bytes_of_worker += of_each;
    rows_of_worker += node.rows_pulled;
    // Every worker has sent one pull and one push a step.
    // The last update ends after the last step.
    run.ps.push_back(
        {.busy_share = totals.busy_ms / std::max(total_ms, nodes_.end_ms(static_cast<uint32_t>(p))),
         .bytes = of_each * requests / (2 * steps),
         .longest_queue = totals.longest_queue,
         .mean_wait_ms = totals.wait_ms / requests,
         .load = node.rows_pulled * requests / (2 * steps)});
  }
  for (const Worker& worker : workers_) {
    run.workers.push_back({.busy_share = worker.busy_ms / total_ms,
                           .bytes = bytes_of_worker,
                           .load = rows_of_worker});
  }
  for (const SimulatedRank& node : run.ps) run.wire_bytes += node.bytes;
  run.events = added_;
  return run;
}

}  // namespace

SimulatedRun SimulatedRunOf(const StepWork& work, const SimulatorOptions& options) {
  return ClusterSimulation(work, options).Run();
}

Result<SimulatedRun> Simulate(const Workload& workload, const Plan& plan,
                              const ClusterShape& cluster, const Machine& machine,
                              const SimulatorOptions& options) {
  RETURN_IF_ERROR(Check(cluster, options));
  ASSIGN_OR_RETURN(const StepWork work, StepWorkOf(workload, plan, cluster, machine));
  return SimulatedRunOf(work, options);
}

}  // namespace rowhouse
