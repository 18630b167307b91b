#include "launch/calibrate/trained_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "common/durable_file.h"
#include "launch/bench/child_run.h"
#include "launch/prediction/plan_of_run.h"
#include "launch/prediction/workload_of_run.h"
#include "launch/run/temporary_rows.h"
#include "launch/settings/yaml_config.h"

namespace rowhouse {
namespace {

constexpr std::chrono::seconds kDeadline(120);

}  // namespace

std::string TrainedConfig::Yaml() const {
  std::string all_rows;
  for (uint32_t t = 0; t < tables; ++t) all_rows += fmt::format("{}{}", t > 0 ? ", " : "", rows);
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

Result<MeasuredStep> MeasuredStepOf(const std::string& report) try {
  const nlohmann::json prediction = nlohmann::json::parse(report).at("prediction");
  MeasuredStep step{.ms = prediction.at("step_ms").at("actual"),
                    .wire_bytes = prediction.at("wire_bytes_per_step").at("actual")};
  const nlohmann::json hit_rate = prediction.at("hit_rate").at("actual");
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
  ASSIGN_OR_RETURN(const std::unique_ptr<TemporaryDirectory> directory, MakeTemporaryRows());
  const std::string yaml = directory->path() + "/config.yaml";
  const std::string report = directory->path() + "/report.json";
  RETURN_IF_ERROR(WriteFileDurably(yaml, config.Yaml()));
  ASSIGN_OR_RETURN(const CommandOutput ran,
                   RunUnderMpirun(static_cast<int>(config.ps + config.workers),
                                  {"train", "--config=" + yaml, fmt::format("--ps={}", config.ps),
                                   "--report=" + report, "--calibration=typical"},
                                  kDeadline));
  if (ran.exit_code != 0) {
    return MakeStatus(StatusCode::kInternal, "{}: exit code {}: {}", config.name, ran.exit_code,
                      ran.err);
  }
  std::ifstream file(report);
  std::ostringstream text;
  text << file.rdbuf();
  return MeasuredStepOf(text.str());
}

}  // namespace rowhouse
