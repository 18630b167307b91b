// Shards with their threads, workers on threads of their own, in-process transport, memory store:
// what ThreadSanitizer watches. The sums are small integers, so the outcome is exact.
#include "ps/shard/shard_runner.h"

#include <algorithm>
#include <array>

#include "common/transport/peer_name.h"
#include "ps/node/server.h"
#include "sharding/plans/plan_maker.h"
#include "tests/testing/inproc_transport.h"
#include "tests/testing/testing.h"
#include "worker/client/ps_client.h"
#include "worker/client/rendezvous.h"

namespace rowhouse {
namespace {

constexpr uint32_t kWorkers = 3;
constexpr uint32_t kShards = 2;
constexpr uint64_t kRows = 40;
constexpr uint64_t kSteps = 20;
// Of two tables: a MiB, the smallest cache, does not hold both.
constexpr uint32_t kWideDim = 4096;

uint32_t DimOf(uint32_t tables) { return tables == 1 ? 2 : kWideDim; }

JobSpec Job(uint32_t tables) {
  JobSpec job;
  job.job_id = 5;
  job.model_id = "m";
  job.config_digest = "c";
  job.workers = kWorkers;
  job.shards_per_node = kShards;
  for (uint32_t t = 0; t < tables; ++t) {
    TableSpec table;
    table.id = TableId{t};
    table.name = "t" + std::to_string(t);
    table.rows = kRows;
    table.dim = DimOf(tables);
    job.tables.push_back(table);
  }
  job.plan = MakeRowWisePlan(job.tables, kShards);
  return job;
}

struct Outcome {
  float moved = 0.0f;  // row 0 of the first table
  std::vector<StatsReply> stats;
};

struct WorkOptions {
  uint32_t tables = 1;
  uint64_t rows_of_step = kRows;  // of the first table
  bool overlaps = false;          // the pull of a step is started with the push of the step before
};

// The rows of a step: of the first table so many, up and down its numbers, of others one; with
// gradients of 1.
std::vector<RowBatch> BatchesOf(uint64_t step, const WorkOptions& options) {
  std::vector<RowBatch> batches(options.tables);
  for (uint32_t t = 0; t < options.tables; ++t) {
    RowBatch& batch = batches[t];
    batch.table = TableId{t};
    batch.dim = DimOf(options.tables);
    const uint64_t rows = t == 0 ? options.rows_of_step : 1;
    for (uint64_t i = 0; i < rows; ++i) {
      const uint64_t at = (step * rows + i) % (2 * kRows);
      batch.rows.push_back(RowId{at < kRows ? at : 2 * kRows - 1 - at});
    }
    std::ranges::sort(batch.rows);
    batch.counts.assign(batch.rows.size(), 1);
    batch.values.resize(batch.rows.size() * batch.dim);
    batch.gradients.assign(batch.rows.size() * batch.dim, 1.0f);
  }
  return batches;
}

// Pulls and pushes the rows of kSteps steps, then pulls those of the next. Requires that the rows
// of each step are on the way up or down, and that step kSteps begins at row 0 again.
Result<Outcome> Work(Transport& transport, uint32_t worker, const Clock& clock,
                     const WorkOptions& options) {
  const RendezvousOptions rendezvous{
      .worker = WorkerRank{worker}, .host = "here", .deadline_ms = 20000};
  const std::vector<NodeAddress> nodes = {{.endpoint = "inproc://node", .name = "PS node 0"}};
  const JobSpec job = Job(options.tables);
  ASSIGN_OR_RETURN(const std::vector<ShardAddress> shards,
                   MeetNodes(rendezvous, job, nodes, transport, clock));
  ASSIGN_OR_RETURN(const std::unique_ptr<Dialer> dialer,
                   transport.MakeDialer(PeerIdOf({.job_id = job.job_id, .worker = worker})));
  for (const ShardAddress& shard : shards) {
    RETURN_IF_ERROR(dialer->Connect(shard.endpoint).status());
  }
  PsClient client({.job_id = job.job_id, .worker = WorkerRank{worker}, .max_part_rows = 7},
                  job.plan, shards);
  std::array<std::vector<RowBatch>, 2> batches = {BatchesOf(0, options), {}};
  client.StartPull(0, /*eval=*/false, &batches[0]);
  RETURN_IF_ERROR(RunClient(client, *dialer, clock));
  const float first = batches[0][0].values[0];
  for (uint64_t step = 0; step < kSteps; ++step) {
    std::vector<RowBatch>& next = batches[(step + 1) % 2];
    client.StartPush(step, 0.5f, 1, &batches[step % 2]);
    if (!options.overlaps) RETURN_IF_ERROR(RunClient(client, *dialer, clock));
    next = BatchesOf(step + 1, options);
    client.StartPull(step + 1, /*eval=*/step + 1 == kSteps, &next);
    EXPECT_EQ(client.is_push_busy(), options.overlaps);
    EXPECT_TRUE(client.is_pull_busy());
    RETURN_IF_ERROR(RunClient(client, *dialer, clock));
  }
  const float last = batches[kSteps % 2][0].values[0];
  client.StartStats(kSteps);
  RETURN_IF_ERROR(RunClient(client, *dialer, clock));
  RETURN_IF_ERROR(PartFromNodes(rendezvous, job.job_id, nodes, transport, clock));
  return Outcome{.moved = last - first, .stats = client.replies().stats};
}

// Work() of all workers at once, each on a thread of its own.
std::vector<Result<Outcome>> WorkTogether(Transport& transport, const Clock& clock,
                                          const WorkOptions& options = {}) {
  std::vector<std::thread> workers;
  std::vector<Result<Outcome>> outcomes(kWorkers, Status(StatusCode::kInternal, "did not run"));
  for (uint32_t w = 0; w < kWorkers; ++w) {
    workers.emplace_back([&, w] { outcomes[w] = Work(transport, w, clock, options); });
  }
  for (std::thread& worker : workers) worker.join();
  return outcomes;
}

// The PS node that Work() asks, until `stop` or, if `one_job`, until a job has ended.
void Serve(const ServerOptions& options, bool one_job, Transport& transport, const Clock& clock,
           const std::atomic<bool>& stop) {
  const std::unique_ptr<Listener> node = transport.Listen("inproc://node").value();
  Server ps(
      options, [&](size_t k) { return transport.Listen("inproc://shard-" + std::to_string(k)); },
      clock);
  EXPECT_OK(ps.Run(*node, stop, one_job));
}

TEST(ShardRunnerThreads, WorkersTrainTogetherThroughAServerAndTwiceOver) {
  const SystemClock clock;
  const std::unique_ptr<Transport> transport = MakeInprocTransport();
  std::atomic<bool> stop = false;
  std::thread server([&] {
    Serve({.host = "here", .node = {.store = "memory", .cache_ratio = 0.3, .cache_ways = 2}},
          /*one_job=*/false, *transport, clock, stop);
  });
  for (int job = 0; job < 2; ++job) {  // The same server serves the next job.
    for (const Result<Outcome>& one : WorkTogether(*transport, clock)) {
      ASSERT_OK(one);
      EXPECT_NEAR(one.value().moved, -0.5f * kWorkers * kSteps, 1e-3f);
    }
  }
  stop = true;
  server.join();
}

TEST(ShardRunnerThreads, APushAndThePullOfTheNextStepMayBeUnderWayAtOnce) {
  const SystemClock clock;
  const std::unique_ptr<Transport> transport = MakeInprocTransport();
  const std::atomic<bool> stop = false;
  std::thread server([&] {
    Serve({.host = "here", .node = {.store = "memory", .cache_ratio = 0.3, .cache_ways = 2}},
          /*one_job=*/true, *transport, clock, stop);
  });
  for (const Result<Outcome>& one : WorkTogether(*transport, clock, {.overlaps = true})) {
    ASSERT_OK(one);
    EXPECT_NEAR(one.value().moved, -0.5f * kWorkers * kSteps, 1e-3f);
  }
  server.join();
}

// Every step the shards ask the node's ledger, each from its own thread. The second table, of which
// a row is pulled in each step, has bytes that do more for the first.
TEST(ShardRunnerThreads, ShardsMoveBytesOfTheirCachesWhileWorkersTrain) {
  constexpr uint64_t kCacheBytes = 1 << 20;
  constexpr uint64_t kRowsOfStep = 4;
  const SystemClock clock;
  const std::unique_ptr<Transport> transport = MakeInprocTransport();
  std::atomic<bool> stop = false;
  std::thread server([&] {
    Serve({.host = "here",
           .node = {.store = "memory", .cache_mb = 1, .cache_ways = 1, .max_dirty_steps = 3},
           .cache_move_steps = 1},
          /*one_job=*/true, *transport, clock, stop);
  });
  const std::vector<Result<Outcome>> outcomes =
      WorkTogether(*transport, clock, {.tables = 2, .rows_of_step = kRowsOfStep});
  server.join();
  for (const Result<Outcome>& one : outcomes) {
    ASSERT_OK(one);
    EXPECT_NEAR(one.value().moved, -0.5f * kWorkers * kSteps * kRowsOfStep / kRows, 1e-3f);
    uint64_t bytes = 0, bytes_moved = 0;
    for (const StatsReply& stats : one.value().stats) {
      bytes += stats.cache_bytes;
      bytes_moved += stats.cache_bytes_moved;
    }
    EXPECT_LE(bytes, kCacheBytes);
    EXPECT_GT(bytes_moved, 0u);
  }
}

}  // namespace
}  // namespace rowhouse
