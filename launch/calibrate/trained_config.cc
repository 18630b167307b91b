#include "launch/calibrate/trained_config.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "launch/bench/child_run.h"
#include "launch/prediction/machine_of_run.h"
#include "launch/prediction/plan_of_run.h"
#include "launch/prediction/workload_of_run.h"
#include "launch/settings/yaml_config.h"

namespace rowhouse {
std::string TrainedConfig::Yaml() const {
  const std::string all_rows =
      fmt::format("{}", fmt::join(std::vector<uint64_t>(tables, rows), ", "));
  return fmt::format(
      "model:\n"
      "  arch_mlp_bot: [{0}, {1}]\n"
      "  arch_mlp_top: [{2}]\n"
      "  arch_sparse_feature_size: {1}\n"
      "  arch_interaction_op: {3}\n"
      "  loss_function: bce\n"
      "tables:\n"
      "  defaults: {{{4}, optimizer: {5}, precision: {6}, pooling_sum: exact}}\n"
      "  rows: [{7}]\n"
      "data:\n"
      "  data_generation: synthetic\n"
      "  data_size: {8}\n"
      "  synthetic_bag_length: {9}\n"
      "  zipf_exponent: {10}\n"
      "training:\n"
      "  mini_batch_size: {11}\n"
      "  learning_rate: 0.001\n"
      "  print_freq: {12}\n"
      "storage:\n"
      "  cache_mb: {13}\n"
      "cluster:\n"
      "  strategy: {14}\n"
      "  pool_on: {15}\n",
      bottom_mlp, dim, top_mlp, interaction, kind, optimizer, precision, all_rows, steps * batch,
      bag_length, zipf_exponent, batch, steps, cache_mb, strategy, pool_on);
}

Result<Settings> TrainedConfig::MakeSettings() const {
  Settings settings;
  Status status = ReadYamlText(Yaml(), name, &settings);
  settings.cluster.ps = static_cast<int>(ps);
  settings.Complete();
  if (status.ok()) status = settings.Validate(/*reads_data=*/true);
  if (!status.ok()) return MakeStatus(StatusCode::kInternal, "{}: {}", name, status.message());
  return settings;
}

Result<StepCost> PredictConfig(const TrainedConfig& config, const Machine& machine) {
  ASSIGN_OR_RETURN(const Settings settings, config.MakeSettings());
  ASSIGN_OR_RETURN(const Plan plan, PlanOf(settings, config.ps, settings.cluster.shards));
  ASSIGN_OR_RETURN(Workload workload, WorkloadOf(settings, config.workers));
  workload.steps = config.steps;
  return PredictStep(workload, plan,
                     ClusterOf(settings, config.ps, settings.cluster.shards, config.workers),
                     machine);
}

double MeasuredStep::SteadyPhase(const std::string& name) const {
  const auto found = phases.find(name);
  if (found == phases.end()) return 0;
  if (name != "pull") return found->second;
  double sum = 0;
  for (const auto& [phase, mean] : phases) sum += mean;
  return std::clamp(found->second - (sum - ms), 0.0, found->second);
}

Result<MeasuredStep> MeasuredStepOf(const nlohmann::json& report) try {
  const nlohmann::json& prediction = report.at("prediction");
  MeasuredStep step{.ms = prediction.at("step_ms").at("actual"),
                    .wire_bytes = prediction.at("wire_bytes_per_step").at("actual")};
  const nlohmann::json& hit_rate = prediction.at("hit_rate").at("actual");
  if (!hit_rate.is_null()) step.hit_rate = hit_rate;
  for (const nlohmann::json& node : prediction.at("ps_nodes")) {
    step.rows_pulled.push_back(node.at("rows_pulled").at("actual"));
  }
  for (const auto& [name, phase] : prediction.at("phases_ms").items()) {
    step.phases[name] = phase.at("actual");
  }
  return step;
} catch (const nlohmann::json::exception& error) {
  return MakeStatus(StatusCode::kInternal, "the run's report: {}", error.what());
}

Result<MeasuredStep> TrainOnce(const TrainedConfig& config) {
  const Result<nlohmann::json> report =
      TrainInChild({.yaml = config.Yaml(),
                    .flags = {fmt::format("--ps={}", config.ps), "--calibration=typical"},
                    .ranks = static_cast<int>(config.ps + config.workers)});
  if (!report.ok()) return report.status().Annotate(config.name);
  return MeasuredStepOf(report.value());
}

// ---- Reference runs -----------------------------------------------------------------------------

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

// Of each phase, in the order of ForEachFittedPhase.
using Factors = std::vector<double>;

Machine WithFactors(Machine machine, const Factors& factors) {
  size_t i = 0;
  ForEachFittedPhase([&](const NamedStepPhase& phase) {
    machine.constants[InStep::ConstantOf(phase)] = {
        .value = factors[i++], .unit = "times", .spread = 0};
  });
  return machine;
}

Result<std::vector<StepPhases>> Predict(const std::vector<ReferenceRun>& runs,
                                        const Machine& machine) {
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

// A phase's predicted time grows with its factor, but not in proportion: of a pull and a push, what
// is computed meanwhile is not waited for. So each factor is searched for by halving.
Status FitInStep(const std::vector<ReferenceRun>& runs, Machine* machine) {
  constexpr int kHalvings = 16;
  const Machine typical = WithTypicalInStep(*machine);  // in what is not fitted
  size_t phases = 0;
  ForEachFittedPhase([&](const NamedStepPhase&) { ++phases; });
  Factors low(phases, kMinFactor), high(phases, kMaxFactor);
  std::vector<StepPhases> predicted;
  for (int i = 0; i < kHalvings; ++i) {
    Factors middle;
    for (size_t p = 0; p < phases; ++p) middle.push_back((low[p] + high[p]) / 2);
    ASSIGN_OR_RETURN(predicted, Predict(runs, WithFactors(typical, middle)));
    size_t p = 0;
    ForEachFittedPhase([&](const NamedStepPhase& phase) {
      double sum = 0, measured = 0;
      for (size_t r = 0; r < runs.size(); ++r) {
        if (predicted[r].*phase.value <= 0) continue;  // the run has no such phase
        sum += predicted[r].*phase.value;
        measured += runs[r].step.SteadyPhase(phase.name);
      }
      (sum < measured ? low : high)[p] = middle[p];
      ++p;
    });
  }
  *machine = WithFactors(std::move(*machine), low);
  ForEachFittedPhase([&](const NamedStepPhase& phase) {
    double least = kMaxFactor, most = 0;
    for (size_t r = 0; r < runs.size(); ++r) {
      if (predicted[r].*phase.value <= 0) continue;
      const double ratio = runs[r].step.SteadyPhase(phase.name) / predicted[r].*phase.value;
      least = std::min(least, ratio);
      most = std::max(most, ratio);
    }
    MachineConstant& constant = machine->constants[InStep::ConstantOf(phase)];
    if (most > 0) {
      constant.spread = most - least;
    } else {  // in no run
      constant = typical.constants.at(InStep::ConstantOf(phase));
    }
  });
  return OkStatus();
}

}  // namespace rowhouse
