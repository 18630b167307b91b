#include "launch/hosts/child_process.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <thread>

namespace rowhouse {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr milliseconds kLook(5);
// mpirun.sh ends its ranks when it is asked a second time; what is left then is killed.
constexpr milliseconds kGrace(3000);

// As posix_spawn takes them; they point into `strings`.
std::vector<char*> PointersTo(std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  for (std::string& text : strings) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

// What posix_spawn is told of descriptors and signals.
class SpawnOptions {
 public:
  SpawnOptions() {
    posix_spawn_file_actions_init(&files_);
    posix_spawnattr_init(&attributes_);
  }
  ~SpawnOptions() {
    posix_spawn_file_actions_destroy(&files_);
    posix_spawnattr_destroy(&attributes_);
  }

  // 0, or why not.
  int Take(const ChildCommand& command) {
    int error = 0;
    const auto give = [&](int here, int there) {
      if (here >= 0 && error == 0) error = posix_spawn_file_actions_adddup2(&files_, here, there);
    };
    give(command.in, STDIN_FILENO);
    give(command.out, STDOUT_FILENO);
    give(command.err, STDERR_FILENO);
    int next = ChildProcess::kFirstInherited;
    for (const int fd : command.inherited) give(fd, next++);
    if (!command.has_own_session) return error;
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_setsigmask(&attributes_, &none);
    posix_spawnattr_setsigdefault(&attributes_, &all);
    posix_spawnattr_setflags(&attributes_,
                             POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    return error;
  }

  const posix_spawn_file_actions_t* files() const { return &files_; }
  const posix_spawnattr_t* attributes() const { return &attributes_; }

 private:
  posix_spawn_file_actions_t files_;
  posix_spawnattr_t attributes_;
};

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using OpenedFile = std::unique_ptr<std::FILE, CloseFile>;

std::string ContentsOf(std::FILE* file) {
  std::string text;
  std::rewind(file);
  char buffer[4096];
  while (const size_t bytes = std::fread(buffer, 1, sizeof buffer, file))
    text.append(buffer, bytes);
  return text;
}

}  // namespace

Result<std::unique_ptr<ChildProcess>> ChildProcess::Start(const ChildCommand& command) {
  SpawnOptions options;
  if (const int refused = options.Take(command); refused != 0) {
    return MakeStatus(StatusCode::kResourceExhausted, "{}", std::strerror(refused));
  }
  std::vector<std::string> arguments = command.arguments;
  std::vector<std::string> environment = command.environment.value_or(std::vector<std::string>());
  const std::vector<char*> words = PointersTo(arguments), entries = PointersTo(environment);
  pid_t pid = -1;
  const int error =
      posix_spawn(&pid, command.program.c_str(), options.files(), options.attributes(),
                  words.data(), command.environment ? entries.data() : environ);
  if (error != 0) return IoError("cannot start {}: {}", command.program, std::strerror(error));
  return std::unique_ptr<ChildProcess>(new ChildProcess(pid));
}

ChildProcess::~ChildProcess() {
  if (end_) return;
  Signal(SIGKILL);
  while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

void ChildProcess::Signal(int signal) const {
  if (!end_) kill(pid_, signal);
}

std::optional<ChildEnd> ChildProcess::Wait(milliseconds wait) {
  const auto until = steady_clock::now() + wait;
  int status = 0;
  while (!end_) {
    if (waitpid(pid_, &status, WNOHANG) == pid_) {
      end_ = WIFEXITED(status) ? ChildEnd{.exit_code = WEXITSTATUS(status)}
                               : ChildEnd{.signal = WTERMSIG(status)};
    } else if (steady_clock::now() >= until) {
      break;
    } else {
      std::this_thread::sleep_for(kLook);
    }
  }
  return end_;
}

Result<CommandOutput> RunToItsEnd(ChildCommand command, milliseconds deadline,
                                  const std::function<Status()>& check) {
  const OpenedFile in(std::fopen("/dev/null", "r")), out(std::tmpfile()), err(std::tmpfile());
  if (in == nullptr || out == nullptr || err == nullptr) {
    return IoError("no temporary file: {}", std::strerror(errno));
  }
  command.in = fileno(in.get());
  command.out = fileno(out.get());
  command.err = fileno(err.get());
  ASSIGN_OR_RETURN(const auto process, ChildProcess::Start(command));
  const auto until = steady_clock::now() + deadline;
  std::optional<ChildEnd> end;
  while (!(end = process->Wait(kLook))) {
    Status stop = check();
    if (stop.ok() && steady_clock::now() > until) {
      stop = MakeStatus(StatusCode::kDeadlineExceeded, "it has not ended within {} s",
                        std::chrono::duration_cast<std::chrono::seconds>(deadline).count());
    }
    if (stop.ok()) continue;
    for (const int signal : {SIGTERM, SIGTERM, SIGKILL}) {
      process->Signal(signal);
      if (process->Wait(kGrace)) break;
    }
    return stop;
  }
  return CommandOutput{end->exit_code, ContentsOf(out.get()), ContentsOf(err.get())};
}

}  // namespace rowhouse
