#include "launch/run/ps_server.h"

#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <thread>

#include "common/clean_text.h"
#include "common/clock.h"
#include "common/inquiry/inquiry.h"
#include "common/read_value.h"
#include "common/thread_name.h"
#include "common/transport/tcp_socket.h"
#include "common/transport/zeromq.h"
#include "launch/hosts/host_facts.h"
#include "launch/hosts/wait_gatherer.h"
#include "launch/model/temporary_rows.h"
#include "launch/prediction/plan_of_run.h"
#include "launch/run/key_file.h"
#include "ps/node/server.h"

namespace rowhouse {
namespace {

std::atomic<bool> g_stop = false;

void StopServingOnSignals() {
  struct sigaction action = {};
  action.sa_handler = [](int) { g_stop = true; };
  for (int signal : {SIGINT, SIGTERM}) sigaction(signal, &action, nullptr);
  signal(SIGPIPE, SIG_IGN);
  HearInquiries();
}

// Ends the process if it is still there when its time to stop has passed, because a store that
// hangs must not hold ports and LOCK files for ever. Rows of an answered FLUSH are safe.
class StopDeadline {
 public:
  StopDeadline(Listener& node, int supervisor_fd, uint32_t deadline_ms)
      : over_fd_(eventfd(0, EFD_CLOEXEC)) {
    PCHECK(over_fd_ >= 0) << "eventfd";
    thread_ = std::thread(
        [this, &node, supervisor_fd, deadline_ms] { Watch(node, supervisor_fd, deadline_ms); });
  }
  ~StopDeadline() {
    eventfd_write(over_fd_, 1);
    thread_.join();
    close(over_fd_);
  }

 private:
  void Watch(Listener& node, int supervisor_fd, uint32_t deadline_ms) const {
    constexpr int kPollMs = 100;
    const SystemClock clock;
    TimeMs stop_by = 0;
    for (;;) {
      // The key has been read, and the supervisor writes nothing else: readable means end of file,
      // so it is gone.
      pollfd ends[] = {{g_stop ? -1 : supervisor_fd, POLLIN, 0}, {over_fd_, POLLIN, 0}};
      poll(ends, std::size(ends), kPollMs);
      if (ends[1].revents != 0) return;
      if (ends[0].revents != 0) {
        g_stop = true;
        node.Wake();
      }
      if (!g_stop) continue;
      if (stop_by == 0) stop_by = clock.NowMs() + deadline_ms;
      if (clock.NowMs() < stop_by) continue;
      fprintf(stderr, "rowhouse ps: did not stop within %u ms: giving up\n", deadline_ms);
      _exit(1);
    }
  }

  const int over_fd_;
  std::thread thread_;
};

// Servers of one port have different incarnations: a server refuses messages for the one before it.
uint64_t NewIncarnation() {
  timespec now = {};
  clock_gettime(CLOCK_REALTIME, &now);
  return (static_cast<uint64_t>(now.tv_sec) << 30) ^ static_cast<uint64_t>(now.tv_nsec);
}

// "tcp://host:0" for "tcp://host:4000": shards listen on the host of the node, on ports that the OS
// chooses.
std::string AnyPortBeside(const std::string& endpoint) {
  return endpoint.substr(0, endpoint.rfind(':')) + ":0";
}

// What the supervisor says first.
Result<Security> ReadSupervisorsSecurity(int fd) {
  char line[1024];  // A packet, which ends with a line feed.
  const ssize_t bytes = read(fd, line, sizeof(line));
  Result<Security> security =
      ReadSecurityText({line, bytes < 1 ? 0 : static_cast<size_t>(bytes - 1)});
  if (security.ok()) return security;
  return security.status().Annotate("the supervisor's first line");
}

// What peers send and do not read stays within the node's memory limit.
ZeroMqOptions TransportOptionsOf(const NodeOptions& node, uint32_t rpc_deadline_ms) {
  ZeroMqOptions options{.process_bytes = std::numeric_limits<uint64_t>::max()};
  const uint64_t limit = node.memory_limit_mb << 20;
  if (limit == 0) return options;
  options.max_frame_bytes =
      std::min<uint64_t>(kMaxFrameBytes, std::max<uint64_t>(kWindowBytes, limit / 16));
  options.peer_queue_bytes = std::max<uint64_t>(kWindowBytes, limit / 16);
  options.queue_bytes = limit / 8;
  options.process_bytes = limit;
  // Answers that are not read hold memory that others wait for.
  options.unread_ms = static_cast<int>(std::min<uint32_t>(rpc_deadline_ms, INT_MAX));
  return options;
}

Status Serve(const Settings& settings) {
  const bool is_supervised = settings.server.supervisor_fd >= 0;
  // The supervisor's death closes the socket. If this process is stopped then (SIGSTOP), this
  // signal lets it go on, so that it reads the end of file.
  if (is_supervised) prctl(PR_SET_PDEATHSIG, SIGCONT);
  const SystemClock clock;
  std::unique_ptr<TemporaryDirectory> temporary;
  ServerOptions options{.host = HostName(),
                        .incarnation = NewIncarnation(),
                        .node = settings.storage,
                        .silence_ms = settings.cluster.rpc_deadline_ms,
                        .logs_jobs = !is_supervised};
  options.node.row_dir = settings.row_directory();
  if (const std::string& file = settings.storage.cache_access_counts; !file.empty()) {
    ASSIGN_OR_RETURN(AccessCounts counts, ReadAccessCounts(file, "cache_access_counts"));
    options.access_counts = std::make_shared<const AccessCounts>(std::move(counts));
  }
  if (options.node.row_dir.empty() && options.node.has_files()) {
    ASSIGN_OR_RETURN(temporary, MakeTemporaryRows());
    options.node.row_dir = temporary->path();
    options.rows_end_with_job = true;
  }
  // The nodes of a run read what its own operator has named.
  if (!is_supervised) {
    options.readable =
        ReadablePlaces(options.node.row_dir, SplitAtCommas(settings.server.read_dirs));
  }
  ZeroMqOptions transport_options =
      TransportOptionsOf(settings.storage, settings.cluster.rpc_deadline_ms);
  ASSIGN_OR_RETURN(transport_options.security,
                   is_supervised ? ReadSupervisorsSecurity(settings.server.supervisor_fd)
                                 : FindSecurity(settings, /*by_hand=*/true));
  const std::unique_ptr<Transport> transport = MakeZeroMqTransport(transport_options);
  const std::vector<int32_t>& fds = settings.server.listen_fds;
  const auto inherited = [&](size_t k) -> Result<std::unique_ptr<Listener>> {
    if (k >= fds.size()) {
      return UsageError("socket {} wanted, the supervisor gave {}", k, fds.size());
    }
    ASSIGN_OR_RETURN(const std::string endpoint, EndpointOf(fds[k]));
    return transport->ListenOn(fds[k], endpoint);
  };
  ASSIGN_OR_RETURN(const std::unique_ptr<Listener> node,
                   is_supervised ? inherited(0) : transport->Listen(settings.server.listen));
  const std::string endpoint = node->endpoint();
  const auto shard_listener = [&](size_t k) {
    return is_supervised ? inherited(k + 1) : transport->Listen(AnyPortBeside(endpoint));
  };
  if (!is_supervised) {
    PrintClean("rowhouse ps: listening on {}{}\n", endpoint,
               temporary == nullptr
                   ? ""
                   : "; rows are deleted when it ends, --row_dir=DIRECTORY keeps them");
    fmt::print("rowhouse ps: {}\n", DescribeSecurity(settings));
    fflush(stdout);
  }
  const StopDeadline stop_deadline(*node, settings.server.supervisor_fd,
                                   settings.cluster.stop_deadline_ms);
  Server server(options, shard_listener, clock);
  return server.Run(*node, g_stop, /*one_job=*/false);
}

}  // namespace

Status RunPs(const Settings& settings) {
  StopServingOnSignals();
  NameThisThread("rowhouse-ps");    // The supervisor starts it as /proc/self/exe.
  constexpr uint32_t kThreads = 4;  // a shard, its I/O, ZeroMQ's, the node
  WidenCpuMask(kThreads);
  const AnswersToSupervisor answers(settings.server.supervisor_fd);
  return Serve(settings);
}

}  // namespace rowhouse
