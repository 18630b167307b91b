// ClusterSimulation: workers that go through the phases of their steps, and what they wait for:
// replies of PS nodes, and the slowest worker in the allreduce. Steps are synchronous, as Rowhouse
// trains: a pull sees the step before, and a worker ends a step when all have summed. Threads: one.
#pragma once

#include <cstdint>
#include <queue>
#include <tuple>
#include <vector>

#include "sharding/lab/simulator/ps_queues.h"
#include "sharding/lab/simulator/simulated_hosts.h"
#include "sharding/lab/simulator/simulator.h"
#include "sharding/lab/simulator/step_work.h"

namespace rowhouse {

struct SimulatedEvent {
  double ms = 0;  // since the run began
  uint64_t number = 0;
  uint32_t worker = 0;
  uint8_t phase = 0;
};

// What happens next. Events come out by time, and those of equal times in the order in which they
// were added, so that runs repeat.
class EventQueue {
 public:
  // Requires a time that is not before that of the last event that came out.
  void Add(double ms, uint32_t worker, uint8_t phase) {
    events_.push({.ms = ms, .number = added_++, .worker = worker, .phase = phase});
  }
  bool is_empty() const { return events_.empty(); }
  // Requires that there is one.
  SimulatedEvent Next() {
    const SimulatedEvent next = events_.top();
    events_.pop();
    return next;
  }
  uint64_t added() const { return added_; }

 private:
  struct IsLater {
    bool operator()(const SimulatedEvent& a, const SimulatedEvent& b) const {
      return std::tie(a.ms, a.number) > std::tie(b.ms, b.number);
    }
  };
  std::priority_queue<SimulatedEvent, std::vector<SimulatedEvent>, IsLater> events_;
  uint64_t added_ = 0;
};

class ClusterSimulation {
 public:
  // Requires options that Simulate takes; `work` outlives it.
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

  // Adds the event that ends `ms` of work on the worker's cores.
  void Work(uint32_t worker, double now_ms, double ms, double threads, Phase next);
  void Handle(const SimulatedEvent& event);
  void Meet(uint32_t worker, double now_ms);
  void Update(uint32_t worker, double now_ms);
  void EndStep(uint32_t worker, double now_ms);
  double Slowness(uint32_t worker, Phase phase) const;
  SimulatedRun Summary() const;

  const StepWork& work_;
  const SimulatorOptions options_;
  RankSpeed speed_;
  HostLinks links_;
  HostCores cores_;
  PsQueues nodes_;
  EventQueue events_;
  std::vector<Worker> workers_;
  std::vector<uint32_t> in_allreduce_;  // workers that wait for the others
  std::vector<double> step_ends_ms_;    // of each step, on the slowest worker
  StepPhases phases_;                   // summed; mlp: all of compute; data: merge as well
};

}  // namespace rowhouse
