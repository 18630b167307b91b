#include "launch/bench/one_shard.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "common/host_limits.h"
#include "common/scatter.h"
#include "common/transport/peer_name.h"
#include "common/transport/zeromq.h"
#include "launch/bench/stopwatch.h"
#include "launch/hosts/host_facts.h"
#include "launch/profile/run_profiler.h"
#include "sharding/plans/plan_maker.h"

namespace rowhouse {
namespace {

constexpr float kLearningRate = 0.01f;
constexpr const char* kShardName = "bench shard";

// Phases of the client.
constexpr PhaseLog::Phase kPull = 0, kPush = 1, kOther = 2;

Plan PlanOf(const OneShardOptions& options) {
  return MakeRowWisePlan(MeasuredTables(1, options.table_rows, options.dim).physical, /*shards=*/1);
}

}  // namespace

RowBatch SpreadBatch(const OneShardOptions& options, uint64_t key) {
  RowBatch batch{.table = TableId{0},
                 .dim = options.dim,
                 .rows = {},
                 .counts = std::vector<uint32_t>(options.step_rows(), 1),
                 .values = std::vector<float>(options.step_rows() * options.dim),
                 .gradients = std::vector<float>(options.step_rows() * options.dim, 0.5f)};
  const Scatter scatter(options.table_rows, key);
  for (uint64_t i = 0; i < options.step_rows(); ++i) batch.rows.push_back(RowId{scatter(i)});
  std::sort(batch.rows.begin(), batch.rows.end());
  return batch;
}

Result<OneShardClient> OneShardClient::Make(const OneShardOptions& options,
                                            const ShardAddress& address, const Security& security,
                                            WorkerRank worker) {
  OneShardClient made{
      .transport = MakeZeroMqTransport({.security = security}), .dialer = {}, .client = {}};
  ASSIGN_OR_RETURN(made.dialer, made.transport->MakeDialer(PeerIdOf(
                                    {.job_id = MeasuredShard::kJobId, .worker = Raw(worker)})));
  RETURN_IF_ERROR(made.dialer->Connect(address.endpoint).status());
  // Rows alone bound a request: at dim 64 the usual bound of bytes would come first.
  made.client = std::make_unique<PsClient>(PsClientOptions{.job_id = MeasuredShard::kJobId,
                                                           .worker = worker,
                                                           .row_precision = options.row_precision,
                                                           .window = options.window,
                                                           .max_part_rows = options.request_rows,
                                                           .max_part_bytes = size_t{64} << 20},
                                           PlanOf(options), std::vector<ShardAddress>{address});
  return made;
}

OneShard::OneShard(const OneShardOptions& options)
    : options_(options),
      phases_(clock_, {{.name = "pull", .amounts = {"rows"}},
                       {.name = "push", .amounts = {"rows"}},
                       {.name = "other"}}),
      security_{.kind = options.encrypts ? Security::Kind::kCurve : Security::Kind::kPlain,
                .key = NewKey()},
      batches_(options.steps) {}

Result<std::unique_ptr<OneShard>> OneShard::Start(const OneShardOptions& options,
                                                  std::unique_ptr<RowStore> store) {
  const bool brings_batches = store != nullptr;
  CHECK(brings_batches || options.table_rows >= options.step_rows());
  std::unique_ptr<OneShard> one(new OneShard(options));
  const std::vector<TableSpec> tables = MeasuredTables(1, options.table_rows, options.dim).physical;

  // A record is its weights and 16 bytes (sgd has no state).
  const uint64_t cache_rows = options.cache_rows == 0 ? options.table_rows : options.cache_rows;
  const ShardOptions shard_options{.name = kShardName,
                                   .workers = options.workers,
                                   .row_precision = options.row_precision,
                                   .cache_bytes = cache_rows * (options.dim * sizeof(float) + 16)};
  ASSIGN_OR_RETURN(MeasuredShard shard,
                   MeasuredShard::Make(shard_options, tables, PlanOf(options), std::move(store)));
  ASSIGN_OR_RETURN(one->shard_,
                   ServedShard::Start(std::move(shard), one->security_, options.listen));
  ASSIGN_OR_RETURN(one->worker_,
                   OneShardClient::Make(options, one->address(), one->security_, WorkerRank{0}));

  if (brings_batches) return one;
  for (size_t i = 0; i < one->batches_.size(); ++i) {
    one->batches_[i].push_back(SpreadBatch(options, /*key=*/i));
  }
  for (size_t i = 0; i < one->batches_.size(); ++i) {
    RETURN_IF_ERROR(one->Run(Operation::kPull));  // From here on they are in the cache.
  }
  return one;
}

Status OneShard::Pull(std::vector<RowBatch>* batches) {
  worker_.client->StartPull(step_, /*eval=*/false, batches);
  return RunClient(*worker_.client, *worker_.dialer, clock_);
}

Status OneShard::PullAndPush(std::vector<RowBatch>* batches) {
  RETURN_IF_ERROR(Pull(batches));
  worker_.client->StartPush(step_++, kLearningRate, /*samples=*/1, batches);
  return RunClient(*worker_.client, *worker_.dialer, clock_);
}

Status OneShard::Prefetch(uint64_t steps_ahead, const std::vector<RowBatch>& batches) {
  worker_.client->Prefetch(step_ + steps_ahead, batches);
  return RunClient(*worker_.client, *worker_.dialer, clock_);
}

Status OneShard::Run(Operation operation) {
  std::vector<RowBatch>& batches = batches_[next_batch_];
  next_batch_ = (next_batch_ + 1) % batches_.size();
  const bool is_pull = operation == Operation::kPull;
  phases_.End(kOther);
  phases_.set_step(runs_++);
  if (is_pull) {
    worker_.client->StartPull(step_, /*eval=*/false, &batches);
  } else {
    worker_.client->StartPush(step_++, kLearningRate, /*samples=*/1, &batches);
  }
  const Status done =
      RunClient(*worker_.client, *worker_.dialer, clock_, is_pull ? pull_phases_ : push_phases_);
  phases_.End(is_pull ? kPull : kPush, options_.step_rows());
  return done;
}

Status OneShard::BeginProfile() {
  phases_.KeepSpans();
  pull_phases_ = ClientPhases::Of("pull", &phases_, &messages_);
  push_phases_ = ClientPhases::Of("push", &phases_, &messages_);
  messages_.Clear();
  runs_ = 0;
  RETURN_IF_ERROR(
      AskForProfiles(*worker_.client, *worker_.dialer, clock_, ProfileWish::kBegin).status());
  phases_.Restart();
  return OkStatus();
}

Result<RunProfile> OneShard::TakeProfile() {
  phases_.End(kOther);
  ASSIGN_OR_RETURN(std::vector<ProfileReply> replies,
                   AskForProfiles(*worker_.client, *worker_.dialer, clock_, ProfileWish::kTake));
  const double rows = static_cast<double>(runs_ * options_.step_rows());
  RankProfile client{.name = "client",
                     .host = HostName(),
                     .is_worker = true,
                     .pid = static_cast<uint32_t>(getpid()),
                     .rows = rows,
                     .threads = {{.thread = "client", .record = phases_.Record()}},
                     .process_peak_bytes = PeakBytesOfProcess(),
                     .messages = messages_.Answered()};
  RankProfile shard = RankOfShard(kShardName, client.host, std::move(replies.at(0)));
  shard.rows = rows;
  return RunProfile{.steps = runs_, .ranks = {std::move(client), std::move(shard)}};
}

Result<StatsReply> OneShard::Stats() {
  worker_.client->StartStats(step_);
  RETURN_IF_ERROR(RunClient(*worker_.client, *worker_.dialer, clock_));
  return worker_.client->replies().stats[0];
}

Result<double> OneShard::RowsPerSecond(Operation operation, size_t steps) {
  ASSIGN_OR_RETURN(const StatsReply before, Stats());
  const Stopwatch stopwatch;
  for (size_t i = 0; i < steps; ++i) RETURN_IF_ERROR(Run(operation));
  ASSIGN_OR_RETURN(const StatsReply after, Stats());  // Answered when all steps are applied.
  const double seconds = stopwatch.Seconds();

  const uint64_t rows = steps * options_.step_rows();
  const bool is_pull = operation == Operation::kPull;
  const uint64_t counted = is_pull ? after.pulled.from_memory - before.pulled.from_memory
                                   : after.rows_updated - before.rows_updated;
  const uint64_t missed = after.pulled.not_in_memory() - before.pulled.not_in_memory();
  if (counted != rows || missed != 0) {
    return MakeStatus(StatusCode::kInternal, "{}: {} rows {}, {} of them served, {} not in cache",
                      kShardName, rows, is_pull ? "pulled" : "pushed", counted, missed);
  }
  return static_cast<double>(rows) / seconds;
}

}  // namespace rowhouse
