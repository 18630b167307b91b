#include "launch/calibrate/trained_config.h"

#include <fmt/format.h>

#include "launch/prediction/plan_of_run.h"
#include "launch/prediction/workload_of_run.h"
#include "launch/settings/yaml_config.h"

namespace rowhouse {

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

}  // namespace rowhouse
