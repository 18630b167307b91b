#include "launch/bench/child_run.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "common/child_process.h"
#include "common/temporary_directory.h"
#include "launch/bench/stop_signal.h"
#include "launch/figures/report_file.h"

namespace rowhouse {
namespace {

// "" of nothing but line ends.
std::string LastLineOf(const std::string& text) {
  const size_t end = text.find_last_not_of('\n');
  if (end == std::string::npos) return "";
  const size_t before = text.rfind('\n', end);  // npos + 1: the first letter
  return text.substr(before + 1, end - before);
}

}  // namespace

Result<nlohmann::json> TrainInChild(const ChildRun& run) {
  ASSIGN_OR_RETURN(const auto scratch, TemporaryDirectory::Make("rowhouse-run"));
  const std::string config = scratch->path() + "/run.yaml",
                    report = scratch->path() + "/report.json";
  ChildCommand command{.arguments = {"rowhouse", "train", "--report=" + report}};
  if (!run.yaml.empty()) {
    RETURN_IF_ERROR(WriteReportFile(config, run.yaml));
    command.arguments.push_back("--config=" + config);
  }
  command.arguments.insert(command.arguments.end(), run.flags.begin(), run.flags.end());
  Result<CommandOutput> ran = RunToItsEnd(
      std::move(command), std::chrono::milliseconds(run.deadline_ms), &StopSignal::Check);
  if (!ran.ok()) return ran.status().Annotate("a run of rowhouse train");
  const CommandOutput& output = ran.value();
  if (output.exit_code == 0) return ReadReportFile(report);
  return MakeStatus(StatusCode::kInternal, "a run of rowhouse train failed: {}",
                    LastLineOf(output.err.empty() ? output.out : output.err));
}

}  // namespace rowhouse
