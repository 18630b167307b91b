#include "launch/run/supervisor.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <thread>
#include <utility>

#include "common/clock.h"
#include "common/counted.h"
#include "common/open_files.h"
#include "launch/run/temporary_rows.h"

extern char** environ;

namespace rowhouse {
namespace {

constexpr auto kPollInterval = std::chrono::milliseconds(10);

// Without mpirun's variables: the child is no rank and never calls MPI.
std::vector<std::string> EnvironmentWithoutMpi() {
  std::vector<std::string> kept;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    if (text.starts_with("OMPI_") || text.starts_with("PMIX_") || text.starts_with("PMI_"))
      continue;
    kept.emplace_back(text);
  }
  return kept;
}

std::vector<char*> PointersTo(std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  for (std::string& text : strings) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

}  // namespace

Supervisor::Supervisor(const SupervisorOptions& options) : options_(options) {}

Supervisor::~Supervisor() {
  const Status stopped = Stop();
  LOG_IF(WARNING, !stopped.ok()) << stopped.message();
}

Status Supervisor::Start() {
  RaiseOpenFilesLimit();  // The child's sockets are descriptors 1000 and up.
  for (uint32_t k = 0; k < options_.shards + 1; ++k) {
    ASSIGN_OR_RETURN(ListeningSocket socket,
                     ListenTcp(options_.address, k == 0 ? options_.port : uint16_t{0}));
    if (k == 0) endpoint_ = socket.endpoint();
    sockets_.push_back(std::move(socket));
  }
  return Spawn().Annotate(options_.name);
}

Status Supervisor::Spawn() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return IoError("pipe: {}", std::strerror(errno));
  pipe_to_child_ = ends[1];
  const std::string line = SecurityText(options_.security) + "\n";
  if (write(pipe_to_child_, line.data(), line.size()) != static_cast<ssize_t>(line.size())) {
    close(ends[0]);
    return IoError("cannot hand on the key: {}", std::strerror(errno));
  }

  // Each descriptor is copied to a number above all that are open here, so that no copy overwrites
  // one that is yet to be copied.
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  constexpr int kFirstChildFd = 1000;
  int next = kFirstChildFd;
  int refused = 0;
  const auto hand_on = [&](int fd) {
    const int error = posix_spawn_file_actions_adddup2(&actions, fd, next);
    if (error != 0) refused = error;
    return next++;
  };
  std::vector<std::string> arguments = {"rowhouse", "ps"};
  arguments.push_back(fmt::format("--supervisor_fd={}", hand_on(ends[0])));
  std::string fds;
  for (const ListeningSocket& socket : sockets_) {
    fds += fmt::format("{}{}", fds.empty() ? "" : ",", hand_on(socket.fd()));
  }
  arguments.push_back("--listen_fds=" + fds);
  if (refused != 0) {
    posix_spawn_file_actions_destroy(&actions);
    close(ends[0]);
    return UsageError(
        "the sockets of {} are numbered up to {}, more than this process may have open ({}); "
        "raise ulimit -n or lower --shards",
        Counted(options_.shards, "shard"), next - 1, std::strerror(refused));
  }
  arguments.push_back(fmt::format("--stop_deadline_ms={}", options_.stop_deadline_ms));
  arguments.insert(arguments.end(), options_.flags.begin(), options_.flags.end());

  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  // In a session of its own, so that Ctrl-C and mpirun's signals reach the supervisor only. Signals
  // that this process blocks or handles have their defaults in the child.
  sigset_t none, all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  posix_spawnattr_setflags(&attributes,
                           POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  std::vector<std::string> environment = EnvironmentWithoutMpi();
  const int error = posix_spawn(&pid_, "/proc/self/exe", &actions, &attributes,
                                PointersTo(arguments).data(), PointersTo(environment).data());
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  close(ends[0]);
  if (error != 0) {
    pid_ = -1;
    return IoError("cannot start the server: {}", std::strerror(error));
  }
  return OkStatus();
}

Status Supervisor::TakeEnd(int wait_status) {
  const pid_t server = std::exchange(pid_, -1);
  RemoveRowsLeftOver();  // Unless it was killed, it has done so itself.
  if (WIFSIGNALED(wait_status)) {
    end_ =
        MakeStatus(StatusCode::kUnavailable, "{}: its server (pid {}) was killed by signal {} ({})",
                   options_.name, server, WTERMSIG(wait_status), strsignal(WTERMSIG(wait_status)));
  } else if (WEXITSTATUS(wait_status) == 2) {
    end_ =
        UsageError("{}: its server (pid {}) could not start, and said why", options_.name, server);
  } else if (WEXITSTATUS(wait_status) != 0 || pipe_to_child_ >= 0) {
    end_ = MakeStatus(StatusCode::kUnavailable, "{}: its server (pid {}) ended with exit code {}",
                      options_.name, server, WEXITSTATUS(wait_status));
  }
  return end_;
}

Status Supervisor::Check() {
  int wait_status = 0;
  if (pid_ > 0 && waitpid(pid_, &wait_status, WNOHANG) == pid_) return TakeEnd(wait_status);
  return end_;
}

Status Supervisor::Stop() {
  if (pipe_to_child_ >= 0) close(std::exchange(pipe_to_child_, -1));
  if (pid_ <= 0) return end_;
  kill(pid_, SIGCONT);  // If it is stopped (SIGSTOP), it must go on to see that the pipe is closed.
  const SystemClock clock;
  const TimeMs deadline = clock.NowMs() + options_.stop_deadline_ms;
  int wait_status = 0;
  while (waitpid(pid_, &wait_status, WNOHANG) == 0) {
    if (clock.NowMs() < deadline) {
      std::this_thread::sleep_for(kPollInterval);
      continue;
    }
    kill(pid_, SIGKILL);
    waitpid(pid_, &wait_status, 0);
    end_ = MakeStatus(StatusCode::kDeadlineExceeded,
                      "{}: its server (pid {}) did not end within {} ms and was killed",
                      options_.name, pid_, options_.stop_deadline_ms);
    pid_ = -1;
    RemoveRowsLeftOver();
    return end_;
  }
  return TakeEnd(wait_status);
}

}  // namespace rowhouse
