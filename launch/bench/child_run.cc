#include "launch/bench/child_run.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

#include "common/temporary_directory.h"
#include "launch/bench/stop_signal.h"
#include "launch/figures/json_output.h"
#include "launch/hosts/child_process.h"

namespace rowhouse {
namespace {

namespace fs = std::filesystem;

std::string ThisProgram() {
  std::error_code error;
  return fs::read_symlink("/proc/self/exe", error).string();
}

bool IsOnPath(const std::string& program) {
  const char* path = std::getenv("PATH");
  std::istringstream directories(path == nullptr ? "" : path);
  for (std::string directory; std::getline(directories, directory, ':');) {
    if (access((directory + "/" + program).c_str(), X_OK) == 0) return true;
  }
  return false;
}

// "" of nothing but line ends.
std::string LastLineOf(const std::string& text) {
  const size_t end = text.find_last_not_of('\n');
  if (end == std::string::npos) return "";
  const size_t before = text.rfind('\n', end);  // npos + 1: the first letter
  return text.substr(before + 1, end - before);
}

}  // namespace

Result<std::string> MpirunScript() {
  const fs::path bin = fs::path(ThisProgram()).parent_path();
  if (!IsOnPath("mpirun")) {
    return MakeStatus(StatusCode::kUnavailable,
                      "there is no mpirun; launch/setup.sh installs it (openmpi-bin)");
  }
  // Of an installed program; of one that was built in its tree, in build/<preset>/bin.
  for (const fs::path& script :
       {bin / "../share/rowhouse/launch/mpirun.sh", bin / "../../../launch/mpirun.sh"}) {
    std::error_code error;
    if (fs::exists(script, error)) return fs::canonical(script, error).string();
  }
  return MakeStatus(StatusCode::kUnavailable, "launch/mpirun.sh is not beside {}", bin.string());
}

Result<CommandOutput> RunUnderMpirun(int ranks, const std::vector<std::string>& arguments,
                                     std::chrono::milliseconds deadline) {
  ASSIGN_OR_RETURN(const std::string script, MpirunScript());
  std::vector<std::string> words = {script, "-n", std::to_string(ranks), ThisProgram()};
  words.insert(words.end(), arguments.begin(), arguments.end());
  Result<CommandOutput> ran =
      RunToItsEnd({.program = script, .arguments = words}, deadline, &StopSignal::Check);
  if (ran.ok()) return ran;
  return ran.status().Annotate("rowhouse " + arguments[0]);
}

Result<nlohmann::json> TrainInChild(const ChildRun& run) {
  ASSIGN_OR_RETURN(const auto scratch, TemporaryDirectory::Make("rowhouse-run"));
  const std::string config = scratch->path() + "/run.yaml",
                    report = scratch->path() + "/report.json";
  std::vector<std::string> arguments = {"train", "--report=" + report};
  if (!run.yaml.empty()) {
    RETURN_IF_ERROR(WriteReportFile(config, run.yaml));
    arguments.push_back("--config=" + config);
  }
  arguments.insert(arguments.end(), run.flags.begin(), run.flags.end());
  const std::chrono::milliseconds deadline(run.deadline_ms);
  CommandOutput ran;
  if (run.ranks > 0) {
    ASSIGN_OR_RETURN(ran, RunUnderMpirun(run.ranks, arguments, deadline));
  } else {
    arguments.insert(arguments.begin(), "rowhouse");
    Result<CommandOutput> alone =
        RunToItsEnd({.arguments = std::move(arguments)}, deadline, &StopSignal::Check);
    if (!alone.ok()) return alone.status().Annotate("a run of rowhouse train");
    ran = std::move(alone.value());
  }
  if (ran.exit_code == 0) return ReadReportFile(report);
  return MakeStatus(StatusCode::kInternal, "a run of rowhouse train failed: exit code {}: {}",
                    ran.exit_code,
                    run.ranks > 0 ? ran.err : LastLineOf(ran.err.empty() ? ran.out : ran.err));
}

Result<nlohmann::json> RunTorchScript(const std::string& script,
                                      const std::vector<std::string>& flags) {
  const auto refuse = [](const std::string& why) {
    return MakeStatus(StatusCode::kUnavailable, "{}", why);
  };
  const std::string python = "/usr/bin/python3";
  const fs::path path = fs::path(ThisProgram()).parent_path() / "../../../tests/bench" / script;
  std::error_code error;
  if (!fs::exists(path, error)) {
    return refuse(fmt::format("tests/bench/{} is not beside this program", script));
  }
  if (!fs::exists(python, error)) return refuse(python + " is not installed");
  std::vector<std::string> words = {"python3", path.string()};
  words.insert(words.end(), flags.begin(), flags.end());
  ASSIGN_OR_RETURN(const CommandOutput ran,
                   RunToItsEnd({.program = python, .arguments = words}, std::chrono::seconds(600),
                               &StopSignal::Check));
  if (ran.exit_code != 0) return refuse(ran.err.substr(0, ran.err.find('\n')));
  nlohmann::json all = nlohmann::json::parse(ran.out, nullptr, /*exceptions=*/false);
  if (!all.is_array() || all.empty()) return refuse("it printed no JSON: " + ran.out);
  return all;
}

}  // namespace rowhouse
