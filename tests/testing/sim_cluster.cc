#include <glog/logging.h>
#include <omp.h>

#include <optional>
#include <utility>

#include "sharding/plans/plan_maker.h"
#include "tests/testing/sim_cluster.h"
#include "worker/dense/dense_initialiser.h"
#include "worker/embedding/slices.h"

namespace rowhouse {
namespace {
constexpr uint64_t kJobId = 7;

Plan PlanOf(const SimOptions& options, const EmbeddingTables& tables) {
  PlanOptions plan = options.plan;
  plan.shards = options.shards;
  return MakePlan(tables, plan).value();
}

}  // namespace

struct SimCluster::ShardNode {
  std::unique_ptr<Shard> shard;
  std::unique_ptr<ShardStore> store;
  std::deque<ShardAction> io;   // in order, each completes when chosen
  bool is_blocked = false;      // the first of them has found no room
  std::deque<ShardAction> log;  // likewise
  uint64_t log_bytes = 0;
  std::optional<CacheDemands> demands;          // asked, not answered
  std::vector<std::deque<Frames>> from_worker;  // in order, one queue a worker
};

struct SimCluster::WorkerNode {
  std::unique_ptr<TrainingStep> step;
  std::unique_ptr<PsClient> client;
  std::vector<std::deque<Frames>> from_shard;
  std::unique_ptr<Lookahead> lookahead;
};

SimCluster::SimCluster(const SimOptions& options, const ModelSpec& model,
                       const EmbeddingTables& embedding)
    : options_(options), plan_(PlanOf(options, embedding)), random_(options.seed) {
  const std::vector<TableSpec>& tables = embedding.physical;
  omp_set_num_threads(1);  // Tests run beside each other.
  const InitialiserSources sources = InitialiserSources::Open(tables).value();
  std::vector<ShardAddress> addresses;
  for (uint32_t s = 0; s < options.shards; ++s) {
    auto node = std::make_unique<ShardNode>();
    const ShardOptions shard_options{.node = {.cache_ratio = options.cache_ratio,
                                              .cache_ways = options.cache_ways,
                                              .cache_policy = options.cache_policy,
                                              .max_dirty_steps = options.max_dirty_steps,
                                              .durability = options.logs_pushes ? "wal" : "none"},
                                     .id = ShardId{s},
                                     .name = "shard " + std::to_string(s),
                                     .job_id = kJobId,
                                     .incarnation = 1,
                                     .workers = options.workers,
                                     .cache_bytes = options.cache_bytes / options.shards,
                                     .cache_move_steps = options.cache_move_steps,
                                     .access_counts = options.cache_access_counts,
                                     .max_unwritten_bytes = options.max_unwritten_bytes};
    node->shard = Shard::Make(shard_options, tables, plan_, sources).value();
    node->store = std::make_unique<ShardStore>(RowStores().Make("memory", {}).value(), "", tables);
    node->from_worker.resize(options.workers);
    shards_.push_back(std::move(node));
    ShardAddress address;
    address.name = "shard " + std::to_string(s);
    address.incarnation = 1;
    addresses.push_back(std::move(address));
  }
  std::vector<CacheLedger::Shard> accounts;
  for (const auto& node : shards_) {
    accounts.push_back(
        {.bytes = node->shard->granted_cache_bytes(), .asks = node->shard->moves_cache_bytes()});
  }
  ledger_ = std::make_unique<CacheLedger>(options.cache_bytes, accounts);
  for (uint32_t w = 0; w < options.workers; ++w) {
    auto node = std::make_unique<WorkerNode>();
    node->step = std::make_unique<TrainingStep>(
        TrainingStepOptions{.model = model,
                            .tables = embedding,
                            .optimizer = options.dense_optimizer,
                            .optimizer_options = options.dense_optimizer_options,
                            .pools_on_shards = plan_.pooled_on_shards(),
                            .accumulation = options.accumulation},
        WorkerRows::Make(tables, plan_).value());
    InitialiseDense(options.model_seed, tables, node->step->model(), &node->step->dense());
    node->client =
        std::make_unique<PsClient>(PsClientOptions{.job_id = kJobId,
                                                   .worker = WorkerRank{w},
                                                   .max_part_rows = options.max_part_rows,
                                                   .push_counts = DividesByLookups(tables)},
                                   plan_, addresses);
    node->from_shard.resize(options.shards);
    workers_.push_back(std::move(node));
  }
}

SimCluster::~SimCluster() = default;

Shard& SimCluster::shard(size_t index) { return *shards_[index]->shard; }

void SimCluster::Carry(size_t shard, std::vector<ShardAction> actions) {
  for (ShardAction& action : actions) {
    if (auto* send = std::get_if<SendFrames>(&action)) {
      const size_t worker = std::stoul(send->peer);
      workers_[worker]->from_shard[shard].push_back(std::move(send->frames));
    } else if (std::holds_alternative<AppendLog>(action)) {
      shards_[shard]->log.push_back(std::move(action));
    } else if (std::holds_alternative<CallAgain>(action)) {
      Carry(shard, shards_[shard]->shard->Handle(Continue{}, 0));
    } else if (auto* ask = std::get_if<AskCacheBudget>(&action)) {
      shards_[shard]->demands = std::move(ask->demands);
    } else if (!std::holds_alternative<WakeAt>(action) &&
               !std::holds_alternative<TruncateLog>(action)) {
      shards_[shard]->io.push_back(std::move(action));
    }
  }
}

// Something that can happen next, chosen at random: a message arrives at a shard, a store action
// completes, a reply arrives at a worker. False: nothing can happen.
bool SimCluster::DeliverOne() {
  struct Choice {
    int kind;
    size_t shard, worker;
  };
  std::vector<Choice> choices;
  for (size_t s = 0; s < shards_.size(); ++s) {
    if (!shards_[s]->io.empty()) choices.push_back({0, s, 0});
    if (!shards_[s]->log.empty()) choices.push_back({3, s, 0});
    if (shards_[s]->demands) choices.push_back({4, s, 0});
    for (size_t w = 0; w < workers_.size(); ++w) {
      if (!shards_[s]->from_worker[w].empty()) choices.push_back({1, s, w});
      if (!workers_[w]->from_shard[s].empty()) choices.push_back({2, s, w});
    }
  }
  if (choices.empty()) return false;
  const Choice choice = choices[random_() % choices.size()];
  ShardNode& shard = *shards_[choice.shard];
  WorkerNode& worker = *workers_[choice.worker];
  if (choice.kind == 0) {
    CarryOutOne(choice.shard);
  } else if (choice.kind == 3) {
    const auto append = std::get<AppendLog>(shard.log.front());
    shard.log.pop_front();
    for (const auto frame : append.push->frames) shard.log_bytes += frame.size();
    Carry(choice.shard,
          shard.shard->Handle(LogAppended{append.ticket, OkStatus(), shard.log_bytes}, 0));
  } else if (choice.kind == 4) {
    CacheDemands demands = *std::exchange(shard.demands, std::nullopt);
    CacheGrant grant = ledger_->Ask(choice.shard, std::move(demands));
    Carry(choice.shard, shard.shard->Handle(CacheGranted{std::move(grant)}, 0));
  } else if (choice.kind == 1) {
    Frames frames = std::move(shard.from_worker[choice.worker].front());
    shard.from_worker[choice.worker].pop_front();
    Carry(choice.shard,
          shard.shard->Handle(MessageArrived{std::to_string(choice.worker), std::move(frames)}, 0));
  } else {
    Frames frames = std::move(worker.from_shard[choice.shard].front());
    worker.from_shard[choice.shard].pop_front();
    worker.client->OnMessage(choice.shard, std::move(frames));
    CHECK(worker.client->status().ok()) << worker.client->status().ToString();
  }
  return true;
}

void SimCluster::CarryOutOne(size_t shard) {
  ShardNode& node = *shards_[shard];
  const bool is_write = std::holds_alternative<WriteRows>(node.io.front()) ||
                        std::holds_alternative<SyncStore>(node.io.front());
  if (options_.stores_run_full && is_write && random_() % 3 != 0) {
    node.is_blocked = true;
    const Status full(StatusCode::kResourceExhausted, "the disk is full");
    return Carry(shard, node.shard->Handle(StoreBlocked{full}, 0));
  }
  ShardAction action = std::move(node.io.front());
  node.io.pop_front();
  ShardEvent event = node.store->Execute(action);
  if (std::exchange(node.is_blocked, false)) {
    Carry(shard, node.shard->Handle(StoreUnblocked{}, 0));
  }
  Carry(shard, node.shard->Handle(std::move(event), 0));
}

Lookahead& SimCluster::LookaheadOf(uint32_t worker, Dataset& data) {
  std::unique_ptr<Lookahead>& lookahead = workers_[worker]->lookahead;
  if (lookahead != nullptr) return *lookahead;
  const uint64_t batch = options_.mini_batch_size;
  const auto read = [this, worker, batch, &data](uint64_t step, Batch* to) {
    const uint64_t samples = std::min(batch, data.train_samples() - step * batch);
    const SampleSlice mine = SliceOf(samples, options_.workers, WorkerRank{worker});
    return data.ReadTrain(0, step * batch + mine.first, mine.count, to);
  };
  lookahead = std::make_unique<Lookahead>(read, workers_[worker]->step->embedding().tables(),
                                          options_.prefetch_steps,
                                          (data.train_samples() + batch - 1) / batch);
  for (uint32_t k = 0; k < options_.prefetch_steps; ++k) lookahead->OnPulled(true);
  return *lookahead;
}

void SimCluster::Deliver() {
  for (;;) {
    bool is_busy = false;
    for (size_t w = 0; w < workers_.size(); ++w) {
      for (PsClient::Outgoing& outgoing : workers_[w]->client->TakeOutgoing(0)) {
        shards_[outgoing.shard]->from_worker[w].push_back(std::move(outgoing.frames));
      }
      is_busy = is_busy || workers_[w]->client->busy();
    }
    if (!is_busy) return;
    CHECK(DeliverOne()) << "nothing moves: step " << step_ << ", seed " << options_.seed;
  }
}

double SimCluster::Step(Dataset& data) {
  const uint64_t samples =
      std::min(options_.mini_batch_size, data.train_samples() - step_ * options_.mini_batch_size);
  for (uint32_t w = 0; w < options_.workers; ++w) {
    WorkerNode& worker = *workers_[w];
    Lookahead& lookahead = LookaheadOf(w, data);
    const Result<const Batch*> batch = lookahead.Take(step_);
    CHECK(batch.ok()) << batch.status().ToString();
    const Status prepared = worker.step->Prepare(*batch.value());
    CHECK(prepared.ok()) << prepared.ToString();
    // Before the pull, so that announcements and pulls overtake each other in every way.
    uint64_t to_come = 0;
    while (const std::vector<RowBatch>* rows = lookahead.NextToPrefetch(&to_come)) {
      worker.client->Prefetch(to_come, *rows);
    }
    worker.client->StartPull(step_, /*eval=*/false, &worker.step->row_batches(),
                             &worker.step->bag_batches());
  }
  Deliver();
  double loss = 0.0;
  for (uint32_t w = 0; w < options_.workers; ++w) {
    const auto& worker = workers_[w];
    const SampleSlice mine = SliceOf(samples, options_.workers, WorkerRank{w});
    const Result<StepFigures> computed = worker->step->Compute(samples);
    CHECK(computed.ok()) << computed.status().ToString();
    loss += computed.value().loss_sum;
    worker->client->StartPush(step_, options_.learning_rate, mine.count,
                              &worker->step->row_batches());
  }
  Deliver();
  // The dense exchange: sums in rank order.
  const std::span<float> first_exchange = workers_[0]->step->allreduce();
  std::vector<float> sum(first_exchange.begin(), first_exchange.end());
  for (size_t w = 1; w < workers_.size(); ++w) {
    const std::span<const float> exchange = workers_[w]->step->allreduce();
    for (size_t i = 0; i < sum.size(); ++i) sum[i] += exchange[i];
  }
  for (auto& worker : workers_) {
    std::copy(sum.begin(), sum.end(), worker->step->allreduce().begin());
    const Result<bool> applied = worker->step->ApplyDense(options_.learning_rate, step_);
    CHECK(applied.ok()) << applied.status().ToString();
  }
  ++step_;
  return loss / static_cast<double>(samples);
}

SimCluster::Rows SimCluster::AllRows() {
  workers_[0]->client->StartDigest(step_);
  Deliver();
  RowsDigest digest;
  Rows rows;
  for (const DigestReply& reply : workers_[0]->client->digests()) {
    digest.Merge(RowsDigest(reply.high, reply.low));
    rows.count += reply.rows;
  }
  const WorkerRows& of_workers = *workers_[0]->step->rows();
  digest.Merge(of_workers.Digest());
  rows.count += of_workers.existing_rows();
  for (const auto& worker : workers_) {
    CHECK(worker->step->rows()->Digest() == of_workers.Digest()) << "workers drifted apart";
  }
  rows.digest = digest.hex();
  return rows;
}

ShardCounters SimCluster::TotalStats() const {
  ShardCounters total;
  for (const auto& node : shards_) total.Add(node->shard->stats());
  return total;
}

std::vector<float> SimCluster::DenseParameters(size_t worker) {
  const std::span<const float> parameters = workers_[worker]->step->dense().values();
  return {parameters.begin(), parameters.end()};
}

}  // namespace rowhouse
