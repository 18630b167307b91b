#include "launch/hosts/cluster.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <span>
#include <thread>
#include <utility>

#include "common/mutex.h"
#include "worker/mpi/agreement.h"
#include "worker/mpi/communicator.h"
#include "worker/mpi/mpi_communicator.h"

namespace rowhouse {
namespace {

constexpr int kPartingTag = 1;

std::string EnvironmentOr(const char* name, const std::string& otherwise) {
  const char* value = std::getenv(name);
  return value == nullptr ? otherwise : value;
}

// Some of MPI's calls wait for other ranks without a deadline. A watchdog ends the process when
// such a call takes too long, and mpirun then ends the other ranks.
class Watchdog {
 public:
  // `describe` returns what did not happen; it is called at the deadline, on another thread.
  Watchdog(uint32_t deadline_ms, std::function<std::string()> describe)
      : thread_([this, deadline_ms, describe = std::move(describe)] {
          if (IsDoneWithin(std::chrono::milliseconds(deadline_ms))) return;
          const std::string message = fmt::format("rowhouse: rank {} on {}: {} within {} ms\n",
                                                  EnvironmentOr("OMPI_COMM_WORLD_RANK", "?"),
                                                  HostName(), describe(), deadline_ms);
          fputs(message.c_str(), stderr);
          _exit(1);
        }) {}

  ~Watchdog() {
    {
      MutexLock lock(mutex_);
      is_done_ = true;
    }
    done_.NotifyOne();
    thread_.join();
  }

 private:
  bool IsDoneWithin(std::chrono::milliseconds limit) {
    const auto deadline = CondVar::After(limit);
    MutexLock lock(mutex_);
    while (!is_done_ && done_.WaitUntil(mutex_, deadline)) continue;
    return is_done_;
  }

  Mutex mutex_;
  CondVar done_;
  bool is_done_ GUARDED_BY(mutex_) = false;
  std::thread thread_;  // last: it uses the others
};

// Before MPI_Init returns, ranks cannot ask each other who is missing. So each rank leaves a file
// in the directory that mpirun has for the job on each host, which the other ranks of the host can
// see.
class ArrivalMarks {
 public:
  ArrivalMarks() : directory_(EnvironmentOr("PMIX_SERVER_TMPDIR", "")) {
    if (!directory_.empty())
      std::ofstream(MarkOf(EnvironmentOr("OMPI_COMM_WORLD_LOCAL_RANK", "0")));
  }

  // "local rank 2 of 3 on hostA".
  std::string DescribeMissing() const {
    const int here = std::atoi(EnvironmentOr("OMPI_COMM_WORLD_LOCAL_SIZE", "0").c_str());
    std::string missing;
    for (int local = 0; local < here && !directory_.empty(); ++local) {
      if (std::filesystem::exists(MarkOf(std::to_string(local)))) continue;
      missing += fmt::format("{}{}", missing.empty() ? "" : ", ", local);
    }
    if (missing.empty()) return "a rank on another host";
    return fmt::format("local rank {} of {} on {}", missing, here, HostName());
  }

 private:
  std::string MarkOf(const std::string& local_rank) const {
    return directory_ + "/rowhouse-came-" + local_rank;
  }

  const std::string directory_;
};

}  // namespace

bool Cluster::IsUnderMpirun() { return std::getenv("OMPI_COMM_WORLD_SIZE") != nullptr; }

Result<std::unique_ptr<Cluster>> Cluster::Join(uint32_t deadline_ms) {
  std::unique_ptr<Cluster> cluster(new Cluster());
  if (!IsUnderMpirun()) {
    cluster->facts_ = {FactsOfThisHost()};
    cluster->hosts_ = NamesOfHosts(cluster->facts_);
    cluster->world_ = MakeSoloCommunicator();
    return cluster;
  }
  {
    const ArrivalMarks marks;
    const Watchdog watchdog(deadline_ms, [&marks] {
      return fmt::format("start of the run (--rendezvous_deadline_ms): {} did not come",
                         marks.DescribeMissing());
    });
    int provided = 0;
    MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided);
  }
  RETURN_IF_ERROR(cluster->Meet(deadline_ms));
  return cluster;
}

Status Cluster::Meet(uint32_t deadline_ms) {
  MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
  MPI_Comm_size(MPI_COMM_WORLD, &size_);
  // No rank's host is known before this call.
  std::vector<WorkerAddress> ranks(static_cast<size_t>(size_));
  for (int r = 0; r < size_; ++r) ranks[static_cast<size_t>(r)] = {r, "an unknown host"};
  const std::string mine = ToText(FactsOfThisHost());
  {
    auto watchdog = std::make_unique<Watchdog>(deadline_ms, [] {
      return "start of the run (--rendezvous_deadline_ms; where hosts do not reach each other, "
             "mpirun --mca btl_tcp_if_include NETWORK names another way): MPI brought no word "
             "from other ranks";
    });
    ASSIGN_OR_RETURN(
        const auto first,
        MakeMpiCommunicator(MPI_COMM_WORLD, {.deadline_ms = deadline_ms, .workers = ranks}));
    watchdog.reset();
    ASSIGN_OR_RETURN(const auto all,
                     first->AllGather(std::as_bytes(std::span(mine)), "start of the run"));
    for (size_t r = 0; r < all.size(); ++r) {
      ASSIGN_OR_RETURN(
          facts_.emplace_back(),
          HostFactsFromText({reinterpret_cast<const char*>(all[r].data()), all[r].size()}));
    }
  }
  hosts_ = NamesOfHosts(facts_);
  for (size_t r = 0; r < hosts_.size(); ++r) ranks[r].host = hosts_[r];
  ASSIGN_OR_RETURN(
      world_, MakeMpiCommunicator(MPI_COMM_WORLD, {.deadline_ms = deadline_ms, .workers = ranks}));
  partings_.assign(static_cast<size_t>(size_), MPI_REQUEST_NULL);
  for (int r = 0; r < size_; ++r) {
    if (r == rank_) continue;
    MPI_Irecv(nullptr, 0, MPI_BYTE, r, kPartingTag, MPI_COMM_WORLD,
              &partings_[static_cast<size_t>(r)]);
  }
  return OkStatus();
}

Result<std::unique_ptr<Communicator>> Cluster::MakeWorkers(const std::vector<int>& workers,
                                                           uint32_t deadline_ms) {
  const auto me = std::find(workers.begin(), workers.end(), rank_);
  MPI_Comm comm = MPI_COMM_NULL;
  const int color = me == workers.end() ? MPI_UNDEFINED : 0;
  const Watchdog watchdog(deadline_ms, [] { return "assigning roles: not all ranks came"; });
  if (MPI_Comm_split(MPI_COMM_WORLD, color, rank_, &comm) != MPI_SUCCESS) {
    return Status(StatusCode::kUnavailable, "MPI_Comm_split failed");
  }
  if (comm == MPI_COMM_NULL) return std::unique_ptr<Communicator>();
  std::vector<WorkerAddress> addresses;
  for (int worker : workers) addresses.push_back({worker, hosts_[static_cast<size_t>(worker)]});
  Result<std::unique_ptr<Communicator>> communicator =
      MakeMpiCommunicator(comm, {.deadline_ms = deadline_ms, .workers = addresses});
  MPI_Comm_free(&comm);  // The communicator has a duplicate of its own.
  return communicator;
}

Result<MPI_Comm> Cluster::Duplicate(uint32_t deadline_ms) {
  const Watchdog watchdog(deadline_ms, [] { return "before training: not all ranks came"; });
  MPI_Comm comm = MPI_COMM_NULL;
  if (MPI_Comm_dup(MPI_COMM_WORLD, &comm) != MPI_SUCCESS ||
      MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN) != MPI_SUCCESS) {
    return Status(StatusCode::kUnavailable, "MPI_Comm_dup failed");
  }
  return comm;
}

void Cluster::PartNow() {
  for (int r = 0; r < size_; ++r) {
    if (r == rank_) continue;
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Isend(nullptr, 0, MPI_BYTE, r, kPartingTag, MPI_COMM_WORLD, &request);
    MPI_Request_free(&request);  // It holds no buffer, so nothing has to wait for it.
  }
}

std::vector<int> Cluster::NotParted() {
  std::vector<int> ranks;
  for (int r = 0; r < size_; ++r) {
    int has_come = 1;
    if (r != rank_) MPI_Test(&partings_[static_cast<size_t>(r)], &has_come, MPI_STATUS_IGNORE);
    if (!has_come) ranks.push_back(r);
  }
  return ranks;
}

void Cluster::Abort(int exit_code) {
  fflush(nullptr);
  if (IsUnderMpirun()) MPI_Abort(MPI_COMM_WORLD, exit_code);
  _exit(exit_code);
}

void Cluster::Finalize() {
  if (!IsUnderMpirun()) return;
  constexpr uint32_t kDeadlineMs = 10000;  // All ranks have parted, so they come soon.
  const Watchdog watchdog(kDeadlineMs, [] { return "parting: not all ranks came"; });
  world_.reset();
  MPI_Finalize();
}

bool IsWatchedOnTerminal() {
  if (isatty(STDOUT_FILENO) == 0) return false;
  if (!Cluster::IsUnderMpirun()) return true;
  const int fd = open(fmt::format("/proc/{}/fd/1", getppid()).c_str(),
                      O_WRONLY | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0) return false;
  const bool is_terminal = isatty(fd) != 0;
  close(fd);
  return is_terminal;
}

namespace {

// A new file; "": none can be made.
std::string MakeFileIn(std::filesystem::path directory) {
  std::error_code ignored;
  directory = std::filesystem::absolute(directory, ignored).lexically_normal();
  while (directory.has_relative_path() && !std::filesystem::is_directory(directory, ignored)) {
    directory = directory.parent_path();
  }
  std::string path = (directory / ".rowhouse_seen_by_all_XXXXXX").string();
  const int file = mkstemp(path.data());
  if (file < 0) return "";
  close(file);
  return path;
}

}  // namespace

Result<bool> DoAllSee(const std::string& directory, Communicator& ranks) {
  constexpr const char* kPhase = "looking for directories that all hosts see";
  const bool is_first = Raw(ranks.rank()) == 0;
  const std::string made = is_first ? MakeFileIn(directory) : "";
  const Result<std::string> path = BroadcastFromFirst(ranks, made, kPhase);
  std::error_code ignored;
  const bool sees =
      path.ok() && !path.value().empty() && std::filesystem::exists(path.value(), ignored);
  const auto all = ranks.AllGather(std::as_bytes(std::span(&sees, 1)), kPhase);
  if (!made.empty()) std::filesystem::remove(made, ignored);
  RETURN_IF_ERROR(path.status());
  RETURN_IF_ERROR(all.status());
  return std::ranges::all_of(all.value(), [](const auto& one) { return one[0] != std::byte{0}; });
}

}  // namespace rowhouse
