#include "launch/cluster.h"

#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <thread>

#include "worker/mpi_communicator.h"

namespace rowhouse {
namespace {

std::string EnvironmentOr(const char* name, const std::string& otherwise) {
  const char* value = std::getenv(name);
  return value == nullptr ? otherwise : value;
}

std::string HostName() {
  char name[256] = {};
  gethostname(name, sizeof(name) - 1);
  return name;
}

// MPI_Init waits, without a deadline, until every rank has called it. Each rank therefore leaves a
// mark in the directory mpirun keeps for the job on each host; when time is up, the ranks of a
// host can say which of their neighbours did not come.
class InitWatchdog {
 public:
  explicit InitWatchdog(uint32_t deadline_ms)
      : directory_(EnvironmentOr("PMIX_SERVER_TMPDIR", "")),
        rank_(EnvironmentOr("OMPI_COMM_WORLD_RANK", "?")) {
    if (!directory_.empty()) std::ofstream(MarkOf(LocalRank()));
    thread_ = std::thread([this, deadline_ms] {
      std::unique_lock lock(mutex_);
      if (done_.wait_for(lock, std::chrono::milliseconds(deadline_ms),
                         [this] { return is_done_; })) {
        return;
      }
      const std::string message = fmt::format(
          "rowhouse: rank {} on {}: start of the run: {} did not come within {} ms "
          "(--rendezvous_deadline_ms)\n",
          rank_, HostName(), DescribeMissing(), deadline_ms);
      // MPI_Init holds the main thread: nothing but leaving is possible. mpirun ends the others.
      fputs(message.c_str(), stderr);
      _exit(1);
    });
  }

  ~InitWatchdog() {
    {
      std::lock_guard lock(mutex_);
      is_done_ = true;
    }
    done_.notify_one();
    thread_.join();
  }

 private:
  static std::string LocalRank() { return EnvironmentOr("OMPI_COMM_WORLD_LOCAL_RANK", "0"); }

  std::string MarkOf(const std::string& local_rank) const {
    return directory_ + "/rowhouse-came-" + local_rank;
  }

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

  const std::string directory_;
  const std::string rank_;
  std::mutex mutex_;
  std::condition_variable done_;
  bool is_done_ = false;  // guarded by mutex_
  std::thread thread_;
};

class SoloCluster final : public Cluster {
 public:
  int rank() const override { return 0; }
  int size() const override { return 1; }
  const std::vector<std::string>& hosts() const override { return hosts_; }
  Communicator& world() override { return *world_; }
  Result<std::unique_ptr<Communicator>> MakeWorkers(const std::vector<int>&, uint32_t) override {
    return MakeSoloCommunicator();
  }
  void PartNow() override { has_parted_ = true; }
  bool HasParted() override { return has_parted_; }
  void Abort(int exit_code) override {
    fflush(nullptr);
    _exit(exit_code);
  }
  void Finalize() override {}

 private:
  const std::vector<std::string> hosts_ = {HostName()};
  const std::unique_ptr<Communicator> world_ = MakeSoloCommunicator();
  bool has_parted_ = false;
};

class MpiCluster final : public Cluster {
 public:
  Status Meet(uint32_t deadline_ms) {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &size_);
    // Nobody's host is known before the first exchange.
    std::vector<WorkerAddress> ranks(static_cast<size_t>(size_));
    for (int r = 0; r < size_; ++r) ranks[static_cast<size_t>(r)] = {r, "an unknown host"};
    const std::string mine = HostName();
    {
      ASSIGN_OR_RETURN(
          const auto first,
          MakeMpiCommunicator(MPI_COMM_WORLD, {.deadline_ms = deadline_ms, .workers = ranks}));
      ASSIGN_OR_RETURN(const auto all,
                       first->AllGather(std::as_bytes(std::span(mine)), "start of the run"));
      for (size_t r = 0; r < all.size(); ++r) {
        hosts_.emplace_back(reinterpret_cast<const char*>(all[r].data()), all[r].size());
        ranks[r].host = hosts_.back();
      }
    }
    ASSIGN_OR_RETURN(world_, MakeMpiCommunicator(MPI_COMM_WORLD,
                                                 {.deadline_ms = deadline_ms, .workers = ranks}));
    return OkStatus();
  }

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  const std::vector<std::string>& hosts() const override { return hosts_; }

  Communicator& world() override { return *world_; }

  Result<std::unique_ptr<Communicator>> MakeWorkers(const std::vector<int>& workers,
                                                    uint32_t deadline_ms) override {
    const auto me = std::find(workers.begin(), workers.end(), rank_);
    MPI_Comm comm = MPI_COMM_NULL;
    const int color = me == workers.end() ? MPI_UNDEFINED : 0;
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

  void PartNow() override {
    if (parting_ == MPI_REQUEST_NULL && !has_parted_) MPI_Ibarrier(MPI_COMM_WORLD, &parting_);
  }

  bool HasParted() override {
    if (!has_parted_ && parting_ != MPI_REQUEST_NULL) {
      int done = 0;
      MPI_Test(&parting_, &done, MPI_STATUS_IGNORE);
      has_parted_ = done != 0;
    }
    return has_parted_;
  }

  void Abort(int exit_code) override {
    fflush(nullptr);
    MPI_Abort(MPI_COMM_WORLD, exit_code);
    _exit(exit_code);
  }

  void Finalize() override {
    world_.reset();
    MPI_Finalize();
  }

 private:
  int rank_ = 0, size_ = 1;
  std::vector<std::string> hosts_;
  std::unique_ptr<Communicator> world_;
  MPI_Request parting_ = MPI_REQUEST_NULL;
  bool has_parted_ = false;
};

}  // namespace

bool Cluster::IsUnderMpirun() { return std::getenv("OMPI_COMM_WORLD_SIZE") != nullptr; }

Result<std::unique_ptr<Cluster>> Cluster::Join(uint32_t deadline_ms) {
  if (!IsUnderMpirun()) return std::unique_ptr<Cluster>(std::make_unique<SoloCluster>());
  {
    const InitWatchdog watchdog(deadline_ms);
    int provided = 0;
    MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided);
  }
  auto cluster = std::make_unique<MpiCluster>();
  RETURN_IF_ERROR(cluster->Meet(deadline_ms));
  return std::unique_ptr<Cluster>(std::move(cluster));
}

}  // namespace rowhouse
