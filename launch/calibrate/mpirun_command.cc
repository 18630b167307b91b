#include "launch/calibrate/mpirun_command.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <sstream>

#include "launch/bench/stop_signal.h"

namespace rowhouse {
namespace {

namespace fs = std::filesystem;

bool IsOnPath(const std::string& program) {
  const char* path = std::getenv("PATH");
  std::istringstream directories(path == nullptr ? "" : path);
  for (std::string directory; std::getline(directories, directory, ':');) {
    if (access((directory + "/" + program).c_str(), X_OK) == 0) return true;
  }
  return false;
}

}  // namespace

std::string ThisProgram() {
  std::error_code error;
  return fs::read_symlink("/proc/self/exe", error).string();
}

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
                                     std::chrono::seconds deadline) {
  ASSIGN_OR_RETURN(const std::string script, MpirunScript());
  std::vector<std::string> words = {script, "-n", std::to_string(ranks), ThisProgram()};
  words.insert(words.end(), arguments.begin(), arguments.end());
  Result<CommandOutput> ran =
      RunToItsEnd({.program = script, .arguments = words}, deadline, &StopSignal::Check);
  if (ran.ok()) return ran;
  return ran.status().Annotate("rowhouse " + arguments[0]);
}

}  // namespace rowhouse
