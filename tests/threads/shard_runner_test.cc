// Shards with their threads, workers on threads of their own, in-process transport, memory store:
// what ThreadSanitizer watches. The sums are small integers, so the outcome is exact.
#include "ps/shard_runner.h"

#include "ps/server.h"
#include "sharding/plan_maker.h"
#include "tests/testing/testing.h"
#include "worker/ps_client.h"
#include "worker/rendezvous.h"

namespace rowhouse {
namespace {

constexpr uint32_t kWorkers = 3;
constexpr uint32_t kShards = 2;
constexpr uint64_t kRows = 40;
constexpr uint64_t kSteps = 20;

JobSpec Job() {
  TableSpec table;
  table.name = "t";
  table.rows = kRows;
  table.dim = 2;
  JobSpec job;
  job.job_id = 5;
  job.model_id = "m";
  job.config_digest = "c";
  job.workers = kWorkers;
  job.shards_per_node = kShards;
  job.tables = {table};
  job.plan = MakeRowWisePlan(job.tables, kShards);
  return job;
}

// Pulls all rows, pushes 1 for each, kSteps times. Returns how far row 0 moved.
Result<float> Work(Transport& transport, uint32_t worker, const Clock& clock) {
  const RendezvousOptions rendezvous{
      .worker = WorkerRank{worker}, .host = "here", .deadline_ms = 20000};
  const std::vector<NodeAddress> nodes = {{.endpoint = "inproc://node", .name = "PS node 0"}};
  const JobSpec job = Job();
  ASSIGN_OR_RETURN(const std::vector<ShardAddress> shards,
                   MeetNodes(rendezvous, job, nodes, transport, clock));
  ASSIGN_OR_RETURN(const std::unique_ptr<Dialer> dialer,
                   transport.MakeDialer("worker " + std::to_string(worker)));
  for (const ShardAddress& shard : shards) {
    RETURN_IF_ERROR(dialer->Connect(shard.endpoint).status());
  }
  PsClient client({.job_id = job.job_id, .worker = WorkerRank{worker}, .max_part_rows = 7},
                  job.plan, shards);
  std::vector<RowBatch> batches(1);
  batches[0].dim = 2;
  for (uint64_t row = 0; row < kRows; ++row) batches[0].rows.push_back(RowId{row});
  batches[0].counts.assign(kRows, 1);
  batches[0].values.resize(kRows * 2);
  batches[0].gradients.assign(kRows * 2, 1.0f);
  float first = 0.0f;
  for (uint64_t step = 0; step <= kSteps; ++step) {
    client.StartPull(step, /*eval=*/step == kSteps, &batches);
    RETURN_IF_ERROR(RunClient(client, *dialer, clock));
    if (step == 0) first = batches[0].values[0];
    if (step == kSteps) break;
    client.StartPush(step, 0.5f, 1, &batches);
    RETURN_IF_ERROR(RunClient(client, *dialer, clock));
  }
  RETURN_IF_ERROR(PartFromNodes(rendezvous, job.job_id, nodes, transport, clock));
  return batches[0].values[0] - first;
}

TEST(ShardRunnerThreads, WorkersTrainTogetherThroughAServerAndTwiceOver) {
  const SystemClock clock;
  const std::unique_ptr<Transport> transport = MakeInprocTransport();
  std::atomic<bool> stop = false;
  std::thread server([&] {
    const std::unique_ptr<Listener> node = transport->Listen("inproc://node").value();
    Server ps(
        {.host = "here", .store = "memory", .cache_ratio = 0.3, .cache_ways = 2},
        [&](size_t k) { return transport->Listen("inproc://shard-" + std::to_string(k)); }, clock);
    EXPECT_OK(ps.Run(*node, stop, /*one_job=*/false));
  });
  for (int job = 0; job < 2; ++job) {  // The same server serves the next job.
    std::vector<std::thread> workers;
    std::vector<Result<float>> moved(kWorkers, Status(StatusCode::kInternal, "did not run"));
    for (uint32_t w = 0; w < kWorkers; ++w) {
      workers.emplace_back([&, w] { moved[w] = Work(*transport, w, clock); });
    }
    for (std::thread& worker : workers) worker.join();
    for (const Result<float>& one : moved) {
      ASSERT_OK(one);
      EXPECT_NEAR(one.value(), -0.5f * kWorkers * kSteps, 1e-3f);
    }
  }
  stop = true;
  server.join();
}

}  // namespace
}  // namespace rowhouse
