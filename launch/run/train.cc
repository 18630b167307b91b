#include "launch/run/train.h"

#include <fcntl.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <limits>
#include <set>
#include <sstream>
#include <thread>

#include "common/clean_text.h"
#include "common/clock.h"
#include "common/inquiry/inquiry.h"
#include "common/transport/peer_name.h"
#include "common/transport/zeromq.h"
#include "launch/command_line/foreign_flags.h"
#include "launch/command_line/verb_flags.h"
#include "launch/hosts/cluster.h"
#include "launch/hosts/host_facts.h"
#include "launch/hosts/process_end.h"
#include "launch/hosts/roles.h"
#include "launch/hosts/wait_gatherer.h"
#include "launch/model/temporary_rows.h"
#include "launch/prediction/plan_of_run.h"
#include "launch/run/key_file.h"
#include "launch/run/supervisor.h"
#include "launch/run/worker_run.h"
#include "launch/settings/setting_fields.h"
#include "worker/mpi/agreement.h"
#include "worker/mpi/communicator.h"

namespace rowhouse {
namespace {

REGISTER_MEMBER(AddVerbFlag(
    {.name = kProfileFlag,
     .verbs = kTrain | kBench,
     .help =
         "Prints where time and memory went, by rank and phase. --profile=DIRECTORY also writes "
         "profile.json (figures) and trace.json (all ranks over time, for ui.perfetto.dev) "
         "there. train: --profile=NAME.json writes the trace to that file, and --profile alone "
         "both into profile below --model_dir, if there is one. bench: of pull and push, with a "
         "directory for each",
     .has_optional_value = true}));

// The ordered allreduce has a longer deadline than a pull, so that the error of a worker that waits
// for a shard, which names the shard, comes first.
constexpr uint32_t kLongerThanAnyPullMs = 5000;
constexpr uint32_t kTransportThreads = 1;  // ZeroMQ's, beside the compute threads

void PrintError(const Status& status) {
  fflush(stdout);
  const std::string message = CleanLines(status.message());
  std::string_view rest = message;
  while (!rest.empty()) {  // One message per line, each with the program's name.
    const size_t end = rest.find('\n');
    fmt::print(stderr, "rowhouse: {}\n", rest.substr(0, end));
    rest = end == std::string_view::npos ? "" : rest.substr(end + 1);
  }
}

std::string NodeName(size_t node, int rank, const std::string& host) {
  return fmt::format("PS node {} (rank {} on {})", node, rank, host);
}

std::string WorkerName(size_t worker, int rank, const std::string& host) {
  return fmt::format("worker {} (rank {} on {})", worker, rank, host);
}

// Starts the server of this rank, PS node `node`; `*interface` is where it listens.
Status StartNode(const Settings& settings, const Security& security, const Cluster& cluster,
                 size_t node, std::unique_ptr<Supervisor>* supervisor,
                 NetworkInterface* interface) {
  ASSIGN_OR_RETURN(*interface, InterfaceToListenOn(settings.cluster.bind_interface, cluster.facts(),
                                                   static_cast<size_t>(cluster.rank())));
  std::vector<std::string> flags = NodeFlags(settings);
  for (const std::string& flag : GivenLogFlags()) flags.push_back(flag);
  *supervisor = std::make_unique<Supervisor>(
      SupervisorOptions{.address = interface->address,
                        .shards = settings.cluster.shards,
                        .flags = std::move(flags),
                        .security = security,
                        .name = NodeName(node, cluster.rank(), cluster.host()),
                        .stop_deadline_ms = settings.cluster.stop_deadline_ms});
  if (settings.row_directory().empty() && settings.storage.has_files()) {
    RETURN_IF_ERROR(CheckTemporaryRows());
  }
  if (const std::string& file = settings.storage.cache_access_counts; !file.empty()) {
    RETURN_IF_ERROR(ReadAccessCounts(file, "cache_access_counts").status());
  }
  return (*supervisor)->Start();
}

// A PS rank: supervises its server until all workers have parted. Never waits inside MPI.
Status Supervise(Cluster& cluster, Supervisor& supervisor, const std::vector<int>& workers) {
  constexpr auto kExitPollInterval = std::chrono::milliseconds(20);
  const auto is_waited_for = [&](int rank) {
    return std::find(workers.begin(), workers.end(), rank) != workers.end();
  };
  for (;;) {
    RETURN_IF_ERROR(supervisor.Check().Annotate("training"));
    const std::vector<int> missing = cluster.NotParted();
    if (std::none_of(missing.begin(), missing.end(), is_waited_for)) break;
    std::this_thread::sleep_for(kExitPollInterval);
  }
  return supervisor.Stop().Annotate("parting");
}

std::vector<NodeAddress> NodesFromEndpoints(const std::vector<std::string>& endpoints) {
  std::vector<NodeAddress> nodes;
  for (const std::string& endpoint : endpoints) {
    nodes.push_back({.endpoint = endpoint, .name = fmt::format("PS node {}", nodes.size())});
  }
  return nodes;
}

WorkerRunOptions MakeWorkerRunOptions(const Settings& settings, const std::string& profile,
                                      const Cluster& cluster) {
  const std::set<std::string> hosts(cluster.hosts().begin(), cluster.hosts().end());
  const HostFacts& smallest = *std::ranges::min_element(cluster.facts(), {}, &HostFacts::cpus);
  return {.host = cluster.host(),
          .nodes = NodesFromEndpoints(settings.cluster.ps_endpoints),
          .shards_per_node = settings.cluster.shards,
          .session = NewSession(),
          .hosts = {hosts.begin(), hosts.end()},
          .cores = smallest.cpus,
          .started_at = NowInUtc(),
          .profile = profile};
}

// The part of a worker in the run.
WorkerRunResult Work(const Settings& settings, const WorkerRunOptions& options,
                     const Security& security, Communicator& workers, Communicator& saving) {
  // A node that ended is missed like one that is silent in a step, whatever it was asked for.
  constexpr uint32_t kMinLostMs = 10000;  // a connection that broke has time to come back
  const uint32_t lost_ms = std::max(settings.cluster.rpc_deadline_ms, kMinLostMs);
  const std::unique_ptr<Transport> transport =
      MakeZeroMqTransport({.lost_ms = static_cast<int>(lost_ms), .security = security});
  const SystemClock clock;
  return RunWorker({.settings = settings,
                    .options = options,
                    .workers = workers,
                    .saving = saving,
                    .transport = *transport,
                    .clock = clock,
                    .stop = StopRequested()});
}

// Without mpirun: one worker, and one PS node as a child unless --ps_endpoints names others.
Status TrainAlone(const Settings& settings, const std::string& profile, Cluster& cluster) {
  RETURN_IF_ERROR(settings.PsRanks(1).status());
  RETURN_IF_ERROR(
      InterfaceToListenOn(settings.cluster.bind_interface, cluster.facts(), 0).status());
  WorkerRunOptions options = MakeWorkerRunOptions(settings, profile, cluster);
  options.worker_names = {WorkerName(0, 0, cluster.host())};
  ASSIGN_OR_RETURN(const Security security, FindSecurity(settings, !options.nodes.empty()));
  const std::unique_ptr<Communicator> alone = MakeSoloCommunicator();
  if (!options.nodes.empty()) return Work(settings, options, security, *alone, *alone).status;
  std::unique_ptr<Supervisor> supervisor;
  NetworkInterface interface;
  RETURN_IF_ERROR(StartNode(settings, security, cluster, 0, &supervisor, &interface));
  options.nodes = {{.endpoint = supervisor->endpoint(), .name = NodeName(0, 0, cluster.host())}};
  options.share_rows = true;
  std::atomic<bool> is_done = false;
  std::thread watcher([&] {
    while (!is_done) {
      if (const Status status = supervisor->Check(); !status.ok() && !is_done) {
        PrintError(status.Annotate("training"));
        cluster.Abort(status.exit_code());  // The worker would notice only at its deadline.
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
  });
  const Status status = Work(settings, options, security, *alone, *alone).status;
  is_done = true;
  watcher.join();
  const Status stopped = supervisor->Stop();
  return status.ok() ? stopped : status;
}

// "--name=value" of all settings that must be equal on all ranks, and the config digest, which
// covers the tables. Settings of a host are left out: paths, and the memory of a PS node.
std::vector<std::string> SharedSettings(const Settings& settings) {
  std::vector<std::string> shared;
  for (const SettingField& field : SettingFields()) {
    if (field.section == Section::kStorage || field.section == Section::kServer) continue;
    if (field.name == "data" || field.name == "model_dir" || field.name == "report") continue;
    if (field.name == "bind_interface" || field.name == "key_file") continue;
    shared.push_back(fmt::format("--{}={}", field.name, field.get(settings)));
  }
  // Its path may differ.
  shared.push_back(settings.cluster.key_file.empty() ? "no --key_file" : "a --key_file");
  shared.push_back("the config digest " + settings.config_digest());
  return shared;
}

Status CheckSameSettings(const Settings& settings, Cluster& cluster) {
  const std::vector<std::string> mine = SharedSettings(settings);
  ASSIGN_OR_RETURN(const std::string first,
                   BroadcastFromFirst(cluster.world(), fmt::format("{}", fmt::join(mine, "\n")),
                                      "comparing settings"));
  std::istringstream lines(first);
  Status status;
  std::string its;
  for (const std::string& own : mine) {
    std::getline(lines, its);
    if (own == its) continue;
    status = UsageError("rank {} on {} was given {}, but rank 0 on {} {}; give all ranks the same",
                        cluster.rank(), cluster.host(), own, cluster.hosts()[0], its);
    break;
  }
  return Agree(cluster.world(), status, "comparing settings");
}

// Twice the deadline of an operation on all rows, for flush and digest, half of it for the test of
// the best model (TestBest), and a little more; at most the largest int.
uint32_t SavingDeadlineMs(const Settings& settings) {
  const uint64_t all = 5 * uint64_t{settings.cluster.save_deadline_ms} / 2 + kLongerThanAnyPullMs;
  return static_cast<uint32_t>(std::min<uint64_t>(all, std::numeric_limits<int32_t>::max()));
}

Result<Roles> AssignRolesAsTold(const Settings& settings, const Cluster& cluster) {
  const uint32_t per_host = settings.cluster.ps_per_host;
  if (per_host > 0) return AssignRolesPerHost(cluster.hosts(), per_host);
  ASSIGN_OR_RETURN(const uint32_t ps, settings.PsRanks(static_cast<uint32_t>(cluster.size())));
  return AssignRoles(cluster.hosts(), ps);
}

// Collective. A key is not sent where --key_file names one: every rank reads its own host's file.
Result<Security> ShareSecurity(const Settings& settings, Cluster& cluster) {
  const bool is_sent = settings.cluster.key_file.empty();
  Result<Security> mine = Security();
  if (!is_sent || cluster.rank() == 0)
    mine = FindSecurity(settings, !settings.cluster.ps_endpoints.empty());
  RETURN_IF_ERROR(Agree(cluster.world(), mine.status(), "finding the key of the run"));
  if (!is_sent) return mine;
  ASSIGN_OR_RETURN(const std::string text,
                   BroadcastFromFirst(cluster.world(), SecurityText(mine.value()),
                                      "sharing the key of the run"));
  return ReadSecurityText(text);
}

// Collective: where all ranks are, and where PS nodes listen.
Result<std::vector<RankPlace>> GatherPlaces(const std::string& endpoint,
                                            const std::string& interface, Cluster& cluster) {
  const std::string mine = endpoint + " " + interface;
  ASSIGN_OR_RETURN(const auto all, cluster.world().AllGather(std::as_bytes(std::span(mine)),
                                                             "exchanging endpoints"));
  std::vector<RankPlace> places;
  for (size_t r = 0; r < all.size(); ++r) {
    const std::string text(reinterpret_cast<const char*>(all[r].data()), all[r].size());
    const size_t blank = text.find(' ');
    places.push_back({.host = cluster.hosts()[r],
                      .cpus = cluster.facts()[r].cpus,
                      .endpoint = text.substr(0, blank),
                      .interface = text.substr(blank + 1)});
  }
  return places;
}

// A node that cannot be reached is found here, with a reason, not at the deadline of the first
// HELLO without one. One worker of each host tries it; the others of the host use the same network.
Status CheckReachable(const Settings& settings, const Roles& roles,
                      const std::vector<RankPlace>& places, const Cluster& cluster) {
  const auto first = std::find_if(roles.workers.begin(), roles.workers.end(), [&](int worker) {
    return places[static_cast<size_t>(worker)].host == cluster.host();
  });
  if (first == roles.workers.end() || *first != cluster.rank()) return OkStatus();
  constexpr uint32_t kMaxWaitMs = 10000;  // Three attempts of the kernel's.
  // Half of the others' deadline, so that the reason is printed before that expires.
  const auto deadline_ms =
      static_cast<int>(std::min(kMaxWaitMs, settings.cluster.rendezvous_deadline_ms / 2));
  for (size_t n = 0; n < roles.ps.size(); ++n) {
    const RankPlace& place = places[static_cast<size_t>(roles.ps[n])];
    const Status reached = TryConnect(place.endpoint, deadline_ms);
    if (reached.ok()) continue;
    return UsageError(
        "host {} does not reach {} on its interface {}: {}; look at routes and firewalls between "
        "the two, or name another network with --bind_interface",
        cluster.host(), NodeName(n, roles.ps[n], place.host), place.interface, reached.message());
  }
  return OkStatus();
}

WorkerRunOptions WorkerOptionsUnderMpirun(const Settings& settings, const std::string& profile,
                                          const Roles& roles, const std::vector<RankPlace>& places,
                                          const Cluster& cluster) {
  WorkerRunOptions options = MakeWorkerRunOptions(settings, profile, cluster);
  options.prints = cluster.rank() == roles.workers[0];
  for (size_t n = 0; n < roles.ps.size(); ++n) {
    const auto rank = static_cast<size_t>(roles.ps[n]);
    options.nodes.push_back(
        {.endpoint = places[rank].endpoint, .name = NodeName(n, roles.ps[n], places[rank].host)});
  }
  for (size_t w = 0; w < roles.workers.size(); ++w) {
    const int rank = roles.workers[w];
    options.worker_names.push_back(WorkerName(w, rank, places[static_cast<size_t>(rank)].host));
  }
  return options;
}

// Collective. Whether PS nodes see each other's rows: those of a loaded model may have to be moved.
Result<bool> ShareRows(const Settings& settings, Cluster& cluster) {
  if (!settings.cluster.ps_endpoints.empty()) return false;
  const bool are_on_one_host = std::ranges::all_of(
      cluster.hosts(), [&](const std::string& host) { return host == cluster.hosts()[0]; });
  if (are_on_one_host || !settings.output.load) return are_on_one_host;
  return DoAllSee(settings.row_directory(), cluster.world());
}

// Collective. `*prints`: whether this rank prints the status, which other ranks return as well.
Status TrainUnderMpirun(const Settings& settings, const std::string& profile, Cluster& cluster,
                        bool* prints) {
  RETURN_IF_ERROR(CheckSameSettings(settings, cluster));
  ASSIGN_OR_RETURN(const Roles roles, AssignRolesAsTold(settings, cluster));
  const auto mine = std::find(roles.ps.begin(), roles.ps.end(), cluster.rank());
  const bool is_ps = mine != roles.ps.end();

  std::unique_ptr<Supervisor> supervisor;
  NetworkInterface interface;
  const auto node = static_cast<size_t>(mine - roles.ps.begin());
  ASSIGN_OR_RETURN(const Security security, ShareSecurity(settings, cluster));
  const Status started =
      is_ps ? StartNode(settings, security, cluster, node, &supervisor, &interface) : OkStatus();
  RETURN_IF_ERROR(Agree(cluster.world(), started, "starting the PS nodes"));
  ASSIGN_OR_RETURN(const std::vector<RankPlace> places,
                   GatherPlaces(is_ps ? supervisor->endpoint() : "", interface.name, cluster));
  ASSIGN_OR_RETURN(const bool share_rows, ShareRows(settings, cluster));
  RETURN_IF_ERROR(Agree(cluster.world(), CheckReachable(settings, roles, places, cluster),
                        "reaching the PS nodes"));
  ASSIGN_OR_RETURN(
      const std::unique_ptr<Communicator> workers,
      cluster.MakeWorkers(roles.workers, settings.cluster.rpc_deadline_ms + kLongerThanAnyPullMs));
  // Rank 0 waits for flush and digest, one after the other; the others wait for rank 0.
  ASSIGN_OR_RETURN(const std::unique_ptr<Communicator> saving,
                   cluster.MakeWorkers(roles.workers, SavingDeadlineMs(settings)));
  ASSIGN_OR_RETURN(const std::unique_ptr<WaitGatherer> waits,
                   WaitGatherer::Make(cluster, roles, settings.cluster.shards,
                                      is_ps ? supervisor->server_pid() : getpid(),
                                      settings.cluster.rpc_deadline_ms + kLongerThanAnyPullMs));
  if (is_ps) {
    *prints = true;
    const Status status = Supervise(cluster, *supervisor, roles.workers);
    if (status.ok()) return status;
    PrintError(status);  // Workers would notice only at their deadlines.
    cluster.Abort(status.exit_code());
  }

  WorkerRunOptions options = WorkerOptionsUnderMpirun(settings, profile, roles, places, cluster);
  options.share_rows = share_rows;
  if (options.prints) {
    fmt::print("{}",
               RankMapText(roles, settings.cluster.shards, places, settings.cluster.ps_endpoints));
    fflush(stdout);
  }
  const auto [status, is_agreed] = Work(settings, options, security, *workers, *saving);
  if (!status.ok()) waits->AwaitPicture();
  if (!is_agreed) {
    // The others wait for this worker: the run has to be ended.
    PrintError(status.Annotate(fmt::format("rank {} on {}", cluster.rank(), cluster.host())));
    cluster.Abort(status.exit_code());
  }
  *prints = options.prints;
  return status;
}

// Waits until all ranks have parted. Workers part at once, PS nodes after they have closed their
// stores. kDeadlineExceeded names the ranks that have not parted.
Status Part(const Settings& settings, const Status& outcome, Cluster& cluster) {
  constexpr uint32_t kMomentsMs = 3000;
  // After a wait for ranks has expired, some of them will hardly come now.
  const bool is_lost = outcome.code() == StatusCode::kDeadlineExceeded;
  const uint32_t deadline_ms = kMomentsMs + (is_lost ? 0 : settings.cluster.stop_deadline_ms);
  const SystemClock clock;
  const TimeMs deadline = clock.NowMs() + deadline_ms;
  cluster.PartNow();
  for (;;) {
    const std::vector<int> missing = cluster.NotParted();
    if (missing.empty()) return OkStatus();
    if (clock.NowMs() >= deadline) {
      std::vector<std::string> names;
      for (int rank : missing) {
        names.push_back(
            fmt::format("rank {} on {}", rank, cluster.hosts()[static_cast<size_t>(rank)]));
      }
      return MakeStatus(StatusCode::kDeadlineExceeded, "parting: {} did not come within {} ms",
                        fmt::join(names, ", "), deadline_ms);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

}  // namespace

int RunTrain(const Settings& settings, const std::string& profile) {
  HandleStopSignals();
  HearInquiries();
  Result<std::unique_ptr<Cluster>> joined = Cluster::Join(settings.cluster.rendezvous_deadline_ms);
  if (!joined.ok()) {
    PrintError(joined.status());
    return joined.status().exit_code();
  }
  Cluster& cluster = *joined.value();
  bool prints = cluster.rank() == 0;
  WidenCpuMask(settings.training.threads + kTransportThreads);
  // mpirun with one rank is a run without mpirun.
  const bool is_alone = cluster.size() == 1;
  const Status status = is_alone ? TrainAlone(settings, profile, cluster)
                                 : TrainUnderMpirun(settings, profile, cluster, &prints);
  if (const Status parted = Part(settings, status, cluster); !parted.ok()) {
    // The ranks that are missing have not printed the error: each rank prints its own.
    const Status failed = status.ok() ? parted : status;
    PrintError(failed);
    cluster.Abort(failed.exit_code());
  }
  if (!status.ok() && prints) PrintError(status);
  cluster.Finalize();
  return status.exit_code();
}

}  // namespace rowhouse
