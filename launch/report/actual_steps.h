// ActualSteps: what a run's report says of a mean step, rank by rank, in the terms of the cost
// model. Threads: one.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "common/wire/control.h"
#include "launch/report/report.h"

namespace rowhouse {

class ActualSteps {
 public:
  // `report` outlives this.
  explicit ActualSteps(const RunReport& report)
      : report_(report),
        steps_(static_cast<double>(report.totals.steps - report.totals.first_step)) {}

  double steps() const { return steps_; }
  // NaN for a run without steps.
  double AStep(double of_run) const;

  // Counters of the shards of one PS node, and of all.
  ShardCounters OfNode(size_t node) const;
  ShardCounters OfAll() const;
  double RowsAStep(const ShardCounters& counters) const {
    return AStep(static_cast<double>(counters.pulled.total()));
  }
  // Bytes of frames between a PS node and all workers, both ways, a step.
  double WireBytesOfNode(size_t node) const {
    return AStep(static_cast<double>(report_.sharding.ps_nodes[node].wire_bytes));
  }
  // Milliseconds of cores, a step, of the threads of the node's shards and of its store, from the
  // first step to the last; nullopt if a shard did not tell.
  std::optional<double> BusyMsOfNode(size_t node) const;

  // Milliseconds of each phase (kNamedStepPhases) in the median step of a worker. Means are of all
  // steps, and the first ones, in which memory is new, take much longer: in their pulls, as the
  // shards' memory is what is new. So the pull has what the other phases leave of the median step;
  // but if they leave less than nothing, or the pull is no longer than that on average, all phases
  // are scaled alike.
  std::vector<double> MedianPhases(const StepPhases& seconds,
                                   const std::optional<double>& median_ms) const;

  // Rows that were read ahead of their step are in memory when they are pulled, but no hits.
  // nullopt if no row was pulled.
  static std::optional<double> HitRate(const RowsPulled& pulled, uint64_t rows_read_ahead);
  static std::optional<double> HitRate(const ShardCounters& shards) {
    return HitRate(shards.pulled, shards.rows_prefetched);
  }

 private:
  size_t shards_a_node() const { return report_.shards.size() / report_.sharding.ps_nodes.size(); }

  const RunReport& report_;
  const double steps_;
};

}  // namespace rowhouse
