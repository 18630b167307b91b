#include "launch/bench/one_shard.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>

#include "common/scatter.h"
#include "common/transport/peer_name.h"
#include "common/transport/zeromq.h"
#include "launch/hosts/host_facts.h"
#include "launch/profile/run_profiler.h"
#include "ps/shard/process_memory.h"
#include "ps/shard/shard.h"
#include "ps/shard/shard_store.h"
#include "ps/store/row_store.h"
#include "sharding/plans/plan_maker.h"
#include "sharding/rows/initialiser.h"

namespace rowhouse {
namespace {

constexpr uint64_t kJobId = 1;
constexpr uint64_t kIncarnation = 1;
constexpr float kLearningRate = 0.01f;
constexpr const char* kShardName = "bench shard";

// Phases of the client.
constexpr PhaseLog::Phase kPull = 0, kPush = 1, kOther = 2;

// A store that somebody else keeps, to look at its counters and to outlive the shard.
class LentStore final : public RowStore {
 public:
  explicit LentStore(std::shared_ptr<RowStore> store) : store_(std::move(store)) {}
  Status Get(const StoreSlice& slice, std::span<const RowId> rows, std::span<std::byte> out,
             std::vector<size_t>* missing) override {
    return store_->Get(slice, rows, out, missing);
  }
  Status Put(const StoreSlice& slice, std::span<const RowId> rows,
             std::span<const std::byte> records) override {
    return store_->Put(slice, rows, records);
  }
  Status Sync() override { return store_->Sync(); }
  Status Scan(const Visitor& visit) override { return store_->Scan(visit); }

 private:
  const std::shared_ptr<RowStore> store_;
};

// A step's distinct rows, ascending, the more spread the fewer of the table they are.
RowBatch MakeBatch(const OneShardOptions& options, uint64_t key) {
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

}  // namespace

OneShard::OneShard(const OneShardOptions& options)
    : options_(options),
      phases_(clock_, {{.name = "pull", .amounts = {"rows"}},
                       {.name = "push", .amounts = {"rows"}},
                       {.name = "other"}}),
      security_{.kind = options.encrypts ? Security::Kind::kCurve : Security::Kind::kPlain,
                .key = NewKey()},
      shard_transport_(MakeZeroMqTransport({.security = security_})),
      worker_transport_(MakeZeroMqTransport({.security = security_})),
      batches_(options.steps) {}

// The worker leaves first, so that the shard has nothing left to send.
OneShard::~OneShard() {
  dialer_.reset();
  if (runner_ != nullptr) runner_->Stop();
}

Result<std::unique_ptr<OneShard>> OneShard::Start(const OneShardOptions& options) {
  CHECK(options.store != nullptr || options.table_rows >= options.step_rows());
  std::unique_ptr<OneShard> one(new OneShard(options));
  TableSpec table;
  table.name = "rows";
  table.rows = options.table_rows;
  table.dim = options.dim;
  const std::vector<TableSpec> tables = {table};
  const Plan plan = MakeRowWisePlan(tables, /*shards=*/1);

  // A record is its weights and 16 bytes (sgd has no state).
  const uint64_t cache_rows = options.cache_rows == 0 ? options.table_rows : options.cache_rows;
  const uint64_t cache_bytes = cache_rows * (options.dim * sizeof(float) + 16);
  ASSIGN_OR_RETURN(const InitialiserSources sources, InitialiserSources::Open(tables));
  ShardOptions shard_options;
  shard_options.name = kShardName;
  shard_options.job_id = kJobId;
  shard_options.incarnation = kIncarnation;
  shard_options.workers = 1;
  shard_options.cache_bytes = cache_bytes;
  ASSIGN_OR_RETURN(std::unique_ptr<Shard> shard, Shard::Make(shard_options, tables, plan, sources));
  std::unique_ptr<RowStore> rows;
  if (options.store != nullptr) {
    rows = std::make_unique<LentStore>(options.store);
  } else {
    ASSIGN_OR_RETURN(rows, RowStores().Make("memory", {}));
  }
  auto store = std::make_unique<ShardStore>(std::move(rows), /*directory=*/"", tables);
  RETURN_IF_ERROR(store->VisitRows([&shard](TableId id, RowId row, uint16_t first_column) {
    shard->NoteStored(id, row, first_column);
  }));
  one->runner_ = std::make_unique<ShardRunner>(
      kShardName, std::move(shard), std::move(store), /*log=*/nullptr,
      [transport = one->shard_transport_.get()] { return transport->Listen("tcp://127.0.0.1:0"); },
      one->clock_);
  ASSIGN_OR_RETURN(const std::string endpoint, one->runner_->Start());

  ASSIGN_OR_RETURN(one->dialer_, one->worker_transport_->MakeDialer(PeerIdOf({.job_id = kJobId})));
  ASSIGN_OR_RETURN([[maybe_unused]] const size_t listener, one->dialer_->Connect(endpoint));
  ShardAddress address;
  address.endpoint = endpoint;
  address.name = kShardName;
  address.incarnation = kIncarnation;
  // Rows alone bound a request: at dim 64 the usual bound of bytes would come first.
  one->client_ = std::make_unique<PsClient>(PsClientOptions{.job_id = kJobId,
                                                            .window = options.window,
                                                            .max_part_rows = options.request_rows,
                                                            .max_part_bytes = size_t{64} << 20},
                                            plan, std::vector<ShardAddress>{address});

  if (options.store != nullptr) return one;
  for (size_t i = 0; i < one->batches_.size(); ++i) {
    one->batches_[i].push_back(MakeBatch(options, /*key=*/i));
  }
  for (size_t i = 0; i < one->batches_.size(); ++i) {
    RETURN_IF_ERROR(one->Run(Operation::kPull));  // From here on they are in the cache.
  }
  return one;
}

Status OneShard::Pull(std::vector<RowBatch>* batches) {
  client_->StartPull(step_, /*eval=*/false, batches);
  return RunClient(*client_, *dialer_, clock_);
}

Status OneShard::PullAndPush(std::vector<RowBatch>* batches) {
  RETURN_IF_ERROR(Pull(batches));
  client_->StartPush(step_++, kLearningRate, /*samples=*/1, batches);
  return RunClient(*client_, *dialer_, clock_);
}

Status OneShard::Prefetch(uint64_t steps_ahead, const std::vector<RowBatch>& batches) {
  client_->Prefetch(step_ + steps_ahead, batches);
  return RunClient(*client_, *dialer_, clock_);
}

Status OneShard::Run(Operation operation) {
  std::vector<RowBatch>& batches = batches_[next_batch_];
  next_batch_ = (next_batch_ + 1) % batches_.size();
  const bool is_pull = operation == Operation::kPull;
  phases_.End(kOther);
  phases_.set_step(runs_++);
  if (is_pull) {
    client_->StartPull(step_, /*eval=*/false, &batches);
  } else {
    client_->StartPush(step_++, kLearningRate, /*samples=*/1, &batches);
  }
  const Status done = RunClient(*client_, *dialer_, clock_, is_pull ? pull_phases_ : push_phases_);
  phases_.End(is_pull ? kPull : kPush, options_.step_rows());
  return done;
}

Status OneShard::BeginProfile() {
  phases_.KeepSpans();
  pull_phases_ = ClientPhases::Of("pull", &phases_, &messages_);
  push_phases_ = ClientPhases::Of("push", &phases_, &messages_);
  messages_.Clear();
  runs_ = 0;
  RETURN_IF_ERROR(AskForProfiles(*client_, *dialer_, clock_, ProfileWish::kBegin).status());
  phases_.Restart();
  return OkStatus();
}

Result<RunProfile> OneShard::TakeProfile() {
  phases_.End(kOther);
  ASSIGN_OR_RETURN(std::vector<ProfileReply> replies,
                   AskForProfiles(*client_, *dialer_, clock_, ProfileWish::kTake));
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
  client_->StartStats(step_);
  RETURN_IF_ERROR(RunClient(*client_, *dialer_, clock_));
  return client_->replies().stats[0];
}

Result<double> OneShard::RowsPerSecond(Operation operation, size_t steps) {
  ASSIGN_OR_RETURN(const StatsReply before, Stats());
  const auto begin = std::chrono::steady_clock::now();
  for (size_t i = 0; i < steps; ++i) RETURN_IF_ERROR(Run(operation));
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  ASSIGN_OR_RETURN(const StatsReply after, Stats());

  const uint64_t rows = steps * options_.step_rows();
  const bool is_pull = operation == Operation::kPull;
  const uint64_t counted = is_pull ? after.pulled.from_memory - before.pulled.from_memory
                                   : after.rows_updated - before.rows_updated;
  const uint64_t missed = after.pulled.not_in_memory() - before.pulled.not_in_memory();
  if (counted != rows || missed != 0) {
    return MakeStatus(StatusCode::kInternal, "{}: {} rows {}, {} of them served, {} not in cache",
                      kShardName, rows, is_pull ? "pulled" : "pushed", counted, missed);
  }
  return static_cast<double>(rows) / seconds.count();
}

Result<double> OneShard::PulledRowsPerSecond(size_t steps) {
  return RowsPerSecond(Operation::kPull, steps);
}

Result<double> OneShard::PushedRowsPerSecond(size_t steps) {
  return RowsPerSecond(Operation::kPush, steps);
}

}  // namespace rowhouse
