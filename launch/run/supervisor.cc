#include "launch/run/supervisor.h"

#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <utility>

#include "common/counted.h"
#include "common/host_limits.h"
#include "launch/hosts/wait_gatherer.h"
#include "launch/model/temporary_rows.h"

namespace rowhouse {
namespace {

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

}  // namespace

Supervisor::Supervisor(const SupervisorOptions& options) : options_(options) {}

Supervisor::~Supervisor() {
  const Status stopped = Stop();
  LOG_IF(WARNING, !stopped.ok()) << stopped.message();
}

Status Supervisor::Start() {
  RaiseOpenFilesLimit();  // The child's sockets are descriptors 1000 and up.
  for (uint32_t k = 0; k < options_.shards + 1; ++k) {
    ASSIGN_OR_RETURN(ListeningSocket socket, ListenTcp(options_.address, /*port=*/0));
    if (k == 0) endpoint_ = socket.endpoint();
    sockets_.push_back(std::move(socket));
  }
  return Spawn().Annotate(options_.name);
}

Status Supervisor::Spawn() {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
    return IoError("socketpair: {}", std::strerror(errno));
  }
  socket_to_child_ = ends[1];
  const std::string line = SecurityText(options_.security) + "\n";
  if (write(socket_to_child_, line.data(), line.size()) != static_cast<ssize_t>(line.size())) {
    close(ends[0]);
    return IoError("cannot hand on the key: {}", std::strerror(errno));
  }

  ChildCommand command{.arguments = {"rowhouse", "ps"},
                       .environment = EnvironmentWithoutMpi(),
                       .inherited = {ends[0]},
                       .has_own_session = true};
  int next = ChildProcess::kFirstInherited;
  command.arguments.push_back(fmt::format("--supervisor_fd={}", next++));
  std::string fds;
  for (const ListeningSocket& socket : sockets_) {
    command.inherited.push_back(socket.fd());
    fds += fmt::format("{}{}", fds.empty() ? "" : ",", next++);
  }
  command.arguments.push_back("--listen_fds=" + fds);
  command.arguments.push_back(fmt::format("--stop_deadline_ms={}", options_.stop_deadline_ms));
  command.arguments.insert(command.arguments.end(), options_.flags.begin(), options_.flags.end());
  Result<std::unique_ptr<ChildProcess>> started = ChildProcess::Start(command);
  close(ends[0]);
  if (started.status().code() == StatusCode::kResourceExhausted) {
    return UsageError(
        "the sockets of {} are numbered up to {}, more than this process may have open ({}); "
        "raise ulimit -n or lower --shards",
        Counted(options_.shards, "shard"), next - 1, started.status().message());
  }
  RETURN_IF_ERROR(started.status());
  server_ = std::move(started).value();
  return OkStatus();
}

Status Supervisor::TakeEnd(const ChildEnd& end) {
  const pid_t server = std::exchange(server_, nullptr)->pid();
  RemoveRowsLeftOver();  // Unless it was killed, it has done so itself.
  if (end.signal != 0) {
    end_ =
        MakeStatus(StatusCode::kUnavailable, "{}: its server (pid {}) was killed by signal {} ({})",
                   options_.name, server, end.signal, strsignal(end.signal));
  } else if (end.exit_code == 2) {
    end_ =
        UsageError("{}: its server (pid {}) could not start, and said why", options_.name, server);
  } else if (end.exit_code != 0 || socket_to_child_ >= 0) {
    end_ = MakeStatus(StatusCode::kUnavailable, "{}: its server (pid {}) ended with exit code {}",
                      options_.name, server, end.exit_code);
  }
  return end_;
}

Status Supervisor::Check() {
  if (server_ == nullptr) return end_;
  if (inquiry_.IsAsked()) server_->Signal(SIGURG);
  HandOnServersAnswers(socket_to_child_);
  const std::optional<ChildEnd> end = server_->Wait({});
  return end ? TakeEnd(*end) : end_;
}

Status Supervisor::Stop() {
  if (socket_to_child_ >= 0) close(std::exchange(socket_to_child_, -1));
  if (server_ == nullptr) return end_;
  server_->Signal(SIGCONT);  // If it is stopped (SIGSTOP), it must go on to see the closed socket.
  const auto end = server_->Wait(std::chrono::milliseconds(options_.stop_deadline_ms));
  if (end) return TakeEnd(*end);
  end_ = MakeStatus(StatusCode::kDeadlineExceeded,
                    "{}: its server (pid {}) did not end within {} ms and was killed",
                    options_.name, server_->pid(), options_.stop_deadline_ms);
  server_ = nullptr;  // kills it
  RemoveRowsLeftOver();
  return end_;
}

}  // namespace rowhouse
