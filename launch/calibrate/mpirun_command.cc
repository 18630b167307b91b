#include "launch/calibrate/mpirun_command.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <sstream>
#include <thread>

#include "launch/bench/stop_signal.h"

namespace rowhouse {
namespace {

namespace fs = std::filesystem;
using std::chrono::steady_clock;

constexpr auto kLook = std::chrono::milliseconds(5);
// mpirun.sh ends the ranks when it is asked a second time; what is left then is killed.
constexpr auto kGrace = std::chrono::seconds(3);

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, CloseFile>;

std::string Contents(std::FILE* file) {
  std::string text;
  std::rewind(file);
  char buffer[4096];
  while (const size_t bytes = std::fread(buffer, 1, sizeof buffer, file))
    text.append(buffer, bytes);
  return text;
}

bool IsOnPath(const std::string& program) {
  const char* path = std::getenv("PATH");
  std::istringstream directories(path == nullptr ? "" : path);
  for (std::string directory; std::getline(directories, directory, ':');) {
    if (access((directory + "/" + program).c_str(), X_OK) == 0) return true;
  }
  return false;
}

// Whether it has ended within `time`.
bool HasEnded(pid_t process, steady_clock::duration time, int* status) {
  const auto until = steady_clock::now() + time;
  while (waitpid(process, status, WNOHANG) == 0) {
    if (steady_clock::now() > until) return false;
    std::this_thread::sleep_for(kLook);
  }
  return true;
}

void End(pid_t process) {
  int status = 0;
  for (const int signal : {SIGTERM, SIGTERM, SIGKILL}) {
    kill(process, signal);
    if (HasEnded(process, kGrace, &status)) return;
  }
}

// Waits until it has ended; ends it at the deadline and when this process is to stop.
Result<int> WaitFor(pid_t process, std::chrono::seconds deadline) {
  const auto until = steady_clock::now() + deadline;
  int status = 0;
  while (waitpid(process, &status, WNOHANG) == 0) {
    Status stop = StopSignal::Check();
    if (stop.ok() && steady_clock::now() > until) {
      stop = MakeStatus(StatusCode::kDeadlineExceeded, "it has not ended within {} s",
                        deadline.count());
    }
    if (!stop.ok()) {
      End(process);
      return stop;
    }
    std::this_thread::sleep_for(kLook);
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
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
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  const File out(std::tmpfile()), err(std::tmpfile());
  if (out == nullptr || err == nullptr) return IoError("no temporary file: {}", strerror(errno));

  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&files, fileno(out.get()), STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&files, fileno(err.get()), STDERR_FILENO);
  pid_t process = 0;
  const int failed = posix_spawn(&process, script.c_str(), &files, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&files);
  if (failed != 0) return IoError("cannot start {}: {}", script, strerror(failed));
  const Result<int> exit_code = WaitFor(process, deadline);
  if (!exit_code.ok()) return exit_code.status().Annotate("rowhouse " + arguments[0]);
  return CommandOutput{exit_code.value(), Contents(out.get()), Contents(err.get())};
}

}  // namespace rowhouse
