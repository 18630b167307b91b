// ClusterSimulation: workers that go through the phases of their steps, and what they wait for:
// replies of PS nodes, the step that a pull has to see, the slowest worker in the allreduce.
//
// With staleness s the pull of step t sees step t - 1 - s applied, and a worker ends step t when
// the allreduce of step t - s is done (stale synchronous parallel; Ho et al., 2013). With overlap
// the pull of step t + 1 is sent before step t is computed, and sees one step less. Threads: one.
#pragma once

#include <cstdint>
#include <vector>

#include "sharding/simulator/event_queue.h"
#include "sharding/simulator/host_cores.h"
#include "sharding/simulator/host_links.h"
#include "sharding/simulator/ps_queues.h"
#include "sharding/simulator/rank_speed.h"
#include "sharding/simulator/simulator.h"
#include "sharding/simulator/step_work.h"

namespace rowhouse {

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
    uint64_t pulls_sent = 0;
    double since_ms = 0;    // when the phase under way began
    double pulled_ms = -1;  // when the replies are there; < 0: not known yet
    double asked_ms = 0;    // when the parked pull was sent
    bool waits_for_pull = false;
    double busy_ms = 0;
  };
  // Workers that wait for something of a step.
  struct StepState {
    uint32_t arrived = 0;  // workers in the allreduce
    bool is_summed = false;
    double summed_ms = 0;                // when the allreduce is done
    std::vector<uint32_t> in_allreduce;  // that wait for its end
    std::vector<uint32_t> parked;        // whose pulls wait until it is applied
  };

  // Adds the event that ends `ms` of work on the worker's cores.
  void Work(uint32_t worker, double now_ms, double ms, double threads, Phase next);
  void Handle(const SimulatedEvent& event);
  void SendPull(uint32_t worker, double now_ms);
  void ReceivePull(uint32_t worker, double sent_ms);
  void WaitForPull(uint32_t worker, double now_ms);
  void SendPush(uint32_t worker, double now_ms);
  void Meet(uint32_t worker, double now_ms);
  void FinishAllreduce(uint64_t step, double now_ms);
  void Update(uint32_t worker, double now_ms);
  void EndStep(uint32_t worker, double now_ms);
  double Slowness(uint32_t worker, Phase phase) const;
  SimulatedRun Summary() const;

  const StepWork& work_;
  const SimulatorOptions options_;
  const uint32_t lag_;  // steps that a pull need not see
  RankSpeed speed_;
  HostLinks links_;
  HostCores cores_;
  PsQueues nodes_;
  EventQueue events_;
  std::vector<Worker> workers_;
  std::vector<StepState> steps_;  // of the last ones, by step mod its size
  double last_summed_ms_ = 0;
  std::vector<double> step_ends_ms_;  // of each step, on the slowest worker
  PhaseCost phases_;                  // summed; mlp: all of compute; data: merge as well
};

}  // namespace rowhouse
