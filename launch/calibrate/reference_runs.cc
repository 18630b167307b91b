#include "launch/calibrate/reference_runs.h"

#include <algorithm>

#include "launch/prediction/machine_of_run.h"

namespace rowhouse {
namespace {

constexpr double kMinFactor = 0.3, kMaxFactor = 8;

// Calls `use` with each phase whose kernels the model multiplies by a factor: those of the
// allreduce are measured by themselves.
template <typename Use>
void ForEachFittedPhase(const Use& use) {
  ForEachPredictedPhase([&](const NamedStepPhase& phase) {
    if (phase.group != PhaseGroup::kAllreduce) use(phase);
  });
}

Result<std::vector<StepPhases>> Predict(const std::vector<ReferenceRun>& runs, Machine machine,
                                        double factor) {
  ForEachFittedPhase([&](const NamedStepPhase& phase) {
    machine.constants[InStep::ConstantOf(phase)] = {.value = factor, .unit = "", .spread = 0};
  });
  std::vector<StepPhases> phases;
  for (const ReferenceRun& run : runs) {
    ASSIGN_OR_RETURN(const StepCost cost, PredictConfig(run.config, machine));
    phases.push_back(cost.phases);
  }
  return phases;
}

}  // namespace

std::vector<TrainedConfig> ReferenceConfigs() {
  return {
      {.name = "reference: rows",
       .steps = 500,
       .tables = 10,
       .rows = 60'000,
       .dim = 24,
       .bottom_mlp = "13, 96",
       .top_mlp = "128, 1",
       .batch = 1536},
      {.name = "reference: bags on 2 PS nodes",
       .ps = 2,
       .steps = 400,
       .tables = 6,
       .dim = 16,
       .bag_length = 8,
       .batch = 768,
       .strategy = "table_wise_lpt"},
      {.name = "reference: products",
       .steps = 400,
       .tables = 5,
       .dim = 48,
       .bottom_mlp = "13, 256",
       .top_mlp = "384, 128, 1",
       .batch = 1024},
  };
}

Result<std::vector<ReferenceRun>> TrainReferences(
    const std::function<Status(const std::string& name)>& on_run) {
  std::vector<ReferenceRun> runs;
  for (const TrainedConfig& config : ReferenceConfigs()) {
    RETURN_IF_ERROR(on_run(config.name));
    ASSIGN_OR_RETURN(MeasuredStep step, TrainOnce(config));
    runs.push_back({config, std::move(step)});
  }
  return runs;
}

// The model is linear in each factor: base + factor x slope.
Status FitInStep(const std::vector<ReferenceRun>& runs, Machine* machine) {
  const Machine typical = WithTypicalInStep(*machine);  // in what is not fitted
  ASSIGN_OR_RETURN(const std::vector<StepPhases> once, Predict(runs, typical, 1));
  ASSIGN_OR_RETURN(const std::vector<StepPhases> twice, Predict(runs, typical, 2));
  ForEachFittedPhase([&](const NamedStepPhase& phase) {
    double slopes = 0, rest = 0, least = kMaxFactor, most = kMinFactor;
    for (size_t r = 0; r < runs.size(); ++r) {
      const double slope = twice[r].*phase.value - once[r].*phase.value;
      const double base = once[r].*phase.value - slope;
      if (slope <= 0) continue;
      const double measured = runs[r].step.SteadyPhase(phase.name);
      slopes += slope;
      rest += measured - base;
      least = std::min(least, (measured - base) / slope);
      most = std::max(most, (measured - base) / slope);
    }
    if (slopes <= 0) return;
    const double factor = std::clamp(rest / slopes, kMinFactor, kMaxFactor);
    machine->constants[InStep::ConstantOf(phase)] = {
        .value = factor, .unit = "times", .spread = (most - least) / factor};
  });
  return OkStatus();
}

}  // namespace rowhouse
