#include "launch/accountability/drift.h"

#include <cmath>
#include <initializer_list>
#include <vector>

namespace rowhouse {
namespace {

// The time of all phases of a kind in both, as a ratio.
double Ratio(const MeasuredStep& then, const MeasuredStep& now,
             std::initializer_list<const char*> phases) {
  double before = 0, after = 0;
  for (const char* phase : phases) {
    before += then.SteadyPhase(phase);
    after += now.SteadyPhase(phase);
  }
  return before > 0 && after > 0 ? after / before : 1;
}

// The kind of a kernel by its name.
double Drift::*KindOf(const std::string& kernel) {
  for (const char* prefix : {"fully_connected", "interaction_"}) {
    if (kernel.starts_with(prefix)) return &Drift::products;
  }
  for (const char* prefix : {"pull", "push", "bags_pull", "bags_push", "allreduce"}) {
    if (kernel.starts_with(prefix)) return &Drift::messages;
  }
  return &Drift::memory;
}

}  // namespace

Drift Drift::Since(const MeasuredStep& then, const MeasuredStep& now) {
  return {.products = Ratio(then, now, {"mlp", "interaction"}),
          .memory = Ratio(then, now, {"data", "merge", "row_gradients", "pool", "pool_backward"}),
          .messages = Ratio(then, now, {"pull", "push"})};
}

Drift Drift::Between(const Drift& before, const Drift& after) {
  return {.products = std::sqrt(before.products * after.products),
          .memory = std::sqrt(before.memory * after.memory),
          .messages = std::sqrt(before.messages * after.messages)};
}

Result<Drift> DriftMeter::Measure() {
  if (then_ == nullptr) return Drift{};
  ASSIGN_OR_RETURN(const MeasuredStep now, TrainOnce(then_->config));
  latest_ = Drift::Since(then_->step, now);
  return *latest_;
}

Result<Machine> Drifted(const Machine& machine, const Drift& drift) {
  Machine drifted = machine;
  for (auto& [name, table] : drifted.kernels) {
    std::vector<double> ns = table.ns();
    for (double& time : ns) time *= drift.*KindOf(name);
    ASSIGN_OR_RETURN(table, KernelTable::Make(table.axes(), std::move(ns), table.spread()));
  }
  return drifted;
}

}  // namespace rowhouse
