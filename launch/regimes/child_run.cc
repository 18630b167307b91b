#include "launch/regimes/child_run.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>

#include <chrono>
#include <cstring>
#include <nlohmann/json.hpp>
#include <thread>

#include "common/durable_file.h"
#include "common/temporary_directory.h"
#include "launch/report/report_file.h"

extern char** environ;

namespace rowhouse {
namespace {

std::string LastLineOf(const std::string& file) {
  const Result<std::string> text = ReadFile(file);
  if (!text.ok()) return "";
  const std::string& all = text.value();
  const size_t end = all.find_last_not_of('\n');
  if (end == std::string::npos) return "";
  const size_t begin = all.rfind('\n', end);
  return all.substr(begin == std::string::npos ? 0 : begin + 1,
                    end - (begin == std::string::npos ? 0 : begin + 1) + 1);
}

// `*wait_status` once the process has ended; it is killed at its deadline.
Status WaitFor(pid_t pid, uint32_t deadline_ms, int* wait_status) {
  using SteadyClock = std::chrono::steady_clock;
  const auto deadline = SteadyClock::now() + std::chrono::milliseconds(deadline_ms);
  while (waitpid(pid, wait_status, WNOHANG) == 0) {
    if (SteadyClock::now() > deadline) {
      kill(pid, SIGKILL);
      waitpid(pid, wait_status, 0);
      return MakeStatus(StatusCode::kDeadlineExceeded, "a run of rowhouse train took over {} ms",
                        deadline_ms);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return OkStatus();
}

Status RunToItsEnd(std::vector<std::string> arguments, const std::string& output,
                   uint32_t deadline_ms) {
  std::vector<char*> pointers;
  for (std::string& argument : arguments) pointers.push_back(argument.data());
  pointers.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, output.c_str(),
                                   O_WRONLY | O_CREAT | O_TRUNC, 0600);
  posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
  pid_t pid = -1;
  const int error =
      posix_spawn(&pid, "/proc/self/exe", &actions, nullptr, pointers.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) return IoError("cannot start rowhouse train: {}", std::strerror(error));
  int wait_status = 0;
  RETURN_IF_ERROR(WaitFor(pid, deadline_ms, &wait_status));
  if (WIFEXITED(wait_status) && WEXITSTATUS(wait_status) == 0) return OkStatus();
  return MakeStatus(StatusCode::kInternal, "a run of rowhouse train failed: {}",
                    LastLineOf(output));
}

}  // namespace

Result<nlohmann::json> TrainInChild(const ChildRun& run) {
  ASSIGN_OR_RETURN(const auto scratch, TemporaryDirectory::Make("rowhouse-run"));
  const std::string config = scratch->path() + "/run.yaml",
                    report = scratch->path() + "/report.json";
  RETURN_IF_ERROR(WriteReportFile(config, run.yaml));
  std::vector<std::string> arguments = {"rowhouse", "train", "--config=" + config,
                                        "--report=" + report};
  arguments.insert(arguments.end(), run.flags.begin(), run.flags.end());
  RETURN_IF_ERROR(RunToItsEnd(std::move(arguments), scratch->path() + "/out", run.deadline_ms));
  return ReadReportFile(report);
}

}  // namespace rowhouse
