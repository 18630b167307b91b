#include "launch/calibrate/train_run.h"

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "common/durable_file.h"
#include "launch/calibrate/mpirun_command.h"
#include "launch/run/temporary_rows.h"

namespace rowhouse {
namespace {

constexpr std::chrono::seconds kDeadline(120);

}  // namespace

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
