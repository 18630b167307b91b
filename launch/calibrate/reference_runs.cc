#include "launch/calibrate/reference_runs.h"

#include <algorithm>

#include "sharding/lab/cost/named_phases.h"

namespace rowhouse {
namespace {

constexpr double kLeastFactor = 0.3, kMostFactor = 8;

// A factor that the model multiplies this phase's kernels by.
constexpr const char* kFitted[] = {"data",        "merge", "row_gradients", "pool", "mlp",
                                   "interaction", "pull",  "pool_backward", "push", "dense_update"};

Result<std::vector<PhaseCost>> Predict(const std::vector<ReferenceRun>& runs, Machine machine,
                                       double factor) {
  for (const char* phase : kFitted) {
    machine.constants[std::string("in_step_") + phase] = {.value = factor, .unit = "", .spread = 0};
  }
  std::vector<PhaseCost> phases;
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
  ASSIGN_OR_RETURN(const std::vector<PhaseCost> once, Predict(runs, *machine, 1));
  ASSIGN_OR_RETURN(const std::vector<PhaseCost> twice, Predict(runs, *machine, 2));
  for (const char* phase : kFitted) {
    double slopes = 0, rest = 0, least = kMostFactor, most = kLeastFactor;
    for (size_t r = 0; r < runs.size(); ++r) {
      const double slope = PhaseOf(twice[r], phase) - PhaseOf(once[r], phase);
      const double base = PhaseOf(once[r], phase) - slope;
      if (slope <= 0) continue;
      const double measured = runs[r].step.SteadyPhase(phase);
      slopes += slope;
      rest += measured - base;
      least = std::min(least, (measured - base) / slope);
      most = std::max(most, (measured - base) / slope);
    }
    if (slopes <= 0) continue;
    const double factor = std::clamp(rest / slopes, kLeastFactor, kMostFactor);
    machine->constants[std::string("in_step_") + phase] = {
        .value = factor, .unit = "times", .spread = (most - least) / factor};
  }
  return OkStatus();
}

}  // namespace rowhouse
