#include "launch/accountability/accounted_run.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <vector>

#include "launch/bench/stop_signal.h"

namespace rowhouse {
namespace {

struct Attempt {
  std::vector<MeasuredStep> steps;  // by rising time
  Slowdown slowdown;

  double spread() const {
    return (steps.back().ms - steps.front().ms) / steps[steps.size() / 2].ms;
  }
};

Result<Attempt> Try(const TrainedConfig& config, int runs, SlowdownMeter* slowdown) {
  Attempt attempt;
  ASSIGN_OR_RETURN(const Slowdown before, slowdown->Latest());
  for (int i = 0; i < runs; ++i) {
    RETURN_IF_ERROR(StopSignal::Check());
    ASSIGN_OR_RETURN(MeasuredStep step, TrainOnce(config));
    attempt.steps.push_back(std::move(step));
  }
  ASSIGN_OR_RETURN(const Slowdown after, slowdown->Measure());
  attempt.slowdown = Slowdown::Between(before, after);
  std::ranges::sort(attempt.steps, {}, &MeasuredStep::ms);
  return attempt;
}

}  // namespace

Result<AccountedRun> Account(const TrainedConfig& config, const Machine& machine,
                             const AccountOptions& options, SlowdownMeter* slowdown) {
  AccountedRun run;
  run.config = config;
  ASSIGN_OR_RETURN(Attempt best, Try(config, options.runs, slowdown));
  while (best.spread() > AccountedRun::kMaxSpread && run.attempts < options.attempts) {
    ASSIGN_OR_RETURN(Attempt again, Try(config, options.runs, slowdown));
    if (again.spread() < best.spread()) best = std::move(again);
    ++run.attempts;
  }
  for (const MeasuredStep& step : best.steps) run.runs_ms.push_back(step.ms);
  run.measured = best.steps[best.steps.size() / 2];
  run.spread = best.spread();
  run.slowdown = best.slowdown;
  ASSIGN_OR_RETURN(const Machine now, SlowedDown(machine, best.slowdown));
  ASSIGN_OR_RETURN(run.predicted, PredictConfig(config, now));
  return run;
}

namespace {

// The time of all phases of some groups in both, as a ratio.
double Ratio(const MeasuredStep& then, const MeasuredStep& now,
             std::initializer_list<PhaseGroup> groups) {
  double before = 0, after = 0;
  for (const NamedStepPhase& phase : kNamedStepPhases) {
    if (std::ranges::count(groups, phase.group) == 0) continue;
    before += then.SteadyPhase(phase.name);
    after += now.SteadyPhase(phase.name);
  }
  return before > 0 && after > 0 ? after / before : 1;
}

// The kind of a kernel by its name.
double Slowdown::*KindOf(const std::string& kernel) {
  for (const char* prefix : {"fully_connected", "interaction_"}) {
    if (kernel.starts_with(prefix)) return &Slowdown::products;
  }
  for (const char* prefix : {"pull", "push", "bags_pull", "bags_push", "allreduce"}) {
    if (kernel.starts_with(prefix)) return &Slowdown::messages;
  }
  return &Slowdown::memory;
}

}  // namespace

Slowdown Slowdown::Since(const MeasuredStep& then, const MeasuredStep& now) {
  return {.products = Ratio(then, now, {PhaseGroup::kDense}),
          .memory = Ratio(then, now, {PhaseGroup::kReading, PhaseGroup::kRows}),
          .messages = Ratio(then, now, {PhaseGroup::kExchange})};
}

Slowdown Slowdown::Between(const Slowdown& before, const Slowdown& after) {
  return {.products = std::sqrt(before.products * after.products),
          .memory = std::sqrt(before.memory * after.memory),
          .messages = std::sqrt(before.messages * after.messages)};
}

Result<Slowdown> SlowdownMeter::Measure() {
  if (then_ == nullptr) return Slowdown{};
  ASSIGN_OR_RETURN(const MeasuredStep now, TrainOnce(then_->config));
  latest_ = Slowdown::Since(then_->step, now);
  return *latest_;
}

Result<Machine> SlowedDown(const Machine& machine, const Slowdown& slowdown) {
  Machine slowed = machine;
  for (auto& [name, table] : slowed.kernels) {
    std::vector<double> ns = table.ns();
    for (double& time : ns) time *= slowdown.*KindOf(name);
    ASSIGN_OR_RETURN(table, KernelTable::Make(table.axes(), std::move(ns), table.spread()));
  }
  return slowed;
}

}  // namespace rowhouse
