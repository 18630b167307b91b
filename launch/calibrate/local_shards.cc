#include "launch/calibrate/local_shards.h"

#include <sys/types.h>
#include <time.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "common/transport/local_socket.h"
#include "common/transport/peer_name.h"
#include "common/transport/zeromq.h"
#include "launch/bench/stopwatch.h"

namespace rowhouse {
namespace {

double NsOf(clockid_t clock) {
  timespec time{};
  if (clock_gettime(clock, &time) != 0) return 0;
  return static_cast<double>(time.tv_sec) * 1e9 + static_cast<double>(time.tv_nsec);
}

// As the kernel makes the clock of a thread from its id (MAKE_THREAD_CPUCLOCK with CPUCLOCK_SCHED);
// pthread_getcpuclockid takes a pthread_t, and these threads are a library's.
clockid_t ClockOf(pid_t thread) {
  constexpr int kPerThread = 4, kScheduled = 2;
  return static_cast<clockid_t>(~static_cast<unsigned>(thread) << 3 | kPerThread | kScheduled);
}

// Ids of all threads of this process, ascending.
std::vector<pid_t> ThreadIds() {
  std::vector<pid_t> ids;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task", error)) {
    ids.push_back(std::stoi(entry.path().filename().string()));
  }
  std::ranges::sort(ids);
  return ids;
}

// Those of `after` that `before` has not. Both ascend.
std::vector<pid_t> NewThreads(std::span<const pid_t> before, std::span<const pid_t> after) {
  std::vector<pid_t> ids;
  std::ranges::set_difference(after, before, std::back_inserter(ids));
  return ids;
}

// Of all threads, ended ones included.
double ProcessNs() { return NsOf(CLOCK_PROCESS_CPUTIME_ID); }
// Of the calling thread.
double CallerNs() { return NsOf(CLOCK_THREAD_CPUTIME_ID); }

// Of these; one that has ended counts nothing.
double ThreadsNs(std::span<const pid_t> threads) {
  double ns = 0;
  for (const pid_t thread : threads) ns += NsOf(ClockOf(thread));
  return ns;
}

constexpr float kLocalLearningRate = 1e-6f;

}  // namespace

std::vector<int> AllowedCores() {
  std::vector<int> cores;
  cpu_set_t mask;
  if (sched_getaffinity(0, sizeof(mask), &mask) != 0) return cores;
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(core, &mask)) cores.push_back(core);
  }
  return cores;
}

BoundToCore::BoundToCore(int core) {
  if (sched_getaffinity(0, sizeof(before_), &before_) != 0) return;
  cpu_set_t mask;
  CPU_ZERO(&mask);
  CPU_SET(core, &mask);
  is_bound_ = sched_setaffinity(0, sizeof(mask), &mask) == 0;
}

BoundToCore::~BoundToCore() {
  if (is_bound_) sched_setaffinity(0, sizeof(before_), &before_);
}

Result<std::unique_ptr<LocalShards>> LocalShards::Start(const EmbeddingTables& tables,
                                                        uint32_t shards,
                                                        const LocalShardsOptions& options) {
  std::unique_ptr<LocalShards> local(new LocalShards);
  RETURN_IF_ERROR(local->Open(tables, shards, options));
  return local;
}

Status LocalShards::Open(const EmbeddingTables& tables, uint32_t shards,
                         const LocalShardsOptions& options) {
  ASSIGN_OR_RETURN(const Plan plan, MeasuredPlan(tables, shards, options.pools));
  const std::vector<int> cores = AllowedCores();
  const bool binds = cores.size() > 1;
  std::vector<ShardAddress> addresses;
  for (uint32_t s = 0; s < shards; ++s) {
    if (binds) bound_.emplace(cores[(s + 1) % cores.size()]);
    ASSIGN_OR_RETURN(
        MeasuredShard shard,
        MeasuredShard::Make(RoomyShard(tables.physical, s, /*workers=*/2), tables.physical, plan));
    ASSIGN_OR_RETURN(auto served, ServedShard::Start(
                                      std::move(shard), security_,
                                      options.over_tcp ? "tcp://127.0.0.1:0" : NewLocalEndpoint()));
    addresses.push_back(served->address());
    shards_.push_back(std::move(served));
  }
  if (binds) bound_.emplace(cores[0]);
  return Dial(plan, addresses);
}

Status LocalShards::Dial(const Plan& plan, const std::vector<ShardAddress>& addresses) {
  const std::vector<pid_t> before = ThreadIds();
  worker_transport_ = MakeZeroMqTransport({.security = security_});
  const auto dial = [&](uint32_t rank, std::unique_ptr<Dialer>* dialer) -> Status {
    const PeerName name = {.job_id = MeasuredShard::kJobId, .worker = rank};
    ASSIGN_OR_RETURN(*dialer, worker_transport_->MakeDialer(PeerIdOf(name)));
    for (const ShardAddress& address : addresses) {
      RETURN_IF_ERROR((*dialer)->Connect(address.endpoint).status());
    }
    return OkStatus();
  };
  RETURN_IF_ERROR(dial(0, &dialer_));
  RETURN_IF_ERROR(dial(1, &second_dialer_));
  worker_threads_ = NewThreads(before, ThreadIds());
  const auto worker = [&](uint32_t rank) {
    return std::make_unique<PsClient>(
        PsClientOptions{.job_id = MeasuredShard::kJobId, .worker = WorkerRank{rank}}, plan,
        addresses);
  };
  client_ = worker(0);
  second_ = worker(1);
  return OkStatus();
}

template <typename Begin>
Result<ExchangeNs> LocalShards::Time(const Begin& begin) {
  const double process = ProcessNs(), caller = CallerNs(), zeromq = ThreadsNs(worker_threads_);
  const Stopwatch stopwatch;
  begin();
  RETURN_IF_ERROR(RunClient(*client_, *dialer_, clock_));
  ExchangeNs ns{.wall = stopwatch.Ns()};
  ns.worker = CallerNs() - caller + ThreadsNs(worker_threads_) - zeromq;
  ns.shards = ProcessNs() - process - ns.worker;
  return ns;
}

Result<ExchangeNs> LocalShards::Pull(std::vector<RowBatch>* rows, std::vector<BagBatch>* bags) {
  return Time([&] { client_->StartPull(step_, /*eval=*/false, rows, bags); });
}

Result<ExchangeNs> LocalShards::Push(std::vector<RowBatch>* rows) {
  ASSIGN_OR_RETURN(const ExchangeNs ns, Time([&] {
                     client_->StartPush(step_, kLocalLearningRate, /*samples=*/1, rows);
                   }));
  RETURN_IF_ERROR(ApplyStep());
  return ns;
}

Status LocalShards::ApplyStep() {
  std::vector<RowBatch> nothing;
  second_->StartPush(step_++, kLocalLearningRate, /*samples=*/1, &nothing);
  RETURN_IF_ERROR(RunClient(*second_, *second_dialer_, clock_));
  client_->StartStats(step_);  // Answered when the step is applied.
  return RunClient(*client_, *dialer_, clock_);
}

}  // namespace rowhouse
